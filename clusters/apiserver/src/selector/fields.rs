//! Field selectors: which fields of a kind can be selected by, and whether an object has the value.

use serde_json::Value;

use crate::events::core_path;
use crate::failure::Failure;
use crate::kinds::Kind;

/// One term of a field selector.
#[derive(Clone, Debug)]
pub(super) struct FieldRequirement {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl FieldRequirement {
    /// The name that it narrows to, where it does.
    pub(super) fn name(&self) -> Option<&str> {
        (self.equal && self.path == ["metadata", "name"]).then_some(self.value.as_str())
    }

    /// Whether an object meets it.
    pub(super) fn holds(&self, object: &Value) -> bool {
        let found = self.path.iter().try_fold(object, |at, step| at.get(step));
        let equal = match found {
            None | Some(Value::Null) => self.value.is_empty() || self.is_false_flag(),
            Some(Value::String(text)) => *text == self.value,
            Some(other) => self.value == format!("{other}"),
        };
        equal == self.equal
    }

    /// A flag that is not set reads as `false`.
    fn is_false_flag(&self) -> bool {
        self.value == "false"
            && matches!(self.path.last().map(String::as_str), Some("unschedulable" | "hostNetwork"))
    }
}

/// The fields of built-in kinds that can be selected by, beside `metadata.name` and `metadata.namespace`.
fn selectable(kind: &Kind) -> &'static [&'static str] {
    match (&*kind.group, &*kind.plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", _) => &["spec.signerName"],
        _ => &[],
    }
}

/// Reads a field selector.
///
/// # Errors
/// A bad request where it cannot be read or names a field that cannot be selected by.
pub(super) fn parse_fields(text: &str, kind: &Kind) -> Result<Vec<FieldRequirement>, Failure> {
    let mut requirements = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (field, value, equal) = term
            .split_once("!=")
            .map(|(field, value)| (field, value, false))
            .or_else(|| term.split_once("==").map(|(field, value)| (field, value, true)))
            .or_else(|| term.split_once('=').map(|(field, value)| (field, value, true)))
            .ok_or_else(|| {
                Failure::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'"))
            })?;
        let known = matches!(field, "metadata.name" | "metadata.namespace")
            || selectable(kind).contains(&field)
            || kind.schema.as_ref().is_some_and(|schema| schema.selectable_fields.iter().any(|f| f == field));
        if !known {
            let message = if kind.is_custom() {
                format!("field label not supported: {field}")
            } else {
                format!("field label {field:?} not supported for {:?}", kind.kind)
            };
            return Err(Failure::bad_request(message));
        }
        let field = if kind.is_new_event() { core_path(field) } else { field.to_owned() };
        let path = field.split('.').map(str::to_owned).collect();
        requirements.push(FieldRequirement { path, value: value.to_owned(), equal });
    }
    Ok(requirements)
}
