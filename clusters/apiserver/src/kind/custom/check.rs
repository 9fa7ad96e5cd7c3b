//! All checks of a custom object, in the order of a real server.

use capsize_sorted::CollectSorted;
use serde_json::Value;

use super::cel_values::go_type;
use super::rules::{self, ValidationResult};
use super::schema::{ListType, Node, Schema};
use super::validate::{ROOT, below};
use crate::http::failure::Cause;
use crate::kind::kinds::{Kind, ScalePaths};
use crate::store::encoded::Part;

/// The problems after which rules are not evaluated.
const BLOCKING: [&str; 5] = [
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
    "FieldValueNotSupported",
];

/// The problems of a custom object; `old` is the object that it replaces.
pub(crate) fn check_object(
    kind: &Kind,
    schema: &Schema,
    object: &Value,
    old: Option<&Value>,
) -> ValidationResult {
    let mut causes = Vec::new();
    let root = &schema.root;
    root.validate(object, old, &mut String::new(), &mut causes);
    if let Some(scale) = &kind.scale {
        check_scale(scale, object, &mut causes);
    }
    if root.has_embedded {
        root.check_embedded(object, "", &mut causes);
    }
    // Lists that already had duplicates may keep them.
    let duplicates = |object: &Value| {
        let mut causes = Vec::new();
        root.check_lists(object, "", &mut causes);
        causes
    };
    let found = duplicates(object);
    if !found.is_empty() && old.is_none_or(|old| duplicates(old).is_empty()) {
        causes.extend(found);
    }
    let Some(environment) = &schema.environment else {
        return ValidationResult { causes, warnings: Vec::new() };
    };
    if causes.iter().any(|cause| BLOCKING.contains(&cause.reason)) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        causes.push(Cause::invalid(ROOT, &Value::Null, detail));
        return ValidationResult { causes, warnings: Vec::new() };
    }
    let mut found = rules::broken(environment, root, object, old);
    causes.append(&mut found.causes);
    ValidationResult { causes, ..found }
}

/// The problems of the status of a custom object by its schema, without regard to the previous status.
pub(crate) fn check_status(schema: &Node, status: &Value) -> Vec<Cause> {
    let (path, mut causes) = (Part::Status.name(), Vec::new());
    schema.validate(status, None, &mut path.to_owned(), &mut causes);
    if schema.has_embedded {
        schema.check_embedded(status, path, &mut causes);
    }
    schema.check_lists(status, path, &mut causes);
    causes
}

/// Checks that the fields that `/scale` reads are numbers and texts.
fn check_scale(scale: &ScalePaths, object: &Value, causes: &mut Vec<Cause>) {
    let dotted = |path: &[String]| format!(".{}", path.join("."));
    let found = |path: &[String], wanted: &str| -> Result<Option<&Value>, String> {
        let mut value = object;
        for (depth, step) in path.iter().enumerate() {
            let next = match value {
                Value::Object(fields) => fields.get(step),
                other => {
                    let at = dotted(&path[..depth]);
                    let shown = shown(other);
                    let of = go_type(other);
                    return Err(format!(
                        "{at} accessor error: {shown} is of the type {of}, expected map[string]interface{{}}"
                    ));
                }
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
        }
        let fits = if wanted == "string" { value.is_string() } else { value.is_i64() };
        let (at, shown, of) = (dotted(path), shown(value), go_type(value));
        if fits {
            return Ok(Some(value));
        }
        Err(format!("{at} accessor error: {shown} is of the type {of}, expected {wanted}"))
    };
    let mut number = |path: &[String]| {
        let wrong = |shown: i64, detail: &str| Cause::invalid(dotted(path), &shown.into(), detail);
        let found = found(path, "int64").map(|value| value.and_then(Value::as_i64).unwrap_or_default());
        causes.extend(match found {
            Err(error) => Some(wrong(0, &error)),
            Ok(number) if number < 0 => Some(wrong(number, "should be a non-negative integer")),
            Ok(number) if number > i64::from(i32::MAX) => {
                Some(wrong(number, "should be less than or equal to 2147483647"))
            }
            Ok(_) => None,
        });
    };
    number(&scale.spec_replicas);
    number(&scale.status_replicas);
    if let Some(path) = &scale.selector
        && let Err(error) = found(path, "string")
    {
        causes.push(Cause::invalid(dotted(path), &"".into(), &error));
    }
}

/// A value as Go prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".into(),
        Value::Number(number) => {
            number.as_f64().filter(|_| number.is_f64()).map_or_else(|| number.to_string(), |n| n.to_string())
        }
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}:{}", shown(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Bool(flag) => flag.to_string(),
    }
}

impl Node {
    /// The parts of a value that have schemas, with their paths.
    fn parts<'a>(
        &'a self,
        value: &'a Value,
        path: &'a str,
    ) -> impl Iterator<Item = (&'a Self, &'a Value, String)> {
        let fields = value.as_object().into_iter().flatten().filter_map(move |(name, value)| {
            let node = self.properties.get(name).or(self.additional.as_deref())?;
            Some((node, value, below(path, name)))
        });
        let items = value.as_array().into_iter().flatten().enumerate().filter_map(move |(index, value)| {
            Some((self.items.as_deref()?, value, format!("{path}[{index}]")))
        });
        fields.chain(items)
    }

    /// Checks that the items of sets and keyed lists are unique.
    fn check_lists(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        if !self.has_keyed_lists {
            return;
        }
        let key = |item: &Value| match &self.list {
            ListType::Atomic => None,
            ListType::Set => Some(item.clone()),
            ListType::Map(keys) => {
                let present = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
                Some(Value::Object(present.collect_sorted()))
            }
        };
        let keys: Vec<_> = value.as_array().into_iter().flatten().map_while(key).collect();
        let mut seen = std::collections::BTreeSet::new();
        for (index, key) in keys.iter().enumerate() {
            if !seen.insert(key.to_string()) {
                let path = format!("{path}[{index}]");
                causes.push(Cause::new("FieldValueDuplicate", path, format!("Duplicate value: {key}")));
            }
        }
        for (node, value, path) in self.parts(value, path) {
            node.check_lists(value, &path, causes);
        }
    }

    /// Checks that embedded objects have a type.
    fn check_embedded(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        if self.embedded_resource && value.is_object() {
            for field in ["apiVersion", "kind"] {
                let path = below(path, field);
                match value.get(field) {
                    None => causes.push(Cause::required(path, "must not be empty")),
                    Some(Value::String(text)) if text.is_empty() => {
                        causes.push(Cause::invalid(path, &"".into(), "must not be empty"));
                    }
                    Some(Value::String(_)) => {}
                    Some(other) => causes.push(Cause::invalid(path, other, "must be a string")),
                }
            }
        }
        for (node, value, path) in self.parts(value, path) {
            node.check_embedded(value, &path, causes);
        }
    }
}
