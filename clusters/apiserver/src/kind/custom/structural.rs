//! Checks that a schema is structural.

use serde_json::{Map, Value, json};

use super::problems::text;
use crate::http::failure::Cause;
use capsize_cel::Pattern;

/// The place of a schema in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Item,
}

/// The sorted structural problems of the schema at `path`.
pub(super) fn problems(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    invariants(schema, Place::Root, path, &mut causes);
    restrictions_are_of_fields(schema, Some(schema), path, path, &mut causes);
    causes.sort_by_cached_key(|cause| format!("{}: {}", cause.field, cause.message));
    causes
}

fn flag(schema: &Value, name: &str) -> bool {
    schema[name].as_bool().unwrap_or(false)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn invariants(schema: &Value, place: Place, path: &str, causes: &mut Vec<Cause>) {
    let below = |name: &str| format!("{path}.{name}");
    let field = |name: &str| format!("{path}.properties[{name}]");
    let kind = text(schema, "type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let preserves = flag(schema, "x-kubernetes-preserve-unknown-fields");
    if kind == "array" && !schema["items"].is_object() {
        causes.push(Cause::required(below("items"), "must be specified"));
    }
    if schema["items"].is_object() {
        invariants(&schema["items"], Place::Item, &below("items"), causes);
    }
    for (name, below) in properties(schema) {
        invariants(below, Place::Field, &field(name), causes);
    }
    let additional = &schema["additionalProperties"];
    if !additional.is_null() && place == Place::Root {
        causes.push(Cause::forbidden(below("additionalProperties"), "must not be used at the root"));
    }
    if additional.is_object() {
        invariants(additional, Place::Field, &below("additionalProperties"), causes);
    }
    extensions(schema, path, causes);
    restrictions(schema, path, causes);
    kind_is_given(schema, place, path, causes);
    if embedded && !additional.is_null() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(Cause::forbidden(below("additionalProperties"), detail));
    }
    if place == Place::Root || embedded {
        for name in ["kind", "apiVersion"] {
            let schema = &schema["properties"][name];
            if schema.is_object() && text(schema, "type") != "string" {
                let path = format!("{}.type", field(name));
                causes.push(Cause::invalid(path, &text(schema, "type").into(), "must be string"));
            }
        }
        let metadata = &schema["properties"]["metadata"];
        if metadata.is_object() && text(metadata, "type") != "object" {
            let path = format!("{}.type", field("metadata"));
            causes.push(Cause::invalid(path, &text(metadata, "type").into(), "must be object"));
        }
    }
    if place == Place::Root {
        only_names(&schema["properties"]["metadata"], &field("metadata"), causes);
    }
    if embedded && !preserves && properties(schema).next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(below("properties"), detail));
    }
}

fn kind_is_given(schema: &Value, place: Place, path: &str, causes: &mut Vec<Cause>) {
    let field = format!("{path}.type");
    let kind = text(schema, "type");
    let free =
        flag(schema, "x-kubernetes-int-or-string") || flag(schema, "x-kubernetes-preserve-unknown-fields");
    if flag(schema, "x-kubernetes-embedded-resource") && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(match kind {
            "" => Cause::required(field, detail),
            kind => Cause::invalid(field, &kind.into(), detail),
        });
    } else if kind.is_empty() && !free {
        let detail = match place {
            Place::Root => "must not be empty at the root",
            Place::Field => "must not be empty for specified object fields",
            Place::Item => "must not be empty for specified array items",
        };
        causes.push(Cause::required(field, detail));
    }
    if place == Place::Root && !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(format!("{path}.type"), &kind.into(), "must be object at the root"));
    }
}

/// Checks that the schema of the metadata at the root restricts names only.
fn only_names(metadata: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(fields) = metadata.as_object() else { return };
    let restricts = fields.iter().any(|(name, value)| match name.as_str() {
        "properties" => properties(metadata).any(|(name, _)| name != "name" && name != "generateName"),
        "type" | "default" => false,
        _ => !is_zero(value),
    });
    if restricts {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        causes.push(Cause::forbidden(path, detail));
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn extensions(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if flag(schema, name) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            causes.push(Cause::invalid(format!("{path}.{name}"), &true.into(), detail));
        }
    }
}

/// Checks that restrictions do not describe types.
/// The restrictions are `allOf`, `anyOf`, `oneOf` and `not`. The two forms of `x-kubernetes-int-or-string` are
/// exceptions.
fn restrictions(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let int_or_string = json!([{"type": "integer"}, {"type": "string"}]);
    let parts = |name: &str| schema[name].as_array().cloned().unwrap_or_default();
    if schema["anyOf"] != int_or_string {
        for (index, part) in parts("anyOf").iter().enumerate() {
            restriction(part, false, &format!("{path}.anyOf[{index}]"), causes);
        }
    }
    for (index, part) in parts("allOf").iter().enumerate() {
        let known = index == 0 && part["anyOf"] == int_or_string;
        restriction(part, known, &format!("{path}.allOf[{index}]"), causes);
    }
    for (index, part) in parts("oneOf").iter().enumerate() {
        restriction(part, false, &format!("{path}.oneOf[{index}]"), causes);
    }
    if schema["not"].is_object() {
        restriction(&schema["not"], false, &format!("{path}.not"), causes);
    }
    let pattern = text(schema, "pattern");
    if let Err(error) = Pattern::read(pattern) {
        let error = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let detail = format!("must be a valid regular expression, but isn't: error parsing regexp: {error}");
        causes.push(Cause::invalid(format!("{path}.pattern"), &pattern.into(), &detail));
    }
}

