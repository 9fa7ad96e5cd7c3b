//! Validates custom objects by the OpenAPI part of their schema.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::formats::has_format;
use super::rules::PreviousItems;
use super::schema::{Node, Type};
use crate::http::failure::Cause;
use capsize_cel::Pattern;

/// The path of the root of an object in messages.
pub(super) const ROOT: &str = "<nil>";

pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Calls `look` for the field `name` of the value at `path`.
/// The path is one text that grows and shrinks, because few paths are reported.
pub(super) fn at_field(path: &mut String, name: &str, look: impl FnOnce(&mut String)) {
    let length = path.len();
    if length > 0 {
        path.push('.');
    }
    path.push_str(name);
    look(path);
    path.truncate(length);
}

/// The same for an item of a list.
pub(super) fn at_item(path: &mut String, index: usize, look: impl FnOnce(&mut String)) {
    let length = path.len();
    // Writing to a String does not fail.
    let _ = write!(path, "[{index}]");
    look(path);
    path.truncate(length);
}

/// The type of a value in messages.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_pattern(pattern: &Pattern, text: &str, path: &str, causes: &mut Vec<Cause>) {
    let named = pattern.as_str();
    let detail = match pattern.for_text(text) {
        Some(regex) if regex.is_match(text) => return,
        Some(_) => format!("{path} in body should match '{named}'"),
        None => format!("{path} in body is too long to be matched against '{named}'"),
    };
    causes.push(Cause::invalid(path, &text.into(), &detail));
}

/// The problem of more than `most` items.
fn too_many(path: &str, count: u64, most: u64) -> Cause {
    let what = if most == 1 { "item" } else { "items" };
    let message = format!("Too many: {count}: must have at most {most} {what}");
    Cause::new("FieldValueTooMany", path, message)
}

impl Node {
    /// The problems of a value by its schema.
    /// Problems are ignored if the previous value, its `twin`, is equal.
    pub(super) fn validate(
        &self,
        value: &Value,
        twin: Option<&Value>,
        path: &mut String,
        causes: &mut Vec<Cause>,
    ) {
        if value.is_null() && self.nullable {
            return;
        }
        let before = causes.len();
        if let Some(wanted) = self.type_mismatch(value) {
            let shown = Value::from(type_name(value));
            let detail = format!("{path} in body must be of type {wanted}: {shown}");
            causes.push(Cause::new(
                "FieldValueTypeInvalid",
                if path.is_empty() { ROOT } else { path.as_str() },
                format!("Invalid value: {shown}: {detail}"),
            ));
        } else {
            self.check_combinations(value, path, causes);
            match value {
                Value::String(text) => self.check_text(text, path, causes),
                Value::Number(number) => {
                    self.check_number(number.as_f64().unwrap_or_default(), value, path, causes);
                }
                Value::Array(list) => self.check_items(list, twin, path, causes),
                _ => {}
            }
            self.check_enum(value, path, causes);
            if let Value::Object(fields) = value {
                self.check_fields(fields, twin, path, causes);
            }
        }
        if causes.len() > before && twin == Some(value) {
            causes.truncate(before);
        }
    }

