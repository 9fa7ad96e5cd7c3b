//! The JSON Schemas of files that users write accept all files that ship, and refuse mistakes.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::path::Path;

use capsize::schema::Document;
use serde_json::{Value, json};

mod files;

use files::{root, texts};

/// Why `value` does not agree with `schema`, if it does not. `root` has the definitions.
fn disagreement(value: &Value, schema: &Value, root: &Value, place: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        return disagreement(value, root.pointer(&name[1..]).expect("the schema has it"), root, place);
    }
    let agrees = |schema: &Value| disagreement(value, schema, root, place).is_none();
    let among = |list: &Value| list.as_array().map(|all| all.iter().filter(|schema| agrees(schema)).count());
    if among(&schema["anyOf"]) == Some(0) || among(&schema["oneOf"]).is_some_and(|count| count != 1) {
        return Some(format!("{place}: {value} has none of the forms"));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value))
        || schema.get("const").is_some_and(|only| only != value)
    {
        return Some(format!("{place}: {value} is not one of the words"));
    }
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let is_typed = match &schema["type"] {
        Value::Null => true,
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    };
    if !is_typed {
        return Some(format!("{place}: {value} is not of the type {}", schema["type"]));
    }
    let fields = value.as_object().into_iter().flatten();
    let wrong = fields.into_iter().find_map(|(name, value)| {
        let place = format!("{place}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => Some(format!("{place}: unknown")),
            (Value::Null, Value::Null | Value::Bool(true)) => None,
            (Value::Null, other) => disagreement(value, other, root, &place),
            (known, _) => disagreement(value, known, root, &place),
        }
    });
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.into_iter().find(|name| value.is_object() && value.get(*name).is_none());
    let items = value.as_array().filter(|_| schema["items"].is_object()).into_iter().flatten();
    let item = items.into_iter().find_map(|item| disagreement(item, &schema["items"], root, place));
    wrong.or(missing.map(|name| format!("{place} lacks {name}"))).or(item)
}

fn schema(document: Document) -> Value {
    serde_json::from_str(&document.schema()).expect("a schema is JSON")
}

fn refused(value: &Value, schema: &Value) -> Option<String> {
    disagreement(value, schema, schema, "")
}

#[test]
fn every_file_that_ships_agrees_with_its_schema() {
    let folders = [
        (Document::Scenario, "suites/conformance"),
        (Document::Dialect, "suites/dialects"),
        (Document::Report, "reports"),
    ];
    for (document, folder) in folders {
        let schema = schema(document);
        let files = texts(&root().join(folder), &["yaml"]);
        assert!(!files.is_empty(), "{folder}");
        for (path, text) in files {
            let value: Value = serde_saphyr::from_str(&text).expect("it is YAML");
            assert_eq!(refused(&value, &schema), None, "{}", path.display());
        }
    }
    let schema = schema(Document::Target);
    for profile in capsize::targets::shipped().iter() {
        let text = capsize::targets::text(&profile.name).expect("it ships");
        let value: Value = serde_saphyr::from_str(text).expect("it is YAML");
        assert_eq!(refused(&value, &schema), None, "{}", profile.name);
    }
}

#[test]
fn the_lines_of_recordings_agree_with_the_schema_of_histories() {
    let schema = schema(Document::History);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/karmada-1.18.2");
    for (path, text) in texts(&folder, &["jsonl"]) {
        for (place, line) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(line).expect("it is JSON");
            assert_eq!(refused(&value, &schema), None, "{}:{}", path.display(), place + 1);
        }
    }
}

#[test]
fn mistakes_do_not_agree() {
    let scenario =
        |step: Value| json!({"scenario": "s", "about": "a", "fleet": {"members": 2}, "when": [step]});
    let schema = schema(Document::Scenario);
    assert_eq!(refused(&scenario(json!({"refuse": {"cluster": "m1"}})), &schema), None);
    for step in [
        json!({"refuse": {"clutser": "m1"}}),
        json!({"refused": {"cluster": "m1"}}),
        json!({"taint": {"key": "k", "effect": "NoExecute"}}),
        json!({"taint": {"cluster": "m1", "key": "k", "effect": "Never"}}),
    ] {
        assert!(refused(&scenario(step.clone()), &schema).is_some(), "{step}");
    }
}
