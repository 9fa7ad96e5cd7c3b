//! The schemas inside of a schema. The name of a property is no keyword, and a default, an example or an allowed value is
//! no schema, whatever it looks like.

use serde_json::{Map, Value};

/// Which schemas the value of a keyword holds.
enum Holds {
    One,
    List,
    Named,
    None,
}

fn holds(keyword: &str, value: &Value) -> Holds {
    match (keyword, value) {
        ("additionalProperties" | "items" | "not", Value::Object(_)) => Holds::One,
        ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(_)) => Holds::List,
        ("properties" | "patternProperties" | "definitions", Value::Object(_)) => Holds::Named,
        _ => Holds::None,
    }
}

/// Changes a schema and all schemas in it, from the outside to the inside.
pub(super) fn change(schema: &mut Value, change_one: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    change_one(fields);
    for (keyword, value) in fields {
        match (holds(keyword, value), value) {
            (Holds::One, value) => change(value, change_one),
            (Holds::List, Value::Array(list)) => {
                list.iter_mut().for_each(|schema| change(schema, change_one));
            }
            (Holds::Named, Value::Object(named)) => {
                named.values_mut().for_each(|schema| change(schema, change_one));
            }
            _ => {}
        }
    }
}

/// Looks at a schema and at all schemas in it.
pub(super) fn look(schema: &Value, look_at: &mut dyn FnMut(&Map<String, Value>)) {
    let Value::Object(fields) = schema else { return };
    look_at(fields);
    for (keyword, value) in fields {
        match (holds(keyword, value), value) {
            (Holds::One, value) => look(value, look_at),
            (Holds::List, Value::Array(list)) => list.iter().for_each(|schema| look(schema, look_at)),
            (Holds::Named, Value::Object(named)) => named.values().for_each(|schema| look(schema, look_at)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_properties_and_defaults_are_not_taken_for_schemas() {
        let inner = json!({"seen": "b"});
        let mut schema = json!({"seen": "a", "default": {"seen": "x"}, "enum": [{"seen": "x"}],
            "properties": {"oneOf": inner, "$ref": inner, "properties": {"properties": {"not": inner}}},
            "items": [inner], "not": inner, "allOf": [{"anyOf": [inner]}], "additionalProperties": true});
        let mut seen = Vec::new();
        look(&schema, &mut |fields| seen.extend(fields.get("seen").cloned()));
        assert_eq!(seen.len(), 7, "{seen:?}");
        assert!(!seen.contains(&json!("x")));
        change(&mut schema, &mut |fields| drop(fields.remove("seen")));
        assert_eq!(schema.to_string().matches("seen").count(), 2, "{schema}");
    }
}
