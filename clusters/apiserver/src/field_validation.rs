//! Fields that a kind does not have, and values of the wrong type, in what clients send.

use serde_json::{Value, json};

use crate::failure::{Cause, Failure};
use crate::kinds::Kind;
use crate::types;

/// What is done about unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Ignore,
    Warn,
    Strict,
}

impl Mode {
    /// Reads the query parameter; not given, it is to warn. `options` is the kind it is told of.
    ///
    /// # Errors
    /// Invalid where it has another value.
    pub(crate) fn read(value: &str, options: &str) -> Result<Self, Failure> {
        match value {
            "Ignore" => Ok(Self::Ignore),
            "" | "Warn" => Ok(Self::Warn),
            "Strict" => Ok(Self::Strict),
            other => {
                let allowed = ["Ignore", "Strict", "Warn"];
                Err(Failure::invalid_options(
                    options,
                    &Cause::unsupported("fieldValidation", &other.into(), &allowed),
                ))
            }
        }
    }
}

/// Drops the unknown fields of an object, and gives back what the client is to be warned of.
///
/// # Errors
/// A bad request where a value has the wrong type, or where unknown fields are refused.
pub(crate) fn check(
    kind: &Kind,
    mode: Mode,
    subresource: &str,
    object: &mut Value,
) -> Result<Vec<String>, Failure> {
    let told = unknown_fields(kind, subresource, object)?;
    judge(kind, mode, told)
}

/// Drops the unknown fields of an object, and tells of each.
///
/// # Errors
/// A bad request where a value has the wrong type.
pub(crate) fn unknown_fields(
    kind: &Kind,
    subresource: &str,
    object: &mut Value,
) -> Result<Vec<String>, Failure> {
    if subresource == "status" && !kind.is_custom() {
        // The rest is put back anyway, and status writes are the most frequent of all.
        let mut part = json!({"status": object.get_mut("status").map(Value::take)});
        let told = unknown_fields(kind, "", &mut part)?;
        if let Some(status) = part.get_mut("status") {
            object["status"] = status.take();
        }
        return Ok(told);
    }
    let mut unknown = Vec::new();
    match (&kind.schema, types::find(&kind.group, &kind.version, &kind.kind)) {
        (Some(schema), _) => schema.root.prune_object(object, &mut String::new(), &mut unknown),
        (None, Some(of)) => {
            unknown = types::check(of, object).map_err(|problem| {
                let (kind, version) = (&kind.kind, &kind.version);
                Failure::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: {}",
                    problem.0
                ))
            })?;
        }
        (None, None) => {}
    }
    Ok(unknown.iter().map(|path| format!("unknown field {path:?}")).collect())
}

/// What is done about what a strict reader tells: the warnings come back.
///
/// # Errors
/// A bad request where it is refused.
pub(crate) fn judge(kind: &Kind, mode: Mode, told: Vec<String>) -> Result<Vec<String>, Failure> {
    match mode {
        _ if told.is_empty() => Ok(told),
        Mode::Ignore => Ok(Vec::new()),
        Mode::Warn => Ok(told),
        Mode::Strict => {
            let (kind, version) = (&kind.kind, &kind.version);
            let (keys, fields): (Vec<_>, Vec<_>) =
                told.into_iter().partition(|told| told.starts_with("line "));
            // What YAML gives twice is told in the form of its own reader.
            let keys = keys.into_iter().map(|key| format!("yaml: unmarshal errors:\n  {key}"));
            let told = keys.chain(fields).collect::<Vec<_>>().join(", ");
            Err(Failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {told}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;

    #[test]
    fn unknown_fields_of_built_in_kinds_are_dropped_and_told() {
        let kind = builtin("apps", "v1", "deployments");
        let mut object = json!({"spec": {"replicas": 1, "junk": 2, "template": {"spec": {"containers":
            [{"name": "a", "imagee": "x"}]}}}});
        let warnings = check(kind, Mode::Warn, "", &mut object).unwrap();
        let expected =
            [r#"unknown field "spec.junk""#, r#"unknown field "spec.template.spec.containers[0].imagee""#];
        assert_eq!(warnings, expected);
        assert_eq!(
            object,
            json!({"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a"}]}}}})
        );
        let mut pod = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 2}}}]}});
        check(builtin("", "v1", "pods"), Mode::Strict, "", &mut pod).unwrap();
        assert_eq!(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"], "2");
        assert!(check(kind, Mode::Strict, "", &mut json!({"junk": 1})).is_err());
        assert!(check(kind, Mode::Ignore, "", &mut json!({"spec": {"replicas": "two"}})).is_err());
    }
}
