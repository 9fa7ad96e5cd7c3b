//! Checks JSON of a built-in kind against its type, and converts it into the form that Go writes.

use std::fmt;

use serde_json::Value;

use super::own::{canonicalize, check_base64, json_type_name};
use super::table::{self, Field, Own, Shape, Struct, Type, in_messages};

/// The messages of Go for a value that does not have the type of its field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The message for decoding JSON.
    pub decoding: String,
    /// The message for converting a map into a struct.
    pub converting: String,
}

impl From<String> for Problem {
    /// The message of a type with its own reader, which is the same in both cases.
    fn from(explanation: String) -> Self {
        Self { converting: explanation.clone(), decoding: explanation }
    }
}

/// The place of a value: a step, and the place of the enclosing value.
#[derive(Clone, Copy)]
struct At<'a> {
    before: Option<&'a At<'a>>,
    step: Step<'a>,
    /// The struct that has the field.
    owner: Option<&'static Struct>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl fmt::Display for At<'_> {
    /// The path with indices and keys, as in messages about unknown fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = self.before {
            before.fmt(f)?;
        }
        match self.step {
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Field(name) | Step::Key(name) if self.before.is_some() => write!(f, ".{name}"),
            Step::Field(name) | Step::Key(name) => f.write_str(name),
        }
    }
}

/// The names of the fields on the path, without indices and keys, as in messages about wrong types.
fn fields_of(at: &At<'_>) -> String {
    let before = at.before.map(fields_of).unwrap_or_default();
    match at.step {
        Step::Field(name) if before.is_empty() => name.to_owned(),
        Step::Field(name) => format!("{before}.{name}"),
        _ => before,
    }
}

/// Checks an object, and drops unknown fields and values that Go omits.
/// Returns the paths of the unknown fields.
///
/// # Errors
/// The first value that does not have the type of its field.
pub(crate) fn check(of: &'static Struct, object: &mut Value) -> Result<Vec<String>, Problem> {
    check_changed(of, object, &Value::Null)
}

/// As [`check`], but skips the fields that are equal in `old`, which was checked before.
/// Most changes affect few fields.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_changed(
    of: &'static Struct,
    object: &mut Value,
    old: &Value,
) -> Result<Vec<String>, Problem> {
    let mut unknown = Vec::new();
    if !object.is_object() {
        let shown = format!("{}.{}", of.name.rsplit(['/', '.']).nth(1).unwrap_or_default(), of.short_name());
        let explanation =
            format!("json: cannot unmarshal {} into Go value of type {shown}", json_type_name(object));
        return Err(explanation.into());
    }
    fields(of, object, old, None, &mut unknown)?;
    Ok(unknown)
}

fn fields(
    of: &'static Struct,
    object: &mut Value,
    old: &Value,
    before: Option<&At<'_>>,
    unknown: &mut Vec<String>,
) -> Result<(), Problem> {
    let Some(map) = object.as_object_mut() else { return Ok(()) };
    let mut gone = Vec::new();
    for (name, value) in map.iter_mut() {
        if old.get(name) == Some(value) {
            continue;
        }
        let at = At { before, step: Step::Field(name), owner: Some(of) };
        let Some(field) = of.named(name) else {
            unknown.push(at.to_string());
            gone.push(name.clone());
            continue;
        };
        check_value(&field.of, value, &at, unknown)?;
        if value.is_null() || is_left_out(field, value) {
            gone.push(name.clone());
        }
    }
    // Most objects have nothing to remove, so this is faster than `retain`.
    for name in gone {
        map.remove(&name);
    }
    Ok(())
}

/// Returns true if Go omits a value when it writes the object.
pub(super) fn is_left_out(field: &Field, value: &Value) -> bool {
    if !field.omit_empty || field.pointer {
        return false;
    }
    match (&field.of.shape, value) {
        (Shape::Struct(_) | Shape::Own(_), _) => false,
        (_, Value::Bool(set)) => !set,
        (_, Value::Number(number)) => number.as_f64() == Some(0.0),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(map)) => map.is_empty(),
        (_, Value::Null) => true,
    }
}

