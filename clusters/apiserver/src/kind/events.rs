//! Converts events between their two API groups. They are stored in the form of the core group.

use serde_json::Value;

/// The fields whose names differ between the core group and `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The path in the core group of a field of `events.k8s.io`.
pub(crate) fn core_path(path: &str) -> String {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let first = NAMES.iter().find(|(_, new)| *new == first).map_or(first, |(core, _)| core);
    rest.map_or_else(|| first.to_owned(), |rest| format!("{first}.{rest}"))
}

fn rename(
    event: &Value,
    name: impl Fn(&(&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let fields = event.as_object().into_iter().flatten();
    fields
        .map(|(field, value)| {
            let renamed =
                NAMES.iter().map(&name).find(|(from, _)| from == field).map(|(_, to)| to.to_owned());
            (renamed.unwrap_or_else(|| field.clone()), value.clone())
        })
        .collect()
}

/// Converts an event of `events.k8s.io` to the core group.
pub(crate) fn to_core(event: &Value) -> Value {
    let mut core = rename(event, |(core, new)| (new, core));
    core["apiVersion"] = "v1".into();
    for field in ["reportingComponent", "reportingInstance"] {
        if core[field].is_null() {
            core[field] = "".into();
        }
    }
    core
}

/// Converts an event of the core group to `events.k8s.io`.
pub(crate) fn from_core(event: &Value) -> Value {
    let mut new = rename(event, |(core, new)| (core, new));
    new["apiVersion"] = "events.k8s.io/v1".into();
    if let Some(fields) = new.as_object_mut() {
        fields.retain(|field, value| !(field.starts_with("reporting") && value == ""));
    }
    new
}