    /// The type that the value should have; `None` if it has the right type.
    fn type_mismatch(&self, value: &Value) -> Option<&'static str> {
        if self.int_or_string {
            let fits = value.is_string() || value.is_i64() || value.is_u64();
            return (!fits).then_some("integer,string");
        }
        let wanted = self.kind?;
        let fits = match wanted {
            Type::Object => value.is_object(),
            Type::Array => value.is_array(),
            Type::String => value.is_string(),
            Type::Boolean => value.is_boolean(),
            Type::Number => value.is_number(),
            Type::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        };
        (!fits).then(|| wanted.name())
    }

    fn check_enum(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        let allowed = &self.rules.allowed;
        if !allowed.is_empty() && !allowed.contains(value) {
            let quoted = |value: &Value| match value {
                Value::String(_) => value.to_string(),
                other => format!("{:?}", other.to_string()),
            };
            let allowed: Vec<_> = allowed.iter().map(quoted).collect();
            let message = format!("Unsupported value: {value}: supported values: {}", allowed.join(", "));
            causes.push(Cause::new("FieldValueNotSupported", path, message));
        }
    }

    fn check_fields(
        &self,
        fields: &Map<String, Value>,
        twin: Option<&Value>,
        path: &mut String,
        causes: &mut Vec<Cause>,
    ) {
        let rules = &self.rules;
        let count = fields.len() as u64;
        if let Some(least) = rules.min_properties.filter(|least| count < *least) {
            let detail = format!("{path} in body should have at least {least} properties");
            return causes.push(Cause::invalid(&**path, &count.into(), &detail));
        }
        if let Some(most) = rules.max_properties.filter(|most| count > *most) {
            return causes.push(too_many(path, count, most));
        }
        for (name, value) in fields {
            if let Some(node) = self.properties.get(name).or(self.additional.as_deref()) {
                let twin = twin.and_then(|twin| twin.get(name));
                at_field(path, name, |path| node.validate(value, twin, path, causes));
            }
        }
        for name in rules.required.iter().filter(|name| !fields.contains_key(*name)) {
            causes.push(Cause::required(below(path, name), ""));
        }
    }

    fn check_items(&self, list: &[Value], twin: Option<&Value>, path: &mut String, causes: &mut Vec<Cause>) {
        let rules = &self.rules;
        let twins = PreviousItems::of(self, twin);
        for (index, item) in list.iter().enumerate() {
            if let Some(node) = &self.items {
                let twin = twins.of_item(item, index);
                at_item(path, index, |path| node.validate(item, twin, path, causes));
            }
        }
        let count = list.len() as u64;
        if let Some(least) = rules.min_items.filter(|least| count < *least) {
            let detail = format!("{path} in body should have at least {least} items");
            causes.push(Cause::invalid(&**path, &count.into(), &detail));
        }
        if let Some(most) = rules.max_items.filter(|most| count > *most) {
            causes.push(too_many(path, count, most));
        }
    }

    fn check_text(&self, text: &str, path: &str, causes: &mut Vec<Cause>) {
        let rules = &self.rules;
        let length = text.chars().count() as u64;
        if let Some(most) = rules.max_length.filter(|most| length > *most) {
            let message = format!("Too long: may not be more than {most} bytes");
            causes.push(Cause::new("FieldValueTooLong", path, message));
        } else if let Some(least) = rules.min_length.filter(|least| length < *least) {
            let detail = format!("{path} in body should be at least {least} chars long");
            causes.push(Cause::invalid(path, &text.into(), &detail));
        } else if let Some(pattern) = &rules.pattern {
            check_pattern(pattern, text, path, causes);
        }
        if let Some(format) = rules.format.as_deref().filter(|format| !has_format(text, format)) {
            let detail = format!("{path} in body must be of type {format}: {text:?}");
            let message = format!("Invalid value: {text:?}: {detail}");
            causes.push(Cause::new("FieldValueTypeInvalid", path, message));
        }
    }

    fn check_number(&self, number: f64, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        let rules = &self.rules;
        let mut wrong = |detail: String| causes.push(Cause::invalid(path, value, &detail));
        if let Some(step) = rules.multiple_of.filter(|step| (number / step).fract() != 0.0) {
            wrong(format!("{path} in body should be a multiple of {step}"));
        }
        if let Some(most) = rules.maximum {
            if rules.exclusive_maximum && number >= most {
                wrong(format!("{path} in body should be less than {most}"));
            } else if number > most {
                wrong(format!("{path} in body should be less than or equal to {most}"));
            }
        }
        if let Some(least) = rules.minimum {
            if rules.exclusive_minimum && number <= least {
                wrong(format!("{path} in body should be greater than {least}"));
            } else if number < least {
                wrong(format!("{path} in body should be greater than or equal to {least}"));
            }
        }
    }

    /// Checks combinations of schemas.
    /// If one alternative has to hold, the problems of the first alternative are reported.
    fn check_combinations(&self, value: &Value, path: &mut String, causes: &mut Vec<Cause>) {
        if self.any_of.is_empty() && self.one_of.is_empty() && self.all_of.is_empty() && self.not.is_none() {
            return;
        }
        let place = path.clone();
        let mut tried = |nodes: &[Self]| -> Vec<Vec<Cause>> {
            let try_one = |node: &Self| {
                let mut causes = Vec::new();
                node.validate(value, None, path, &mut causes);
                causes
            };
            nodes.iter().map(try_one).collect()
        };
        let wrong = |rule: &str| Cause::invalid(ROOT, &"".into(), &format!("{place:?} must {rule}"));
        if !self.any_of.is_empty() {
            let mut tried = tried(&self.any_of);
            if tried.iter().all(|causes| !causes.is_empty()) {
                causes.push(wrong("validate at least one schema (anyOf)"));
                causes.append(&mut tried[0]);
            }
        }
        if !self.one_of.is_empty() {
            let mut tried = tried(&self.one_of);
            let valid = tried.iter().filter(|causes| causes.is_empty()).count();
            if valid != 1 {
                let found =
                    if valid == 0 { "none valid".to_owned() } else { format!("{valid} valid alternatives") };
                causes.push(wrong(&format!("validate one and only one schema (oneOf). Found {found}")));
                if valid == 0 {
                    causes.append(&mut tried[0]);
                }
            }
        }
        if !self.all_of.is_empty() {
            let tried = tried(&self.all_of);
            let valid = tried.iter().filter(|causes| causes.is_empty()).count();
            let all = valid == tried.len();
            causes.extend(tried.into_iter().flatten());
            if !all {
                let none = if valid == 0 { ". None validated" } else { "" };
                causes.push(wrong(&format!("validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &self.not
            && tried(std::slice::from_ref(not)).iter().all(Vec::is_empty)
        {
            causes.push(wrong("not validate the schema (not)"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(schema: &Value, value: &Value, twin: Option<&Value>) -> Vec<String> {
        let mut causes = Vec::new();
        Node::read(schema).validate(value, twin, &mut "s".into(), &mut causes);
        causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn values_out_of_bounds_get_the_messages_of_real_servers() {
        let table = [
            (
                json!({"type": "integer", "multipleOf": 5}),
                json!(7),
                "s: Invalid value: 7: s in body should be a multiple of 5",
            ),
            (
                json!({"type": "number", "exclusiveMinimum": true, "minimum": 0}),
                json!(0),
                "s: Invalid value: 0: s in body should be greater than 0",
            ),
            (
                json!({"type": "string", "minLength": 2}),
                json!("a"),
                r#"s: Invalid value: "a": s in body should be at least 2 chars long"#,
            ),
            (
                json!({"type": "string", "pattern": "^b+$"}),
                json!("a"),
                r#"s: Invalid value: "a": s in body should match '^b+$'"#,
            ),
            (
                json!({"type": "array", "maxItems": 1, "items": {"type": "string"}}),
                json!(["a", "b"]),
                "s: Too many: 2: must have at most 1 item",
            ),
            (
                json!({"type": "object", "minProperties": 1}),
                json!({}),
                "s: Invalid value: 0: s in body should have at least 1 properties",
            ),
            (
                json!({"type": "object", "maxProperties": 0}),
                json!({"a": 1}),
                "s: Too many: 1: must have at most 0 items",
            ),
            (
                json!({"type": "integer", "enum": [1, 2]}),
                json!(3),
                r#"s: Unsupported value: 3: supported values: "1", "2""#,
            ),
            (
                json!({"type": "string", "nullable": false}),
                json!(null),
                r#"s: Invalid value: "null": s in body must be of type string: "null""#,
            ),
            (
                json!({"type": "string", "format": "ipv4"}),
                json!("x"),
                r#"s: Invalid value: "x": s in body must be of type ipv4: "x""#,
            ),
        ];
        for (schema, value, expected) in table {
            assert_eq!(messages(&schema, &value, None), [expected], "{schema}");
        }
    }

    #[test]
    fn combinations_report_the_problems_of_the_first_alternative() {
        let schema = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        let none = r#"<nil>: Invalid value: "": "s" must validate one and only one schema (oneOf). Found none valid"#;
        assert_eq!(messages(&schema, &json!({}), None), [none, "s.a: Required value"]);
        let both = r#"<nil>: Invalid value: "": "s" must validate one and only one schema (oneOf). Found 2 valid alternatives"#;
        assert_eq!(messages(&schema, &json!({"a": 1, "b": 1}), None), [both]);
        assert!(messages(&schema, &json!({"a": 1}), None).is_empty());
        let not = json!({"type": "object", "not": {"required": ["a"]}});
        assert_eq!(
            messages(&not, &json!({"a": 1}), None),
            [r#"<nil>: Invalid value: "": "s" must not validate the schema (not)"#]
        );
    }

    #[test]
    fn problems_of_unchanged_values_are_ignored() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "maximum": 1},
            "b": {"type": "string"}, "keyed": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties":
            {"k": {"type": "string"}, "n": {"type": "integer", "maximum": 1}}}}}});
        let old = json!({"a": 9, "b": "x", "keyed": [{"k": "p", "n": 9}]});
        let forgiven = json!({"a": 9, "b": "y", "keyed": [{"k": "q", "n": 1}, {"k": "p", "n": 9}]});
        assert!(messages(&schema, &forgiven, Some(&old)).is_empty());
        let changed = json!({"a": 8, "b": "x", "keyed": [{"k": "p", "n": 8}]});
        assert_eq!(messages(&schema, &changed, Some(&old)).len(), 2);
    }
}
