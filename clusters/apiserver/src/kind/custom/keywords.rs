//! Checks the keywords of a schema, including the extensions of Kubernetes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::problems::text;
use crate::http::failure::Cause;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The rules for the place of a schema.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    root: bool,
    /// The reason why defaults are forbidden here.
    no_default: Option<&'a str>,
    in_metadata: bool,
}

/// The problems of the keywords of the schema at `path`.
pub(super) fn problems(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if schema["nullable"] == true {
        causes.push(Cause::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    check(schema, path, Place { root: true, ..Place::default() }, &mut causes);
    causes
}

fn check(schema: &Value, path: &str, place: Place<'_>, causes: &mut Vec<Cause>) {
    let below = |name: &str| format!("{path}.{name}");
    unsupported(schema, path, place, causes);
    if schema["uniqueItems"] == true {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(Cause::forbidden(below("uniqueItems"), detail));
    }
    let additional = &schema["additionalProperties"];
    let fields = schema["properties"].as_object();
    if *additional == false {
        let detail = "additionalProperties cannot be set to false";
        causes.push(Cause::forbidden(below("additionalProperties"), detail));
    }
    if fields.is_some_and(|fields| !fields.is_empty()) && (additional.is_object() || *additional == false) {
        let detail = "additionalProperties and properties are mutual exclusive";
        causes.push(Cause::forbidden(below("additionalProperties"), detail));
    }
    let plain = Place { root: false, ..place };
    if additional.is_object() {
        let why = "inside additionalProperties applying to object metadata";
        let no_default = if place.in_metadata { Some(why) } else { place.no_default };
        check(additional, &below("additionalProperties"), Place { no_default, ..plain }, causes);
    }
    let whole = place.root || schema["x-kubernetes-embedded-resource"] == true;
    for (name, field) in fields.into_iter().flatten() {
        let of_type = whole && matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
        let why = format!("in top-level {name}");
        let no_default = if of_type && place.root { Some(why.as_str()) } else { place.no_default };
        let place = Place { root: false, no_default, in_metadata: place.in_metadata || of_type };
        check(field, &below(&format!("properties[{name}]")), place, causes);
    }
    if schema["not"].is_object() {
        check(&schema["not"], &below("not"), plain, causes);
    }
    for combination in ["allOf", "oneOf", "anyOf"] {
        for (index, part) in schema[combination].as_array().into_iter().flatten().enumerate() {
            check(part, &below(&format!("{combination}[{index}]")), plain, causes);
        }
    }
    if schema["items"].is_object() {
        check(&schema["items"], &below("items"), plain, causes);
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let path = below("x-kubernetes-preserve-unknown-fields");
        causes.push(Cause::invalid(path, &false.into(), "must be true or undefined"));
    }
    map_type(schema, path, causes);
    list_type(schema, path, causes);
}

fn unsupported(schema: &Value, path: &str, place: Place<'_>, causes: &mut Vec<Cause>) {
    const KEYWORDS: [&str; 6] =
        ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
    let below = |name: &str| format!("{path}.{name}");
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        causes.push(Cause::unsupported(below("type"), &kind.into(), &TYPES));
    }
    if let Some(why) = place.no_default.filter(|_| !schema["default"].is_null()) {
        causes.push(Cause::forbidden(below("default"), &format!("must not be set {why}")));
    }
    for keyword in KEYWORDS.iter().filter(|keyword| !schema[**keyword].is_null()) {
        causes.push(Cause::forbidden(below(keyword), &format!("{keyword} is not supported")));
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        causes.push(Cause::forbidden(below("type"), detail));
    }
    if schema["items"].is_array() {
        causes.push(Cause::forbidden(below("items"), "items must be a schema object and not an array"));
    }
    if place.in_metadata && schema["x-kubernetes-embedded-resource"] == true {
        let path = below("x-kubernetes-embedded-resource");
        causes.push(Cause::forbidden(path, "must not be used inside of resource meta"));
    }
}

/// Refuses a schema that has `extension` and a type other than `wanted`.
fn wants_type(schema: &Value, path: &str, extension: &str, wanted: &str, causes: &mut Vec<Cause>) -> bool {
    let kind = text(schema, "type");
    if schema[extension].is_null() || kind == wanted {
        return true;
    }
    let detail = format!("must be {wanted} if {extension} is specified");
    let path = format!("{path}.type");
    causes.push(match kind {
        "" => Cause::required(path, &detail),
        kind => Cause::invalid(path, &kind.into(), &detail),
    });
    false
}

fn map_type(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    const EXTENSION: &str = "x-kubernetes-map-type";
    wants_type(schema, path, EXTENSION, "object", causes);
    let given = &schema[EXTENSION];
    if !given.is_null() && !["atomic", "granular"].contains(&text(schema, EXTENSION)) {
        causes.push(Cause::unsupported(format!("{path}.{EXTENSION}"), given, &["atomic", "granular"]));
    }
}

fn list_type(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    const EXTENSION: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let below = |name: &str| format!("{path}.{name}");
    let (given, items) = (text(schema, EXTENSION), &schema["items"]);
    if wants_type(schema, path, EXTENSION, "array", causes) && given == "set" && items.is_object() {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let inner = match text(items, "type") {
            "array" if !["", "atomic"].contains(&text(items, EXTENSION)) => Some(EXTENSION),
            "object" if text(items, "x-kubernetes-map-type") != "atomic" => Some("x-kubernetes-map-type"),
            _ => None,
        };
        if let Some(inner) = inner {
            causes.push(Cause::invalid(below(&format!("items.{inner}")), &items[EXTENSION], detail));
        }
    }
    if !schema[EXTENSION].is_null() && !["atomic", "set", "map"].contains(&given) {
        causes.push(Cause::unsupported(below(EXTENSION), &schema[EXTENSION], &["atomic", "set", "map"]));
    }
    let keys: Vec<&str> = schema[KEYS].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !keys.is_empty() && given != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(match given {
            "" => Cause::required(below(EXTENSION), detail),
            given => Cause::invalid(below(EXTENSION), &given.into(), detail),
        });
    }
    if given == "map" {
        keyed_list(schema, &keys, path, causes);
    }
    if matches!(given, "set" | "map") && items["nullable"] == true {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {given}");
        causes.push(Cause::forbidden(below("items.nullable"), &detail));
    }
    if given == "map" && items.is_object() {
        for key in &keys {
            let field = &items["properties"][*key];
            if !field.is_object() {
                continue;
            }
            let at = |name: &str| below(&format!("items.properties[{key}].{name}"));
            let required =
                items["required"].as_array().is_some_and(|list| list.iter().any(|name| name == key));
            if !required && field["default"].is_null() {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                              required property";
                causes.push(Cause::required(at("default"), detail));
            }
            if field["nullable"] == true {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                causes.push(Cause::forbidden(at("nullable"), detail));
            }
        }
    }
}

