//! Finds the places where a claim and the facts differ.

use std::collections::BTreeSet;

use serde_json::Value;

use super::claim::ConformanceReport;

/// A place where a claim and the facts differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimDifference {
    /// The field, as `guarantees.TAINT-01.marginSeconds`.
    pub place: String,
    /// The value in the claim; `None` if the claim lacks it.
    pub claimed: Option<String>,
    /// The value that follows from the facts; `None` if nothing follows.
    pub found: Option<String>,
}

/// The fields that identify an item of a list.
const NAMES: [&str; 4] = ["id", "name", "guarantee", "reason"];

/// All places where `claimed` and `found` differ, in the order of the file.
#[must_use]
pub fn differences(claimed: &ConformanceReport, found: &ConformanceReport) -> Vec<ClaimDifference> {
    let tree = |report: &ConformanceReport| {
        serde_json::to_value(report).expect("texts, numbers and lists are always JSON")
    };
    let mut all = Vec::new();
    compare("", Some(&tree(claimed)), Some(&tree(found)), &mut all);
    all
}

fn compare(place: &str, claimed: Option<&Value>, found: Option<&Value>, all: &mut Vec<ClaimDifference>) {
    if claimed == found {
        return;
    }
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match (claimed, found) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for name in keys(left.keys(), right.keys()) {
                compare(&below(&name), left.get(&name), right.get(&name), all);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if is_named(left) && is_named(right) => {
            let find = |list: &[Value], name: &str| {
                list.iter().find(|item| name_of(item).is_some_and(|own| own == name)).cloned()
            };
            let before = all.len();
            let names = |list: &[Value]| list.iter().filter_map(name_of).collect::<Vec<_>>();
            for name in keys(names(left).iter(), names(right).iter()) {
                let (left, right) = (find(left, &name), find(right, &name));
                compare(&below(&name), left.as_ref(), right.as_ref(), all);
            }
            // The names are the same, but they come in another order or number.
            if all.len() == before {
                all.push(difference(place, claimed, found));
            }
        }
        _ => all.push(difference(place, claimed, found)),
    }
}

fn difference(place: &str, claimed: Option<&Value>, found: Option<&Value>) -> ClaimDifference {
    ClaimDifference { place: place.to_owned(), claimed: claimed.map(text), found: found.map(text) }
}

/// The names of both sides, each once, in the order of the first side.
fn keys<'a>(left: impl Iterator<Item = &'a String>, right: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    left.chain(right).filter(|name| seen.insert(name.as_str())).cloned().collect()
}

fn is_named(list: &[Value]) -> bool {
    list.iter().all(|item| name_of(item).is_some())
}

/// The name of an item of a list. A case that ran with several seeds has its seed in the name.
fn name_of(item: &Value) -> Option<String> {
    let name = NAMES.iter().find_map(|name| item.get(name)?.as_str())?;
    Some(match item.get("seed") {
        Some(seed) => format!("{name} (seed {seed})"),
        None => name.to_owned(),
    })
}

/// The longest value that is shown whole.
const LONGEST: usize = 120;

/// A value in one line.
fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