fn check_value(of: &Type, value: &mut Value, at: &At<'_>, unknown: &mut Vec<String>) -> Result<(), Problem> {
    if value.is_null() {
        return Ok(());
    }
    match (&of.shape, &mut *value) {
        (Shape::Struct(index), Value::Object(_)) => {
            fields(table::at(*index), value, &Value::Null, Some(at), unknown)
        }
        (Shape::List(items) | Shape::Wrapped(items), Value::Array(list)) => {
            list.iter_mut().enumerate().try_for_each(|(index, item)| {
                let at = At { before: Some(at), step: Step::Index(index), owner: at.owner };
                check_value(items, item, &at, unknown)
            })
        }
        (Shape::Map(values), Value::Object(map)) => map.iter_mut().try_for_each(|(key, value)| {
            if value.is_null() && values.shape == Shape::Text {
                *value = "".into();
            }
            let at = At { before: Some(at), step: Step::Key(key), owner: at.owner };
            check_value(values, value, &at, unknown)
        }),
        (Shape::Text, Value::String(_))
        | (Shape::Bool, Value::Bool(_))
        | (Shape::Float, Value::Number(_)) => Ok(()),
        (Shape::Int32, Value::Number(number))
            if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
        {
            Ok(())
        }
        (Shape::Int64, Value::Number(number)) if number.as_i64().is_some() => Ok(()),
        (Shape::Bytes, Value::String(text)) => check_base64(text).map_err(Problem::from),
        (Shape::Own(own @ (Own::SchemaOrArray | Own::SchemaOrBool | Own::SchemaOrStrings)), _) => {
            schema(*own, value, at, unknown)
        }
        (Shape::Own(own), _) => canonicalize(*own, value).map_err(Problem::from),
        _ => Err(mismatch(of, value, at)),
    }
}

/// Checks a schema, or a value that is allowed in place of a schema.
fn schema(own: Own, value: &mut Value, at: &At<'_>, unknown: &mut Vec<String>) -> Result<(), Problem> {
    match (own, &mut *value) {
        (_, Value::Object(_)) => fields(table::schema(), value, &Value::Null, Some(at), unknown),
        (Own::SchemaOrArray, Value::Array(list)) => {
            list.iter_mut().enumerate().try_for_each(|(index, item)| {
                let at = At { before: Some(at), step: Step::Index(index), owner: at.owner };
                fields(table::schema(), item, &Value::Null, Some(&at), unknown)
            })
        }
        (Own::SchemaOrBool, Value::Bool(_)) => Ok(()),
        (Own::SchemaOrStrings, Value::Array(list)) if list.iter().all(Value::is_string) => Ok(()),
        (Own::SchemaOrBool, _) => Err("boolean or JSON schema expected".to_owned().into()),
        _ => {
            let shown = json_type_name(value);
            Err(format!("json: cannot unmarshal {shown} into Go value of type v1.JSONSchemaProps").into())
        }
    }
}

fn mismatch(of: &Type, value: &Value, at: &At<'_>) -> Problem {
    let shown = match (&of.shape, value) {
        (Shape::Int32 | Shape::Int64, Value::Number(number)) => format!("number {number}"),
        (_, value) => json_type_name(value).to_owned(),
    };
    let owner = at.owner.map(Struct::short_name).unwrap_or_default();
    let (path, go) = (fields_of(at), in_messages(of.go));
    Problem {
        converting: unconvertible(of, value, &go),
        decoding: format!("json: cannot unmarshal {shown} into Go struct field {owner}.{path} of type {go}"),
    }
}

