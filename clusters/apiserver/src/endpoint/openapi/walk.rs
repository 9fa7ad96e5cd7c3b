//! Visits the schemas inside a schema.
//!
//! Names of properties are not keywords. Defaults, examples and enum values are not schemas, even if they look like
//! schemas.

use serde_json::{Map, Value};

/// The kind of schemas that the value of a keyword contains.
enum Children {
    One,
    List,
    Named,
    None,
}

fn children(keyword: &str, value: &Value) -> Children {
    match (keyword, value) {
        ("additionalProperties" | "items" | "not", Value::Object(_)) => Children::One,
        ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(_)) => Children::List,
        ("properties" | "patternProperties" | "definitions", Value::Object(_)) => Children::Named,
        _ => Children::None,
    }
}

/// Changes a schema and all schemas in it, from the outside to the inside.
pub(super) fn change(schema: &mut Value, change_one: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    change_one(fields);
    for (keyword, value) in fields {
        match (children(keyword, value), value) {
            (Children::One, value) => change(value, change_one),
            (Children::List, Value::Array(list)) => {
                list.iter_mut().for_each(|schema| change(schema, change_one));
            }
            (Children::Named, Value::Object(named)) => {
                named.values_mut().for_each(|schema| change(schema, change_one));
            }
            _ => {}
        }
    }
}

/// Calls a function for a schema and for all schemas in it.
pub(super) fn visit(schema: &Value, visit_one: &mut dyn FnMut(&Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    visit_one(fields);
    for (keyword, value) in fields {
        match (children(keyword, value), value) {
            (Children::One, value) => visit(value, visit_one),
            (Children::List, Value::Array(list)) => list.iter().for_each(|schema| visit(schema, visit_one)),
            (Children::Named, Value::Object(named)) => {
                named.values().for_each(|schema| visit(schema, visit_one));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_properties_and_defaults_are_not_visited_as_schemas() {
        let inner = json!({"seen": "b"});
        let mut schema = json!({"seen": "a", "default": {"seen": "x"}, "enum": [{"seen": "x"}],
            "properties": {"oneOf": inner, "$ref": inner, "properties": {"properties": {"not": inner}}},
            "items": [inner], "not": inner, "allOf": [{"anyOf": [inner]}], "additionalProperties": true});
        let mut seen = Vec::new();
        visit(&schema, &mut |fields| seen.extend(fields.get("seen").cloned()));
        assert_eq!(seen.len(), 7, "{seen:?}");
        assert!(!seen.contains(&json!("x")));
        change(&mut schema, &mut |fields| drop(fields.remove("seen")));
        assert_eq!(schema.to_string().matches("seen").count(), 2, "{schema}");
    }
}