/// Checks the items of a list with keys.
fn keyed_list(schema: &Value, keys: &[&str], path: &str, causes: &mut Vec<Cause>) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let below = |name: &str| format!("{path}.{name}");
    let items = &schema["items"];
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        causes.push(Cause::required(below(KEYS), detail));
    }
    if !items.is_object() {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        return causes.push(Cause::required(below("items"), detail));
    }
    let kind = text(items, "type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        return causes.push(Cause::invalid(below("items.type"), &kind.into(), detail));
    }
    let mut seen = BTreeSet::new();
    for key in keys {
        let field = &items["properties"][*key];
        if !field.is_object() {
            let detail = "entries must all be names of item properties";
            causes.push(Cause::invalid(below(KEYS), &schema[KEYS], detail));
        } else if matches!(text(field, "type"), "array" | "object") {
            let path = below(&format!("items.properties[{key}].type"));
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            causes.push(Cause::invalid(path, &kind.into(), detail));
        }
        if !seen.insert(key) {
            causes.push(Cause::invalid(below(KEYS), &schema[KEYS], "must not contain duplicate entries"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keywords_that_may_not_be_used_are_named() {
        let field = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        let list = |more: Value| {
            let mut list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}});
            json_patch::merge(&mut list, &more);
            field(list)
        };
        let table = [
            (list(json!({})), vec![]),
            (
                field(json!({"type": "string", "$ref": "#/x"})),
                vec!["s.properties[a].$ref: Forbidden: $ref is not supported"],
            ),
            (
                field(json!({"type": "text"})),
                vec![
                    r#"s.properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#,
                ],
            ),
            (
                list(json!({"x-kubernetes-list-map-keys": null})),
                vec![
                    "s.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
                ],
            ),
            (
                list(json!({"items": {"required": null}})),
                vec![
                    "s.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
                ],
            ),
            (
                field(json!({"type": "string", "x-kubernetes-list-type": "set"})),
                vec![
                    r#"s.properties[a].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified"#,
                ],
            ),
            (
                field(json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"})),
                vec![
                    "s.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
                ],
            ),
            (
                json!({"type": "object", "properties": {"kind": {"type": "string", "default": "K"}}}),
                vec!["s.properties[kind].default: Forbidden: must not be set in top-level kind"],
            ),
        ];
        for (schema, expected) in table {
            let messages = problems(&schema, "s").into_iter().map(|c| format!("{}: {}", c.field, c.message));
            assert_eq!(messages.collect::<Vec<_>>(), expected, "{schema}");
        }
    }
}
