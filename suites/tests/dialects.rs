//! Tests dialects that are data.
//! Such a dialect yields the same facts as a dialect in Rust, and its errors have their places. The example of the
//! guide is tested as well.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod recorded;

use std::fs;
use std::path::Path;
use std::process::Command;

use capsize_dialect::Dialect;
use capsize_history::dialect::{Dialect as AnyDialect, DialectKind};
use capsize_history::facts::{Change, Fact, Topic, Topics};
use capsize_history::{CONTROL_PLANE, Kind, read};

use capsize_judge::guarantee::Outcome;

use recorded::{ids, name, recordings};

const KARMADA: &str = include_str!("../dialects/karmada.yaml");

/// The facts that both dialects of Karmada read.
/// The others need fields that only the dialect in Rust has.
const COMPARED: Topics = Topics::of(&[
    Topic::Health,
    Topic::TaintAdded,
    Topic::TaintRemoved,
    Topic::Conditions,
    Topic::Access,
    Topic::MemberLeaving,
    Topic::MemberGone,
    Topic::Assigned,
    Topic::InstanceHealth,
    Topic::WorkloadGone,
    Topic::Delivered,
    Topic::Rewritten,
    Topic::DeliveryReported,
    Topic::Recalled,
    Topic::DeliveryGone,
    Topic::Running,
    Topic::RunningGone,
]);

/// The compared facts of an entry, as texts.
fn compared(facts: &[capsize_history::facts::Fact]) -> Vec<String> {
    let facts = facts.iter().filter(|fact| COMPARED.has(fact.change.topic()));
    facts.map(|fact| format!("{:?}", fact.change)).collect()
}

#[test]
fn karmada_as_data_yields_the_same_facts_as_in_rust_on_all_recordings() {
    let data = Dialect::parse("karmada.yaml", KARMADA).unwrap_or_else(|error| panic!("{error}"));
    let (mut files, mut facts) = (0, 0);
    for path in recordings().iter().filter(|path| name(path).starts_with("karmada-")) {
        let mut rust = AnyDialect::new(&DialectKind::Karmada);
        let mut yaml = AnyDialect::new(&data.kind());
        for entry in read(path).unwrap() {
            let entry = entry.unwrap();
            let (ours, theirs) = (compared(&yaml.observe(&entry)), compared(&rust.observe(&entry)));
            facts += theirs.len();
            assert_eq!(ours, theirs, "{} at {:?}", name(path), entry.at);
        }
        for (key, workload) in &rust.world().workloads {
            let ours = yaml.world().workloads.get(key).map(|ours| ours.running.clone());
            // A dialect that is data does not read how far a copy is rolled out.
            let mut theirs = workload.running.clone();
            theirs.values_mut().for_each(|copy| copy.rolled_out = true);
            assert_eq!(ours, Some(theirs), "{} {key}", name(path));
        }
        files += 1;
    }
    assert!(files > 10 && facts > 500, "{files} recordings, {facts} facts");
}

/// The facts that the dialect called `dialect` reads in the recording of a lost lease.
fn facts_of_a_lost_lease(dialect: &str) -> Vec<Fact> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/ocm/lease-lost.jsonl");
    let dialect = capsize::dialects::find(dialect, Path::new("")).unwrap();
    let mut fold = AnyDialect::new(&dialect.kind());
    read(&path).unwrap().flat_map(|entry| fold.observe(&entry.unwrap())).collect()
}

