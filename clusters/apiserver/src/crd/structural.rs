//! Whether a schema is structural: every value has a type of its own, and nothing in it costs too much.

use serde_json::Value;

use crate::failure::Cause;

/// Keywords of JSON schema that definitions may not use.
const UNSUPPORTED: [&str; 10] = [
    "$ref",
    "definitions",
    "dependencies",
    "deprecated",
    "discriminator",
    "id",
    "patternProperties",
    "readOnly",
    "writeOnly",
    "xml",
];
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Where in its parent a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Item,
}

/// What is wrong with the schema at `path`.
pub(super) fn problems(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(schema, path, Place::Root, &mut causes);
    causes
}

fn check(schema: &Value, path: &str, place: Place, causes: &mut Vec<Cause>) {
    let below = |name: &str| format!("{path}.{name}");
    let flag = |name: &str| schema[name].as_bool().unwrap_or(false);
    for keyword in UNSUPPORTED {
        if !schema[keyword].is_null() {
            causes.push(Cause::forbidden(below(keyword), &format!("{keyword} is not supported")));
        }
    }
    if flag("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(Cause::forbidden(below("uniqueItems"), detail));
    }
    if schema["additionalProperties"] == false {
        causes.push(Cause::forbidden(
            below("additionalProperties"),
            "additionalProperties cannot be set to false",
        ));
    }
    if schema["properties"].is_object() && !schema["additionalProperties"].is_null() {
        let detail = "additionalProperties and properties are mutual exclusive";
        causes.push(Cause::forbidden(below("additionalProperties"), detail));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        check(field, &below(&format!("properties[{name}]")), Place::Field, causes);
    }
    if schema["additionalProperties"].is_object() {
        check(&schema["additionalProperties"], &below("additionalProperties"), Place::Field, causes);
    }
    if schema["items"].is_object() {
        check(&schema["items"], &below("items"), Place::Item, causes);
    }
    check_type(schema, path, place, causes);
    check_list(schema, path, causes);
    for combination in ["allOf", "anyOf", "oneOf"] {
        for (index, part) in schema[combination].as_array().into_iter().flatten().enumerate() {
            check_part(schema, part, &below(&format!("{combination}[{index}]")), causes);
        }
    }
    if schema["not"].is_object() {
        check_part(schema, &schema["not"], &below("not"), causes);
    }
}

fn check_type(schema: &Value, path: &str, place: Place, causes: &mut Vec<Cause>) {
    let field = format!("{path}.type");
    let flag = |name: &str| schema[name].as_bool().unwrap_or(false);
    let free = flag("x-kubernetes-int-or-string") || flag("x-kubernetes-preserve-unknown-fields");
    match schema["type"].as_str().unwrap_or_default() {
        "" if free && place != Place::Root => {}
        "" => {
            let detail = match place {
                Place::Root => "must not be empty at the root",
                Place::Field => "must not be empty for specified object fields",
                Place::Item => "must not be empty for specified array items",
            };
            causes.push(Cause::required(field, detail));
        }
        given if !TYPES.contains(&given) => causes.push(Cause::unsupported(field, &given.into(), &TYPES)),
        "object" => {}
        given if place == Place::Root => {
            causes.push(Cause::invalid(field, &given.into(), "must be object at the root"));
        }
        given if flag("x-kubernetes-int-or-string") => {
            let detail = "must be empty if x-kubernetes-int-or-string is true";
            causes.push(Cause::invalid(field, &given.into(), detail));
        }
        "array" if !schema["items"].is_object() => {
            causes.push(Cause::required(format!("{path}.items"), "must be specified"));
        }
        _ => {}
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let detail = "must be true or undefined";
        causes.push(Cause::invalid(
            format!("{path}.x-kubernetes-preserve-unknown-fields"),
            &false.into(),
            detail,
        ));
    }
}

fn check_list(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let kind = schema["x-kubernetes-list-type"].as_str();
    let keys = schema["x-kubernetes-list-map-keys"].as_array().map_or(0, Vec::len);
    match kind {
        Some("map") if keys == 0 => {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            causes.push(Cause::required(format!("{path}.x-kubernetes-list-map-keys"), detail));
        }
        Some("map" | "set" | "atomic") | None => {}
        Some(given) => {
            let allowed = ["atomic", "map", "set"];
            causes.push(Cause::unsupported(
                format!("{path}.x-kubernetes-list-type"),
                &given.into(),
                &allowed,
            ));
        }
    }
}

/// A part of a combination may restrict values, and not say what they are.
fn check_part(schema: &Value, part: &Value, path: &str, causes: &mut Vec<Cause>) {
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    if !part["type"].is_null() && !int_or_string {
        causes.push(Cause::forbidden(format!("{path}.type"), "must be empty to be structural"));
    }
    for keyword in ["default", "nullable", "title", "description"] {
        if !part[keyword].is_null() {
            causes.push(Cause::forbidden(format!("{path}.{keyword}"), "must be undefined to be structural"));
        }
    }
    for (name, field) in part["properties"].as_object().into_iter().flatten() {
        check_part(&schema["properties"][name], field, &format!("{path}.properties[{name}]"), causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_structural_is_named() {
        let table = [
            (json!({"type": "object"}), vec![]),
            (json!({"properties": {"spec": {}}}), vec!["s.properties[spec].type", "s.type"]),
            (json!({"type": "array", "items": {"type": "string"}}), vec!["s.type"]),
            (
                json!({"type": "object", "properties": {"a": {"type": "array"}}}),
                vec!["s.properties[a].items"],
            ),
            (json!({"type": "object", "additionalProperties": false}), vec!["s.additionalProperties"]),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/x", "type": "object"}}}),
                vec!["s.properties[a].$ref"],
            ),
            (json!({"type": "object", "anyOf": [{"type": "object"}]}), vec!["s.anyOf[0].type"]),
            (
                json!({"type": "object", "properties": {"p": {"x-kubernetes-int-or-string": true,
                "anyOf": [{"type": "integer"}, {"type": "string"}]}}}),
                vec![],
            ),
        ];
        for (schema, expected) in table {
            let fields: Vec<_> = problems(&schema, "s").into_iter().map(|cause| cause.field).collect();
            assert_eq!(fields, expected, "{schema}");
        }
    }
}
