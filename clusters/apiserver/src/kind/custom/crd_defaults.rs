//! Sets the defaults of a CRD itself: its names and its conversion.

use serde_json::{Value, json};

/// Sets the defaults of a definition.
pub(crate) fn default_definition(definition: &mut Value) {
    if !definition["spec"]["names"].is_object() {
        return;
    }
    let names = &mut definition["spec"]["names"];
    let Some(kind) = names["kind"].as_str().map(str::to_owned) else { return };
    if names["singular"].as_str().unwrap_or_default().is_empty() {
        names["singular"] = kind.to_lowercase().into();
    }
    if names["listKind"].as_str().unwrap_or_default().is_empty() {
        names["listKind"] = format!("{kind}List").into();
    }
    if definition["spec"]["conversion"].is_null() {
        definition["spec"]["conversion"] = json!({"strategy": "None"});
    }
    // Objects may be stored in the storage version as soon as the definition is written.
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let storage: Vec<_> = versions
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let stored = definition.get_mut("status").and_then(|status| status.get_mut("storedVersions"));
    if let Some(stored) = stored.and_then(Value::as_array_mut) {
        for name in storage {
            if !stored.contains(&name) {
                stored.push(name);
            }
        }
    }
}