#[test]
fn an_assignment_that_joins_three_kinds_follows_each_of_them() {
    let mut assigned = Vec::new();
    for fact in facts_of_a_lost_lease("ocm") {
        if let Change::Assigned { now, .. } = fact.change {
            let witness = fact.witness.unwrap();
            assigned.push((witness.kind().to_owned(), now.into_keys().collect::<Vec<_>>()));
        }
    }
    let decision = |members: &[&str]| {
        ("PlacementDecision".to_owned(), members.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(assigned, [decision(&["member1", "member2"]), decision(&["member2", "member3"])]);
}

#[test]
fn the_neutral_kinds_show_the_health_that_a_hub_publishes() {
    let mut health = Vec::new();
    for fact in facts_of_a_lost_lease("sig-multicluster") {
        if let Change::Health { member, now: Some(now), first: false, .. } = fact.change {
            health.push(format!("{member} {now} at {:.1}", fact.at.as_secs_f64()));
        }
    }
    assert_eq!(health, ["member1 Unknown at 14.7", "member1 Ready at 29.2"]);
}

#[test]
fn a_hub_is_judged_by_the_neutral_kinds_alone() {
    let profile = capsize::targets::find("sig-multicluster").unwrap();
    for scenario in ["lease-lost", "chosen-again", "api-down"] {
        let path = format!("recordings/ocm/{scenario}.jsonl");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let verdicts = capsize::check::check(&path, Some(&profile)).unwrap().verdicts;
        assert_eq!(ids(&verdicts, Outcome::is_violated), [""; 0], "{scenario}");
        let held = ids(&verdicts, |outcome| matches!(outcome, Outcome::Held { .. }));
        assert!(held.contains(&"HEALTH-02") && held.contains(&"HEALTH-05"), "{scenario}: {held:?}");
    }
}

#[test]
fn mistakes_are_shown_with_their_place_and_what_was_meant() {
    let cases = [
        ("each: object.spec.taints", "each: object.spec.taints[", "karmada.yaml:47:11: "),
        ("of: clusters", "of: cluster", "did you mean `clusters`?"),
        ("health:\n    Ready: ready", "health:\n    Ready: redy", "did you mean `ready`?"),
        ("  access:", "  acess:", "access"),
        ("key: taint.key", "key: tiant.key", "did you mean `taint`?"),
        ("'Pull'", "'Pull'.startWith('a')", "startWith"),
    ];
    for (right, wrong, expected) in cases {
        assert!(KARMADA.contains(right), "{right}");
        let Err(error) = Dialect::parse("karmada.yaml", &KARMADA.replacen(right, wrong, 1)) else {
            panic!("{wrong} is accepted")
        };
        let shown = error.to_string();
        assert!(shown.starts_with("karmada.yaml:") && shown.contains(expected), "{wrong}: {shown}");
    }
}

/// The blocks of the guide in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_example_of_the_guide_works_as_it_is_written() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dialects.md");
    let page = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write("zones.yaml", blocks(&page, "yaml")[0]);
    write("profile.yaml", blocks(&page, "yaml")[1]);
    write("history.jsonl", blocks(&page, "jsonl")[0]);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
        let output =
            command.args(arguments).current_dir(folder.path()).env("COLUMNS", "100").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&["dialect", "try", "zones.yaml", "history.jsonl"]).1, blocks(&page, "text")[0]);
    let (code, verdicts) = run(&["check", "--target", "profile.yaml", "history.jsonl"]);
    assert_eq!(code, Some(1));
    let violated: Vec<&str> = verdicts.lines().filter(|line| line.contains("VIOLATED")).collect();
    assert!(violated.len() == 1 && violated[0].contains("PLACEMENT-17"), "{violated:?}");
    let (code, coverage) =
        run(&["dialect", "coverage", "zones.yaml", "history.jsonl", "--target", "profile.yaml"]);
    assert_eq!(code, Some(0));
    assert!(coverage.contains("PLACEMENT-17") && coverage.contains("no history shows"), "{coverage}");
}

#[test]
fn a_lookup_of_a_member_is_evaluated_again_when_the_other_object_changes() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dialects.md");
    let page = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write("nhc.yaml", blocks(&page, "yaml")[3]);
    write("profile.yaml", blocks(&page, "yaml")[4]);
    let history = blocks(&page, "jsonl")[1];
    let check = |history: &str| {
        write("history.jsonl", history);
        let profile = capsize::targets::find(folder.path().join("profile.yaml").to_str().unwrap()).unwrap();
        let verdicts =
            capsize::check::check(&folder.path().join("history.jsonl"), Some(&profile)).unwrap().verdicts;
        let held = ids(&verdicts, |outcome| matches!(outcome, Outcome::Held { .. }));
        (ids(&verdicts, Outcome::is_violated), held.contains(&"TAINT-07"))
    };
    assert_eq!(check(history), (vec!["TAINT-04"], true), "the remediation stays");
    let in_time = history.replace("\"at\":61.0", "\"at\":41.5");
    assert_eq!(check(&in_time), (vec![], true));
    let late = in_time.replace("\"at\":25.7", "\"at\":33.7").replace("00:00:25Z", "00:00:33Z");
    assert_eq!(check(&late), (vec!["TAINT-07"], false));
}

#[test]
fn only_objects_of_the_control_plane_are_members() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/ocm/lease-lost.jsonl");
    let dialect = capsize::dialects::find("ocm", Path::new("")).unwrap();
    let mut fold = AnyDialect::new(&dialect.kind());
    for entry in read(&path).unwrap() {
        let entry = entry.unwrap();
        let of_member = matches!(&entry.kind, Kind::Event { on, .. } if &**on != CONTROL_PLANE);
        let facts = fold.observe(&entry);
        assert!(
            !of_member
                || facts
                    .iter()
                    .all(|fact| matches!(fact.change, Change::Running { .. } | Change::RunningGone { .. }))
        );
    }
    assert_eq!(fold.world().members.keys().collect::<Vec<_>>(), ["member1", "member2", "member3"]);
}
