//! Compares this reader with the parser alone, for values of each shape and for texts with mistakes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::read_yaml;
use crate::FileValue;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Sample {
    text: String,
    letter: char,
    small: i8,
    large: u64,
    huge: i128,
    share: f64,
    is_set: bool,
    maybe: Option<u8>,
    #[serde(default)]
    absent: Option<Box<Sample>>,
    nothing: (),
    list: Vec<Text>,
    pair: (u8, String),
    map: BTreeMap<String, Unit>,
    variants: Vec<Variant>,
    any: Value,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Text(String);

#[derive(Debug, Deserialize, PartialEq)]
struct Unit;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Variant {
    Alone,
    Around(Option<Text>),
    Two(u8, bool),
    Fields { from: String, to: u16 },
}

const SAMPLE: &str = "\
text: some words
letter: x
small: -5
large: 18446744073709551615
huge: 170141183460469231731687303715884105727
share: 0.25
isSet: true
maybe: 7
nothing: null
list: [a, &name \"b c\", *name]
pair:
  - 1
  - second
map:
  one: null
  two: ~
variants:
  - alone
  - around: inner
  - around: null
  - two: [3, false]
  - fields:
      from: here
      to: 80
any: {a: [1, -2, 2.5, \"x\", null, true], <<: {b: c}}
";

const VALUES: &[&str] = &[
    "5",
    "-300",
    "1.5",
    "yes",
    "null",
    "\"7\"",
    "xy",
    "[]",
    "[1, 2, 3]",
    "{a: b}",
    "{to: 1}",
    "!tag x",
    "*name",
    "|\n  a",
    "",
];

/// A change of the text: one line, and what becomes of it.
fn change() -> impl Strategy<Value = (usize, usize)> {
    (0..SAMPLE.lines().count(), 0..VALUES.len() + 4)
}

fn changed(changes: &[(usize, usize)]) -> String {
    let mut lines: Vec<String> = SAMPLE.lines().map(str::to_owned).collect();
    for (line, change) in changes {
        let old = lines[*line].clone();
        let (key, value) = old.split_once(": ").unwrap_or((&old, ""));
        lines[*line] = match change.checked_sub(VALUES.len()) {
            None => format!("{key}: {}", VALUES[*change]),
            Some(0) => String::new(),
            Some(1) => format!("{old}\n{old}"),
            Some(2) => format!("  {old}"),
            Some(_) => format!("{key}s: {value}"),
        };
    }
    lines.join("\n")
}

/// The value that is read, or the message of the error with its place.
fn outcome<T>(result: Result<T, serde_saphyr::Error>) -> Result<T, (String, Option<serde_saphyr::Location>)> {
    result.map_err(|error| (error.to_string(), error.location()))
}

#[test]
fn the_sample_is_read_as_the_parser_itself_reads_it() {
    let sample: Sample = read_yaml(SAMPLE).unwrap();
    assert_eq!(sample, serde_saphyr::from_str(SAMPLE).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_text_with_mistakes_is_read_as_the_parser_itself_reads_it(changes in prop::collection::vec(change(), 1..3)) {
        let text = changed(&changes);
        prop_assert_eq!(outcome(read_yaml::<Sample>(&text)), outcome(serde_saphyr::from_str(&text)), "{}", text);
    }
}

#[test]
fn a_value_has_the_place_that_the_parser_knows() {
    let text = "first: &a [1]\nsecond: *a\nthird:\n  - 2\nfourth: {<<: {x: 3}}\n";
    let ours: BTreeMap<String, FileValue<Value>> = read_yaml(text).unwrap();
    let parsers: BTreeMap<String, Spanned<Value>> = serde_saphyr::from_str(text).unwrap();
    assert_eq!(ours.len(), 4);
    for (key, ours) in ours {
        assert_eq!(
            (ours.value, ours.location),
            (parsers[&key].value.clone(), parsers[&key].referenced),
            "{key}"
        );
    }
}
