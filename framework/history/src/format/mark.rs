//! Checks the words of marks: a misspelt word would be ignored, and the verdict would change.

use super::{FaultKind, Mark};

/// The fields that identify the sort of a mark.
const SORTS: [&str; 4] = ["history", "fault", "step", "observer"];

/// The fields of the header that have a meaning.
pub(super) const HEADER: [&str; 11] = [
    "history",
    "implementation",
    "version",
    "scenario",
    "seconds",
    "automaticNoExecute",
    "clusterTaintPolicies",
    "off",
    "promises",
    "schedulers",
    "evictionEvents",
];

/// All fields of a mark of a fault.
const FAULT: [&str; 16] = [
    "fault",
    "state",
    "cluster",
    "node",
    "direction",
    "seconds",
    "percent",
    "bytesASecond",
    "with",
    "every",
    "verb",
    "revision",
    "write",
    "requests",
    "messages",
    "watches",
];

/// The values of the field `state` of a fault.
pub(super) const STATES: [&str; 2] = ["begin", "end"];

/// The directions in which a fault of a connection hits.
pub(super) const DIRECTIONS: [&str; 3] = ["both", "toMember", "fromMember"];

/// The fields of a step that have a meaning.
const STEP: [&str; 4] = ["step", "cluster", "node", "object"];

/// The steps that have a meaning: the actions of a person.
const STEPS: [&str; 5] = ["taint", "untaint", "apply", "delete", "backup"];

/// The fields of an observer.
const OBSERVER: [&str; 3] = ["on", "latency", "clockOffset"];

/// The similarity, of 1, from which a word counts as a misspelling of another.
const ALIKE: f32 = 0.8;

/// The same for names of steps. It is higher because other steps may exist: `tainted` is not `taint`.
const ALIKE_STEPS: f32 = 0.85;

/// The error, and the remedy.
type MarkProblem = (String, String);

/// The word of `known` of which `word` is probably a misspelling.
pub fn misspelt<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    like(word, known, ALIKE)
}

/// The word of `known` that is at least as similar to `word` as `alike`.
fn like<'a>(word: &str, known: &[&'a str], alike: f32) -> Option<&'a str> {
    let lower = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    if let Some(same) = known.iter().find(|each| lower(each) == lower(word)) {
        return Some(same);
    }
    similar::get_close_matches(word, known, 1, alike).first().copied()
}

/// Refuses a word that is not one of `known`.
fn one_of(what: &str, word: &str, known: &[&str]) -> Result<(), MarkProblem> {
    if known.contains(&word) {
        return Ok(());
    }
    let meant = misspelt(word, known).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    Err((format!("there is no {what} `{word}`"), format!("{meant}There are {}", known.join(", "))))
}

/// Refuses a word that is not one of `known` and looks like one of them.
fn not_misspelt(what: &str, word: &str, known: &[&str], alike: f32) -> Result<(), MarkProblem> {
    // Most words are known, and a search for similar words takes long.
    if known.contains(&word) {
        return Ok(());
    }
    match like(word, known, alike) {
        Some(meant) => Err((
            format!("there is no {what} `{word}`"),
            format!("did you mean `{meant}`? It counts, and this does not"),
        )),
        None => Ok(()),
    }
}

/// Refuses a mark with a field or value that is unknown, or that looks like a misspelling.
///
/// # Errors
/// The error, and the remedy.
pub(super) fn check(mark: &Mark) -> Result<(), MarkProblem> {
    let text = |key: &str| mark.get(key).and_then(serde_json::Value::as_str);
    let keys = || mark.keys().map(String::as_str);
    if mark.contains_key("history") {
        return keys().try_for_each(|key| not_misspelt("field of a header", key, &HEADER, ALIKE));
    }
    if let Some(observer) = mark.get("observer").and_then(serde_json::Value::as_object) {
        return observer.keys().try_for_each(|key| one_of("field of `observer`", key, &OBSERVER));
    }
    if mark.contains_key("fault") {
        let fields: Vec<&str> = FAULT.into_iter().chain(["done"]).collect();
        keys().try_for_each(|key| one_of("field of a fault", key, &fields))?;
        one_of("kind of fault", text("fault").unwrap_or_default(), &FaultKind::ALL.map(FaultKind::name))?;
        one_of("state of a fault", text("state").unwrap_or_default(), &STATES)?;
        return text("direction").map_or(Ok(()), |direction| one_of("direction", direction, &DIRECTIONS));
    }
    if let Some(step) = text("step") {
        keys().try_for_each(|key| not_misspelt("field of a step", key, &STEP, ALIKE))?;
        return not_misspelt("step", step, &STEPS, ALIKE_STEPS);
    }
    keys().try_for_each(|key| not_misspelt("sort of mark", key, &SORTS, ALIKE))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(mark: Value) -> Result<(), MarkProblem> {
        let Value::Object(mark) = mark else { panic!("a mark is an object") };
        check(&mark)
    }

    #[test]
    fn what_counts_and_is_misspelt_is_refused_with_what_was_meant() {
        let cases = [
            (json!({"fualt": "refuse", "cluster": "m1", "state": "begin"}), "fault"),
            (json!({"fault": "refused", "cluster": "m1", "state": "begin"}), "refuse"),
            (json!({"fault": "blackhole", "cluster": "m1", "state": "begin"}), "black-hole"),
            (json!({"fault": "refuse", "clutser": "m1", "state": "begin"}), "cluster"),
            (json!({"fault": "refuse", "cluster": "m1", "state": "begins"}), "begin"),
            (
                json!({"fault": "partition", "cluster": "m1", "state": "end", "direction": "tomember"}),
                "toMember",
            ),
            (json!({"step": "untaints", "cluster": "m1"}), "untaint"),
            (json!({"step": "taint", "clusters": "m1"}), "cluster"),
            (json!({"history": "v1", "implementaton": "karmada"}), "implementation"),
            (json!({"history": "v1", "automatic_no_execute": true}), "automaticNoExecute"),
            (json!({"observer": {"on": "m1", "latncy": 0.1}}), "latency"),
        ];
        for (mark, meant) in cases {
            let (what, help) = checked(mark.clone()).unwrap_err();
            assert!(help.contains(&format!("did you mean `{meant}`?")), "{mark}: {what}; {help}");
        }
    }

    #[test]
    fn an_unknown_kind_of_fault_is_refused_with_all_that_there_are() {
        let (what, help) =
            checked(json!({"fault": "meteor", "cluster": "m1", "state": "begin"})).unwrap_err();
        assert_eq!(what, "there is no kind of fault `meteor`");
        assert!(help.contains("refuse") && help.contains("stale"), "{help}");
    }

    #[test]
    fn what_recorders_say_beside_is_passed_over() {
        for mark in [
            json!({"step": "settled", "binding": "dup", "placed": {"m1": 2}, "tasks": []}),
            json!({"step": "seen", "that": "all is well"}),
            json!({"step": "call", "cluster": "m1", "as": "victim"}),
            json!({"step": "failed", "expected": "a", "seen": "b"}),
            json!({"step": "deleteMember", "cluster": "m1"}),
            json!({"history": "v1", "start": "2026-11-25T10:35:44Z", "implementation": "ocm"}),
            json!({"recorder": "ended"}),
            json!({"step": "tainted", "cluster": "m1"}),
            json!({"fault": "silent", "node": "n1", "state": "end"}),
        ] {
            assert_eq!(checked(mark.clone()), Ok(()), "{mark}");
        }
    }
}
