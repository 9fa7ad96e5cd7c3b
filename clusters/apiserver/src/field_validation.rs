//! Fields that a kind does not have, and values of the wrong type, in what clients send.

use k8s_openapi::api;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Cause, Failure};
use crate::kinds::Kind;

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
    let mut unknown = Vec::new();
    if subresource == "status" && !kind.is_custom() {
        // The rest is put back anyway, and status writes are the most frequent of all.
        let status = object.get_mut("status").map(Value::take);
        let mut part =
            Value::Object(status.map(|status| ("status".to_owned(), status)).into_iter().collect());
        let told = check(kind, mode, "", &mut part)?;
        if let Some(status) = part.get_mut("status") {
            object["status"] = status.take();
        }
        return Ok(told);
    }
    match &kind.schema {
        Some(schema) => schema.root.prune_object(object, "", &mut unknown),
        None => {
            let known = round_trip(kind, object).transpose().map_err(|error| {
                let (kind, version) = (&kind.kind, &kind.version);
                Failure::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: json: {error}"
                ))
            })?;
            if let Some(known) = known {
                drop_unknown(object, &known, "", &mut unknown);
            }
        }
    }
    let told: Vec<_> = unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
    match mode {
        _ if told.is_empty() => Ok(told),
        Mode::Ignore => Ok(Vec::new()),
        Mode::Warn => Ok(told),
        Mode::Strict => {
            let (kind, version) = (&kind.kind, &kind.version);
            let told = told.join(", ");
            Err(Failure::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {told}"
            )))
        }
    }
}

/// Drops what is in `object` and not in `known`, which is the same object without its unknown fields.
fn drop_unknown(object: &mut Value, known: &Value, path: &str, unknown: &mut Vec<String>) {
    match (object, known) {
        (Value::Object(fields), Value::Object(known)) => fields.retain(|name, value| {
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match known.get(name) {
                Some(known) => drop_unknown(value, known, &below, unknown),
                // What is null is not set, which is no field at all once it has been read.
                None if value.is_null() => return false,
                None => {
                    unknown.push(below);
                    return false;
                }
            }
            true
        }),
        (Value::Array(items), Value::Array(known)) => {
            for (index, (item, known)) in items.iter_mut().zip(known).enumerate() {
                drop_unknown(item, known, &format!("{path}[{index}]"), unknown);
            }
        }
        // A quantity may be written as a number, and is kept as text.
        (object @ Value::Number(_), Value::String(_)) => *object = known.clone(),
        _ => {}
    }
}

fn through<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, String> {
    let typed = T::deserialize(object).map_err(|error| error.to_string())?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

/// The object as its type reads and writes it again; `None` for kinds whose type is not looked at.
fn round_trip(kind: &Kind, object: &Value) -> Option<Result<Value, String>> {
    let through = match (&*kind.group, &*kind.plural) {
        ("", "pods") => through::<api::core::v1::Pod>,
        ("", "nodes") => through::<api::core::v1::Node>,
        ("", "services") => through::<api::core::v1::Service>,
        ("", "configmaps") => through::<api::core::v1::ConfigMap>,
        ("", "namespaces") => through::<api::core::v1::Namespace>,
        ("", "serviceaccounts") => through::<api::core::v1::ServiceAccount>,
        ("", "secrets") => through::<api::core::v1::Secret>,
        ("", "persistentvolumeclaims") => through::<api::core::v1::PersistentVolumeClaim>,
        ("apps", "deployments") => through::<api::apps::v1::Deployment>,
        ("apps", "replicasets") => through::<api::apps::v1::ReplicaSet>,
        ("apps", "statefulsets") => through::<api::apps::v1::StatefulSet>,
        ("apps", "daemonsets") => through::<api::apps::v1::DaemonSet>,
        ("batch", "jobs") => through::<api::batch::v1::Job>,
        ("batch", "cronjobs") => through::<api::batch::v1::CronJob>,
        ("policy", "poddisruptionbudgets") => through::<api::policy::v1::PodDisruptionBudget>,
        _ => return None,
    };
    Some(through(object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

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
