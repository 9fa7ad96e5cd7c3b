//! The JSON Schema of one line of a history, made from the words that the reader knows.

use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use super::FaultKind;
use super::mark::{DIRECTIONS, HEADER, STATES};

/// The JSON Schema of one line of a history.
#[must_use]
pub fn schema() -> Value {
    let kinds: Vec<&str> = FaultKind::ALL.into_iter().map(FaultKind::name).collect();
    let text = json!({"type": "string"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of a history",
        "description": "An event that an API server sent, or a mark of the recorder. docs/histories.md describes both.",
        "type": "object",
        "required": ["at"],
        "properties": {
            "at": {"description": "Seconds since the start of the history.", "type": "number", "minimum": 0},
            "on": {"description": "`control-plane`, or the name of the member whose API sent the event.", "type": "string"},
            "event": {"description": "The type of the watch event.", "enum": ["ADDED", "MODIFIED", "DELETED"]},
            "object": {"description": "The whole object.", "type": "object"},
            "mark": {
                "type": "object",
                "anyOf": [
                    {"$ref": "#/$defs/header"},
                    {"$ref": "#/$defs/fault"},
                    {"$ref": "#/$defs/step"},
                    {"$ref": "#/$defs/observer"},
                ],
            },
        },
        "oneOf": [{"required": ["mark"]}, {"required": ["on", "event", "object"]}],
        "$defs": {
            "header": header(),
            "fault": {
                "description": "A fault begins or ends.",
                "type": "object",
                "required": ["fault", "state"],
                "properties": {
                    "fault": {"enum": kinds},
                    "state": {"enum": STATES},
                    "cluster": text,
                    "node": text,
                    "direction": {"enum": DIRECTIONS},
                },
            },
            "step": {
                "description": "A step of a scenario.",
                "type": "object",
                "required": ["step"],
                "properties": {"step": text, "cluster": text, "node": text},
            },
            "observer": {
                "description": "How exactly a cluster is observed from here on.",
                "type": "object",
                "required": ["observer"],
                "properties": {"observer": {"type": "object", "required": ["on"]}},
            },
        },
    })
}

/// The schema of the header. All of its fields but the first may be left out.
fn header() -> Value {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let schema = |name: &str| match name {
        "history" => json!({"const": "v1"}),
        "seconds" => json!({"type": "object", "additionalProperties": {"type": "number"}}),
        "off" | "promises" | "schedulers" => list.clone(),
        "automaticNoExecute" | "clusterTaintPolicies" | "evictionEvents" => json!({"type": "boolean"}),
        _ => json!({"type": "string"}),
    };
    let fields = HEADER.into_iter().map(|name| (name.to_owned(), schema(name)));
    json!({
        "description": "The first line: the version of the format, the implementation, and its settings.",
        "type": "object",
        "required": ["history"],
        "properties": Value::Object(fields.collect_sorted()),
    })
}