fn restriction(part: &Value, int_or_string: bool, path: &str, causes: &mut Vec<Cause>) {
    const FORBIDDEN: [(&str, &str); 13] = [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("externalDocs", "must be undefined to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
    ];
    let mut inner = part.clone();
    if int_or_string {
        inner.as_object_mut().and_then(|fields| fields.remove("anyOf"));
    }
    restrictions(&inner, path, causes);
    if part["items"].is_object() {
        restriction(&part["items"], false, &format!("{path}.items"), causes);
    }
    for (name, field) in properties(part) {
        restriction(field, false, &format!("{path}.properties[{name}]"), causes);
    }
    for (name, detail) in FORBIDDEN.iter().filter(|(name, _)| !is_zero(&part[*name])) {
        causes.push(Cause::forbidden(format!("{path}.{name}"), detail));
    }
    if !is_zero(&part["x-kubernetes-validations"]) {
        let path = format!("{path}.x-kubernetes-validations");
        causes.push(Cause::forbidden(path, "must be empty to be structural"));
    }
    if part["properties"]["metadata"].is_object() {
        let path = format!("{path}.properties[metadata]");
        causes.push(Cause::forbidden(path, "must not be specified in a nested context"));
    }
}

/// Checks that every field in a restriction at the root is a field of the schema.
/// `at` is the path of `schema`, and `by` is the path of the restriction.
fn restrictions_are_of_fields(
    restriction: &Value,
    schema: Option<&Value>,
    at: &str,
    by: &str,
    causes: &mut Vec<Cause>,
) {
    let parts = ["not", "allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| match &restriction[name] {
        part @ Value::Object(_) => vec![(part, format!("{by}.{name}"))],
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.map(|(index, part)| (part, format!("{by}.{name}[{index}]"))).collect()
        }
        _ => Vec::new(),
    });
    for (part, by) in parts {
        part_is_of_fields(part, schema, at, &by, causes);
    }
}

fn part_is_of_fields(part: &Value, schema: Option<&Value>, at: &str, by: &str, causes: &mut Vec<Cause>) {
    let Some(schema) = schema else {
        return causes.push(Cause::required(at, &format!("because it is defined in {by}")));
    };
    restrictions_are_of_fields(part, Some(schema), at, by, causes);
    if part["items"].is_object() {
        let items = schema.get("items").filter(|items| items.is_object());
        part_is_of_fields(&part["items"], items, &format!("{at}.items"), &format!("{by}.items"), causes);
    }
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    for (name, field) in properties(part) {
        let (at, by) = (format!("{at}.properties[{name}]"), format!("{by}.properties[{name}]"));
        part_is_of_fields(field, known.get(name), &at, &by, causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structural_problems_are_named() {
        let field = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        let table = [
            (json!({"type": "object"}), vec![]),
            (
                json!({"properties": {"spec": {}}}),
                vec![
                    "s.properties[spec].type: Required value: must not be empty for specified object fields",
                    "s.type: Required value: must not be empty at the root",
                ],
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                vec![r#"s.type: Invalid value: "array": must be object at the root"#],
            ),
            (
                field(json!({"type": "array"})),
                vec!["s.properties[a].items: Required value: must be specified"],
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                vec!["s.additionalProperties: Forbidden: must not be used at the root"],
            ),
            (
                json!({"type": "object", "anyOf": [{"type": "object", "properties": {"b": {}}}]}),
                vec![
                    "s.anyOf[0].type: Forbidden: must be empty to be structural",
                    "s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]",
                ],
            ),
            (
                field(
                    json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
                ),
                vec![],
            ),
            (
                field(
                    json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]},
                    {"pattern": "a"}]}),
                ),
                vec![],
            ),
            (
                json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
                vec![
                    "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
                ],
            ),
            (
                field(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
                vec![
                    "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
                ],
            ),
        ];
        for (schema, expected) in table {
            let messages = problems(&schema, "s").into_iter().map(|c| format!("{}: {}", c.field, c.message));
            assert_eq!(messages.collect::<Vec<_>>(), expected, "{schema}");
        }
        assert_eq!(
            problems(&field(json!({"type": "string", "pattern": "("})), "s")[0].field,
            "s.properties[a].pattern"
        );
    }
}
