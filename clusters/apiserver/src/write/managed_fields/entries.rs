//! Reads and writes the entries of `metadata.managedFields`.

use serde_json::{Value, json};

use super::set::FieldSet;

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub manager: String,
    /// The fields were set by an apply, not by another write.
    pub applied: bool,
    pub api_version: String,
    pub subresource: String,
    pub time: Value,
    pub set: FieldSet,
}

impl Entry {
    /// Returns true if both entries belong to the same manager.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        let key = |entry: &Self| {
            (entry.manager.clone(), entry.applied, entry.api_version.clone(), entry.subresource.clone())
        };
        key(self) == key(other)
    }
}

/// The entries of an object.
pub(crate) fn read(object: &Value) -> Vec<Entry> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .map(|entry| Entry {
            manager: text(&entry["manager"]),
            applied: entry["operation"] == "Apply",
            api_version: text(&entry["apiVersion"]),
            subresource: text(&entry["subresource"]),
            time: entry["time"].clone(),
            set: FieldSet::from_json(&entry["fieldsV1"]),
        })
        .collect()
}

/// The entries for the metadata: applies first, then by time and name.
pub(crate) fn write(mut entries: Vec<Entry>) -> Option<Value> {
    entries.retain(|entry| !entry.set.is_empty());
    entries.sort_by_key(|entry| {
        let time = entry.time.as_str().unwrap_or_default().to_owned();
        (!entry.applied, time, entry.manager.clone(), entry.api_version.clone(), entry.subresource.clone())
    });
    let written = entries.iter().map(|entry| {
        let operation = if entry.applied { "Apply" } else { "Update" };
        let mut written = json!({"manager": entry.manager, "operation": operation, "apiVersion": entry.api_version,
            "fieldsType": "FieldsV1", "fieldsV1": entry.set.to_json()});
        if !entry.time.is_null() {
            written["time"] = entry.time.clone();
        }
        if !entry.subresource.is_empty() {
            written["subresource"] = entry.subresource.as_str().into();
        }
        written
    });
    (!entries.is_empty()).then(|| written.collect())
}