/// The message for a value that cannot be converted to the Go type `go`.
fn unconvertible(of: &Type, value: &Value, go: &str) -> String {
    let given = match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    };
    match (&of.shape, value) {
        (Shape::Struct(_), _) => format!("cannot restore struct from: {given}"),
        (Shape::Map(_), _) => format!("cannot restore map from {given}"),
        (Shape::List(_) | Shape::Wrapped(_) | Shape::Bytes, _) => {
            format!("cannot restore slice from {given}")
        }
        (Shape::Text, Value::Number(number)) if number.is_i64() => format!("cannot convert {given} to {go}"),
        (Shape::Int32 | Shape::Int64, Value::Number(_)) => format!("cannot convert {given} to {go}"),
        (Shape::Text, _) => "unrecognized type: string".to_owned(),
        (Shape::Bool, _) => "unrecognized type: bool".to_owned(),
        (Shape::Int32, _) => "unrecognized type: int32".to_owned(),
        (Shape::Int64, _) => "unrecognized type: int64".to_owned(),
        _ => format!("unrecognized type: {go}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn checked(kind: (&str, &str, &str), mut object: Value) -> (Value, Vec<String>) {
        let of = table::find(kind.0, kind.1, kind.2).unwrap();
        let unknown = check(of, &mut object).unwrap();
        (object, unknown)
    }

    fn refused(kind: (&str, &str, &str), mut object: Value) -> String {
        check(table::find(kind.0, kind.1, kind.2).unwrap(), &mut object).unwrap_err().decoding
    }

    const POD: (&str, &str, &str) = ("", "v1", "Pod");
    const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");

    #[test]
    fn unknown_fields_are_reported_by_their_paths() {
        let (object, unknown) = checked(
            DEPLOYMENT,
            json!({"spec": {"Replicas": 1, "template": {"spec": {"containers": [{"name": "a", "imagee": 1}]}}}}),
        );
        assert_eq!(unknown, ["spec.Replicas", "spec.template.spec.containers[0].imagee"]);
        assert_eq!(object, json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}));
    }

    #[test]
    fn values_that_go_omits_are_omitted() {
        let spec = json!({"hostNetwork": false, "nodeSelector": {}, "enableServiceLinks": false, "priority": 0,
            "containers": [{"name": "", "args": [], "stdin": false, "resources": {"limits": {"cpu": 2}}}],
            "volumes": [{"name": "v", "emptyDir": {}}], "tolerations": null});
        let (object, unknown) = checked(POD, json!({"metadata": {"labels": {"a": null}}, "spec": spec}));
        assert!(unknown.is_empty());
        let spec = json!({"enableServiceLinks": false, "priority": 0,
            "containers": [{"name": "", "resources": {"limits": {"cpu": "2"}}}],
            "volumes": [{"name": "v", "emptyDir": {}}]});
        assert_eq!(object, json!({"metadata": {"labels": {"a": ""}}, "spec": spec}));
    }

    #[test]
    fn a_value_of_the_wrong_type_gets_the_message_of_go() {
        let table = [
            (
                json!({"spec": {"replicas": "two"}}),
                "string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (json!({"spec": {"replicas": 3_000_000_000_u64}}), "number 3000000000 into Go struct field"),
            (json!({"spec": []}), "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
            (
                json!({"spec": {"template": {"spec": {"containers": [{"env": [{"value": 1}]}]}}}}),
                "number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string",
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                "number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": {}}}}}),
                "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
            ),
        ];
        for (object, expected) in table {
            let explanation = refused(DEPLOYMENT, object);
            assert!(explanation.starts_with("json: cannot unmarshal "), "{explanation}");
            assert!(explanation.contains(expected), "{explanation}");
        }
        assert_eq!(refused(POD, json!([])), "json: cannot unmarshal array into Go value of type v1.Pod");
    }

    #[test]
    fn unchanged_fields_are_not_checked_again() {
        let of = table::find("apps", "v1", "Deployment").unwrap();
        let old = json!({"metadata": {"junk": 1}, "spec": {"replicas": 1}});
        let mut object = json!({"metadata": {"junk": 1}, "spec": {"replicas": 2, "junk": 1}});
        assert_eq!(check_changed(of, &mut object, &old), Ok(vec!["spec.junk".to_owned()]));
        assert_eq!(object, json!({"metadata": {"junk": 1}, "spec": {"replicas": 2}}));
    }

    #[test]
    fn schemas_can_contain_schemas() {
        let of = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let with = |schema: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let deep = json!({"properties": {"a": {"items": {"additionalProperties": {"junk": 1}}}, "b": {"additionalProperties": true}}});
        let (_, unknown) = checked(of, with(deep));
        let path = "spec.versions[0].schema.openAPIV3Schema.properties.a.items.additionalProperties.junk";
        assert_eq!(unknown, [path]);
        assert!(refused(of, with(json!({"additionalProperties": 1}))).contains("boolean or JSON schema"));
    }
}
