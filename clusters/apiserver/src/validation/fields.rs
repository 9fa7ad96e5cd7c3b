//! Field validation: unknown fields, and values of the wrong type.

use serde_json::{Value, json};

use crate::http::failure::{Cause, Failure};
use crate::kind::kinds::Kind;
use crate::kind::types::{self, Problem};

/// The treatment of unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Ignore,
    Warn,
    Strict,
}

impl Mode {
    /// Reads the query parameter; the default is `Warn`. `options` is the kind that errors name.
    ///
    /// # Errors
    /// Invalid if the parameter has another value.
    pub(crate) fn read(value: &str, options: &str) -> Result<Self, Failure> {
        match value {
            "Ignore" => Ok(Self::Ignore),
            "" | "Warn" => Ok(Self::Warn),
            "Strict" => Ok(Self::Strict),
            other => {
                let allowed = ["Ignore", "Strict", "Warn"];
                let cause = Cause::unsupported("fieldValidation", &other.into(), &allowed);
                Err(Failure::invalid_options(options, &[cause]))
            }
        }
    }
}

/// Drops the unknown fields of an object, and returns a message about each.
///
/// # Errors
/// A bad request if a value has the wrong type.
pub(crate) fn unknown_fields(
    kind: &Kind,
    subresource: &str,
    object: &mut Value,
) -> Result<Vec<String>, Failure> {
    let unknown =
        unknown_paths(kind, subresource, object, &Value::Null).map_err(|problem| unfit(kind, &problem))?;
    Ok(unknown_messages(&unknown))
}

/// The failure for an object with a value of the wrong type.
pub(crate) fn unfit(kind: &Kind, problem: &Problem) -> Failure {
    let (kind, version, why) = (&kind.kind, &kind.version, &problem.decoding);
    Failure::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

/// As [`unknown_fields`] for an object that replaces `old`, but returns a wrong type as a `Problem`.
///
/// # Errors
/// If a value has the wrong type.
pub(crate) fn read(
    kind: &Kind,
    subresource: &str,
    object: &mut Value,
    old: &Value,
) -> Result<Vec<String>, Problem> {
    Ok(unknown_messages(&unknown_paths(kind, subresource, object, old)?))
}

fn unknown_messages(unknown: &[String]) -> Vec<String> {
    unknown.iter().map(|path| format!("unknown field {path:?}")).collect()
}

/// Drops the unknown fields of an object, and returns their paths.
/// For built-in kinds, fields that are equal in `old` are not checked again.
///
/// # Errors
/// If a value has the wrong type.
pub(crate) fn unknown_paths(
    kind: &Kind,
    subresource: &str,
    object: &mut Value,
    old: &Value,
) -> Result<Vec<String>, Problem> {
    if subresource == "status" && !kind.is_custom() {
        // The other fields are restored anyway, and status writes are the most frequent writes.
        let mut part = json!({"status": object.get_mut("status").map(Value::take)});
        let messages = unknown_paths(kind, "", &mut part, old)?;
        if let Some(status) = part.get_mut("status") {
            object["status"] = status.take();
        }
        return Ok(messages);
    }
    let mut unknown = Vec::new();
    match (&kind.schema, types::find(&kind.group, &kind.version, &kind.kind)) {
        (Some(schema), _) => schema.root.prune_object(object, &mut String::new(), &mut unknown),
        (None, Some(of)) => unknown = types::check_changed(of, object, old)?,
        (None, None) => {}
    }
    Ok(unknown)
}

/// The problem of metadata with a wrong type.
/// The rest of the server relies on the type of the metadata.
pub(crate) fn metadata_problem(kind: &Kind, object: &Value) -> Option<Problem> {
    if kind.is_custom() {
        // Custom objects are maps; only their metadata has a type.
        let of = types::find("meta", "v1", "ObjectMeta")?;
        return types::check(of, &mut object["metadata"].clone()).err();
    }
    let of = types::find(&kind.group, &kind.version, &kind.kind)?;
    types::check(of, &mut object.clone()).err()
}

/// Decides about the messages of a strict reader, and returns the warnings.
///
/// # Errors
/// A bad request if the mode is strict.
pub(crate) fn apply_mode(kind: &Kind, mode: Mode, messages: Vec<String>) -> Result<Vec<String>, Failure> {
    match mode {
        _ if messages.is_empty() => Ok(messages),
        Mode::Ignore => Ok(Vec::new()),
        Mode::Warn => Ok(messages),
        Mode::Strict => {
            let (kind, version, messages) = (&kind.kind, &kind.version, strict_message(messages));
            Err(Failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: {messages}"
            )))
        }
    }
}

/// The messages of a strict reader as one message.
pub(crate) fn strict_message(messages: Vec<String>) -> String {
    let (keys, fields): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|messages| messages.starts_with("line "));
    // Duplicate keys in YAML have the form of the YAML reader.
    let keys = keys.into_iter().map(|key| format!("yaml: unmarshal errors:\n  {key}"));
    format!("strict decoding error: {}", keys.chain(fields).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;

    #[test]
    fn unknown_fields_of_built_in_kinds_are_dropped_and_reported() {
        let kind = builtin("apps", "v1", "deployments");
        let mut object = json!({"spec": {"replicas": 1, "junk": 2, "template": {"spec": {"containers":
            [{"name": "a", "imagee": "x"}]}}}});
        let warnings = apply_mode(kind, Mode::Warn, unknown_fields(kind, "", &mut object).unwrap()).unwrap();
        let expected =
            [r#"unknown field "spec.junk""#, r#"unknown field "spec.template.spec.containers[0].imagee""#];
        assert_eq!(warnings, expected);
        assert_eq!(
            object,
            json!({"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a"}]}}}})
        );
        let mut pod = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 2}}}]}});
        assert!(unknown_fields(builtin("", "v1", "pods"), "", &mut pod).unwrap().is_empty());
        assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"], "2");
        let junk = unknown_fields(kind, "", &mut json!({"junk": 1})).unwrap();
        assert!(apply_mode(kind, Mode::Strict, junk).is_err());
        assert!(unknown_fields(kind, "", &mut json!({"spec": {"replicas": "two"}})).is_err());
    }
}
