//! Converts events between their two API groups. They are stored as the core group has them.

use serde_json::Value;

/// The fields that have different names, in the core group and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The core group's name of a field of `events.k8s.io`, given by its path.
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

/// An event of `events.k8s.io` as the core group shows it.
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

/// An event of the core group as `events.k8s.io` shows it.
pub(crate) fn from_core(event: &Value) -> Value {
    let mut new = rename(event, |(core, new)| (core, new));
    new["apiVersion"] = "events.k8s.io/v1".into();
    if let Some(fields) = new.as_object_mut() {
        fields.retain(|field, value| !(field.starts_with("reporting") && value == ""));
    }
    new
}
