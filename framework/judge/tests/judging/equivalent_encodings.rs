//! Tests that histories are read alike in every form of JSON, also with a warm cache.

use std::time::Duration;

use capsize_history::facts::World;
use capsize_history::{Entry, EventType, Kind, Reader, Writer};
use capsize_judge::judge::Judge;
use capsize_judge::profile::Profile;
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use serde_json::{Map, Value, json};

use crate::perturbed_recordings::{Perturbation, RECORDINGS, apply, perturbation, recorded};

/// A form of JSON text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// The form that programs write.
    Usual,
    /// With spaces.
    Spaced,
    /// With fields in any order.
    Shuffled,
    /// With some letters as escapes, and some fields twice, of which the last one counts.
    Odd,
}

/// Writes `value` in this form. `rng` makes the choices that the form leaves open.
fn text(value: &Value, form: Form, rng: &mut TestRng) -> String {
    let odd = |rng: &mut TestRng| form == Form::Odd && rng.random_ratio(1, 20);
    let [comma, colon] = if form == Form::Spaced { [" , ", ": "] } else { [",", ":"] };
    match value {
        Value::Object(fields) => {
            let mut parts = Vec::new();
            for (name, value) in fields {
                let name = text(&json!(name), form, rng);
                if odd(rng) {
                    parts.push(format!("{name}{colon}[\"not this\"]"));
                }
                parts.push(format!("{name}{colon}{}", text(value, form, rng)));
            }
            if form == Form::Shuffled {
                let turn = rng.random_range(0..=parts.len());
                parts.rotate_left(turn);
            }
            format!("{{{}}}", parts.join(comma))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| text(item, form, rng)).collect();
            format!("[{}]", items.join(comma))
        }
        Value::String(plain) if odd(rng) => {
            let units = plain.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", units.collect::<String>())
        }
        other => other.to_string(),
    }
}

