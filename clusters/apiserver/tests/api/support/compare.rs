//! Compares the responses of a real server with those of this server.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

/// Texts that two servers choose differently, after the part that is kept.
static CHOSEN: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        "()[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"(record \(|current: )[0-9]+",
        "()Key: /[a-z]*/",
        // The messages of Go's readers for broken JSON and YAML.
        "(json parse error|converting YAML to JSON|error decoding patch|cannot be handled as a [A-Za-z]+: json): .*",
    ];
    patterns.map(|pattern| Regex::new(pattern).unwrap()).into()
});

/// A whole cell of a table that two servers choose differently: an age, or the address of a service.
static CELL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(<invalid>|([0-9]+[smhdy])+|10\.96\.[0-9]+\.[0-9]+)$").unwrap());

/// Replaces values in a table that two servers choose differently.
/// The descriptions of columns are removed, because recordings do not have them.
fn even_table(table: &mut serde_json::Map<String, Value>) {
    let columns = table.get_mut("columnDefinitions").and_then(Value::as_array_mut);
    for column in columns.into_iter().flatten().filter_map(Value::as_object_mut) {
        column.remove("description");
    }
    let rows = table.get_mut("rows").and_then(Value::as_array_mut);
    for cell in rows.into_iter().flatten().filter_map(|row| row["cells"].as_array_mut()).flatten() {
        if cell.as_str().is_some_and(|text| CELL.is_match(text)) {
            *cell = json!("-");
        }
    }
}

/// Replaces values that two servers choose differently.
/// Such values are uids, times, name suffixes, addresses and revisions.
fn even(value: &mut Value) {
    if value["kind"] == "Table" {
        value.as_object_mut().into_iter().for_each(even_table);
    }
    if let Some(prefix) = value["generateName"].as_str().map(str::to_owned) {
        value["name"] = prefix.into();
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let chosen = matches!(
                    name.as_str(),
                    "gitCommit"
                        | "gitTreeState"
                        | "goVersion"
                        | "compiler"
                        | "uid"
                        | "token"
                        | "expirationTimestamp"
                        | "creationTimestamp"
                        | "deletionTimestamp"
                        | "time"
                        | "lastTransitionTime"
                        | "clusterIP"
                        | "clusterIPs"
                        | "resourceVersion"
                );
                if chosen && !value.is_null() {
                    *value = json!("-");
                } else {
                    even(value);
                }
            }
        }
        Value::Array(list) => {
            list.iter_mut().for_each(even);
            // The entries of managedFields are ordered by their times.
            if list.iter().any(|entry| entry["fieldsType"].is_string()) {
                list.sort_by_key(|entry| {
                    (
                        entry["operation"].to_string(),
                        entry["manager"].to_string(),
                        entry["subresource"].to_string(),
                    )
                });
            }
        }
        Value::String(text) => {
            for pattern in CHOSEN.iter() {
                if let std::borrow::Cow::Owned(evened) = pattern.replace_all(text, "$1-") {
                    *text = evened;
                }
            }
        }
        _ => {}
    }
}

/// The paths at which two values differ, except values that two servers choose differently.
pub(crate) fn differences(recorded: &Value, answered: &Value) -> Vec<String> {
    let (mut recorded, mut answered) = (recorded.clone(), answered.clone());
    even(&mut recorded);
    even(&mut answered);
    let mut found = Vec::new();
    collect("", &recorded, &answered, &mut found);
    found
}

fn collect(path: &str, recorded: &Value, answered: &Value, found: &mut Vec<String>) {
    match (recorded, answered) {
        (Value::Object(a), Value::Object(b)) => {
            let absent = json!("(absent)");
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (a, b) = (a.get(key).unwrap_or(&absent), b.get(key).unwrap_or(&absent));
                collect(&format!("{path}.{key}"), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| collect(&format!("{path}[{i}]"), a, b, found));
        }
        _ if recorded == answered => {}
        _ => found.push(format!("{path}: recorded {recorded}, answered {answered}")),
    }
}