/// Writes `entries` as lines, each in the form that `form` selects.
fn lines(entries: &[Entry], rng: &mut TestRng, mut form: impl FnMut(&mut TestRng) -> Form) -> String {
    let line = |entry: &Entry| {
        let mut usual = Writer::new(Vec::new());
        usual.write(entry).unwrap();
        let usual = String::from_utf8(usual.finish().unwrap()).unwrap();
        match form(rng) {
            Form::Usual => usual,
            form => {
                let fields: Map<String, Value> = serde_json::from_str(&usual).unwrap();
                let field = |(name, value)| format!("\"{name}\": {}", text(value, form, rng));
                format!("{{{}}}\n", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
        }
    };
    entries.iter().map(line).collect()
}

/// Returns every fact from `entries`, and the state at the end.
fn observed(entries: impl Iterator<Item = Entry>, profile: &Profile) -> (Vec<String>, World) {
    let mut judge = Judge::new(profile.clone());
    let facts = entries.flat_map(|entry| judge.push(&entry)).map(|fact| format!("{fact:?}")).collect();
    (facts, judge.world().clone())
}

fn read(text: &str) -> impl Iterator<Item = Entry> {
    Reader::new("h.jsonl", text.as_bytes()).map(Result::unwrap)
}

/// Returns the same entries with objects that share no memory.
fn anew(entries: &[Entry]) -> impl Iterator<Item = Entry> {
    entries.iter().cloned().map(|mut entry| {
        if let Kind::Event { object, .. } = &mut entry.kind {
            *object = object.value().into();
        }
        entry
    })
}

/// Returns true if the object still has its kind and name; a reader refuses an entry without them.
fn is_whole(entry: &Entry) -> bool {
    let Kind::Event { object, .. } = &entry.kind else { return true };
    let object = object.value();
    object["kind"].is_string() && object["metadata"]["name"].is_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_history_has_the_same_facts_in_every_form(
        which in 0..RECORDINGS.len(),
        changes in proptest::collection::vec(perturbation(), 0..8),
        mut rng in Just(()).prop_perturb(|(), rng| rng),
    ) {
        let (name, target) = RECORDINGS[which];
        let (mut entries, profile) = recorded(name, target);
        changes.iter().filter(|perturbation| !matches!(perturbation, Perturbation::Delay(..))).for_each(|perturbation| apply(&mut entries, perturbation));
        entries.retain(is_whole);
        let (facts, world) = observed(anew(&entries), &profile);
        let one = [Form::Usual, Form::Spaced, Form::Shuffled, Form::Odd];
        let usual = lines(&entries, &mut rng, |_| Form::Usual);
        let any = lines(&entries, &mut rng, |rng| one[rng.random_range(0..4)]);
        for text in [usual, any] {
            let (read_facts, read_world) = observed(read(&text), &profile);
            prop_assert_eq!(&read_facts, &facts);
            prop_assert_eq!(format!("{read_world:?}"), format!("{world:?}"));
        }
    }
}

const HEADER: &str = r#"{"at":0,"mark":{"history":"v1","implementation":"karmada","version":"v1.18.2"}}"#;

/// Reads an object after another version of it.
fn second(first: &str, second: &str) -> Value {
    let line = |object: &str| format!(r#"{{"at":1,"on":"m1","event":"ADDED","object":{object}}}"#);
    let text = [HEADER, &line(first), &line(second)].join("\n");
    let Kind::Event { object, .. } = read(&text).last().unwrap().kind else { panic!("it is an event") };
    object.value()
}

#[test]
fn a_version_is_read_correctly_after_any_other() {
    let versions = [
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":1}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":12}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":1.5}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":1e3,"o":1}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"o":1,"n":1}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":1,"n":2}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"\u006e":2}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":"1"},"spec":{"n":3}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":{}}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":null}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":1}"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"spec":12}"#,
        r#"{"kind":"Pod","metadata":{"name":"a","x":"\"n\":1}"}}"#,
        r#"{ "kind" : "Pod" , "metadata":{"name":"a" , "x": [ ] } }"#,
        r#"{"kind":"Pod","metadata":{"name":"a"},"data":{"a \"b\"":"\n"}}"#,
    ];
    for first in versions {
        for then in versions {
            assert_eq!(second(first, then), serde_json::from_str::<Value>(then).unwrap(), "after {first}");
        }
    }
}

#[test]
fn errors_after_a_cached_part_are_reported() {
    let good = r#"{"at":1,"on":"m1","event":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":1}}}"#;
    let error = |lines: &[&str]| {
        let text = lines.join("\n");
        Reader::new("h.jsonl", text.as_bytes()).find_map(Result::err).unwrap().to_string()
    };
    for part in
        [r#"{"n":1]"#, r#"{"n":01}"#, r#"{"n":"\ud800"}"#, r#"{"n":1}}}}"#, "{\"n\":\"\t\"}", r#"{"n":1,}"#]
    {
        let bad = good.replace(r#"{"n":1}"#, part);
        let (alone, after) = (error(&[HEADER, &bad]), error(&[HEADER, good, &bad]));
        assert!(alone.contains(": this is not JSON: "), "{part}: {alone}");
        assert_eq!(after.replace("jsonl:3:", "jsonl:2:"), alone, "{part}");
    }
}

#[test]
fn managed_fields_are_not_written() {
    let object = r#"{"kind":"Pod","metadata":{"managedFields":[{"manager":"m"}], "name":"a"}}"#;
    let line = format!(r#"{{"at":1.0,"on":"m1","event":"ADDED","object":{object}}}"#);
    let entry = read(&[HEADER, &line].join("\n")).last().unwrap();
    assert_eq!(entry.at, Duration::from_secs(1));
    assert!(matches!(entry.kind, Kind::Event { event: EventType::Added, .. }));
    let mut writer = Writer::new(Vec::new());
    writer.write(&entry).unwrap();
    let written = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(written, line.replace(r#""managedFields":[{"manager":"m"}], "#, "") + "\n");
}
