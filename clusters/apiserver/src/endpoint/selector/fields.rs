//! Field selectors: their syntax, and the selectable fields of each kind.

use std::borrow::Cow;

use serde_json::Value;

use crate::http::failure::Failure;
use crate::kind::events::core_path;
use crate::kind::kinds::Kind;
use crate::store::{SEPARATOR, Version};

/// One term of a field selector as written, before the field is resolved in the kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term {
    label: String,
    value: String,
    equal: bool,
}

/// One term of a field selector for a kind.
#[derive(Clone, Debug)]
pub(super) struct FieldRequirement {
    field: Field,
    value: String,
    equal: bool,
}

/// The place of the value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// At this index of the values that are recorded with each version.
    Recorded(usize),
    /// In the object itself, at a path from the definition of a custom kind.
    Path(Vec<String>),
    /// No place: the label is known, but no object has a value.
    NoValue,
}

impl FieldRequirement {
    /// The name that the term requires, if it requires one.
    pub(super) fn name(&self) -> Option<&str> {
        (self.equal && self.field == Field::Name).then_some(self.value.as_str())
    }

    /// Returns true if the object under `key` fulfills the term.
    pub(super) fn holds(&self, key: &str, version: &Version) -> bool {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let equal = match &self.field {
            Field::Name => name == self.value,
            Field::Namespace => namespace == self.value,
            Field::Recorded(index) => version.field(*index) == self.value,
            Field::Path(path) => {
                let object = version.object();
                let found = path.iter().try_fold(&*object, |at, step| at.get(step));
                found.map_or(Cow::Borrowed(""), text) == self.value
            }
            Field::NoValue => self.value.is_empty(),
        };
        equal == self.equal
    }
}

/// The text of a value that is compared with selectors.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The selectable fields of built-in kinds besides `metadata.name` and `metadata.namespace`.
/// The values are recorded with versions in this order.
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
        // The values of events are recorded from the stored form, which is that of the core group.
        ("" | "events.k8s.io", "events") => &[
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
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        _ => &[],
    }
}

/// Returns the values of the selectable fields of a stored object of a built-in kind.
/// The values are recorded with the version of the object.
pub(crate) fn field_values(kind: &Kind, object: &Value) -> Box<str> {
    let values: Vec<_> = selectable(kind).iter().map(|label| field_value(label, object)).collect();
    values.join(SEPARATOR).into()
}

/// As [`field_values`], for an object that differs from `stored` in one part only.
/// `object` needs to have only that part.
pub(crate) fn changed_values(kind: &Kind, stored: &Version, part: &str, object: &Value) -> Box<str> {
    let labels = selectable(kind);
    let is_changed = |label: &str| label.split('.').next() == Some(part);
    if !labels.iter().any(|label| is_changed(label)) {
        return stored.fields().into();
    }
    let values = labels.iter().enumerate().map(|(index, label)| match is_changed(label) {
        true => field_value(label, object),
        false => stored.field(index).into(),
    });
    values.collect::<Vec<_>>().join(SEPARATOR).into()
}

fn field_value<'a>(label: &str, object: &'a Value) -> Cow<'a, str> {
    let at = |path: &str| path.split('.').try_fold(object, |at, step| at.get(step)).unwrap_or(&Value::Null);
    let or = |value: &'a Value, zero: &'static str| {
        if value.is_null() { Cow::Borrowed(zero) } else { text(value) }
    };
    match label {
        "spec.hostNetwork" | "spec.unschedulable" => or(at(label), "false"),
        "status.replicas" => or(at(label), "0"),
        "status.successful" => or(at("status.succeeded"), "0"),
        "status.podIP" => match &object["status"]["podIPs"][0]["ip"] {
            Value::String(ip) => Cow::Borrowed(ip),
            _ => text(at(label)),
        },
        "source" => match text(at("source.component")) {
            component if component.is_empty() => text(at("reportingComponent")),
            component => component,
        },
        _ => text(at(label)),
    }
}

/// Parses the terms of a field selector, in the order in which a real server resolves them.
///
/// # Errors
/// A bad request if the syntax is wrong.
pub(super) fn parse_fields(selector: &str) -> Result<Vec<Term>, Failure> {
    let mut terms = split_terms(selector);
    terms.sort_unstable();
    terms.into_iter().filter(|term| !term.is_empty()).map(|term| parse_term(selector, term)).collect()
}

/// Splits a selector at commas that have no backslash before them.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut escaped = false;
    let parts = selector.split(|c: char| {
        let parts = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        parts
    });
    parts.collect()
}

fn parse_term(selector: &str, term: &str) -> Result<Term, Failure> {
    let operator =
        |at: usize| ["!=", "==", "="].into_iter().find(|operator| term[at..].starts_with(operator));
    let found = term.char_indices().find_map(|(at, _)| Some((at, operator(at)?)));
    let (at, operator) = found.ok_or_else(|| {
        Failure::bad_request(format!("invalid selector: '{selector}'; can't understand '{term}'"))
    })?;
    let value = unescape(&term[at + operator.len()..])?;
    Ok(Term { label: term[..at].to_owned(), value, equal: operator != "!=" })
}

fn unescape(value: &str) -> Result<String, Failure> {
    let escape = |shown: &str| {
        Failure::bad_request(format!("invalid field selector: invalid escape sequence: {shown}"))
    };
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                Some(other) => return Err(escape(&format!("\\{other}"))),
                None => return Err(escape("\\")),
            },
            ',' | '=' => {
                let code = u32::from(character);
                return Err(Failure::bad_request(format!(
                    "invalid field selector: unescaped character in value: {code}"
                )));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

/// Resolves the fields of the terms in a kind.
///
/// # Errors
/// A bad request if the kind has no such selectable field.
pub(super) fn resolve(terms: Vec<Term>, kind: &Kind) -> Result<Vec<FieldRequirement>, Failure> {
    let find = |Term { label, value, equal }| {
        let field = find(&label, kind).ok_or_else(|| Failure::bad_request(unknown(&label, kind)))?;
        Ok(FieldRequirement { field, value, equal })
    };
    terms.into_iter().map(find).collect()
}

fn find(label: &str, kind: &Kind) -> Option<Field> {
    // The storages of these kinds have their own list of fields, without the namespace.
    let without_namespace = kind.is_core("nodes")
        || kind.is_core("namespaces")
        || kind.plural == "certificatesigningrequests"
        || (kind.is_custom() && !kind.traits.namespaced);
    match label {
        "metadata.name" => return Some(Field::Name),
        "metadata.namespace" if !without_namespace => return Some(Field::Namespace),
        "status.podIPs" if kind.is_core("pods") => return Some(Field::NoValue),
        _ => {}
    }
    if let Some(schema) = &kind.schema {
        let known = schema.selectable_fields.iter().any(|field| field == label);
        return known.then(|| Field::Path(label.split('.').map(str::to_owned).collect()));
    }
    let stored = match label {
        "spec.host" if kind.is_core("pods") => Cow::Borrowed("spec.nodeName"),
        _ if kind.is_in_events_group() => Cow::Owned(core_path(label)),
        _ => Cow::Borrowed(label),
    };
    // Field names of the core group's form are not valid for the new kind of events.
    if kind.is_in_events_group() && stored == label && !matches!(label, "reason" | "type") {
        return None;
    }
    selectable(kind).iter().position(|known| *known == stored).map(Field::Recorded)
}

/// The message for a field that is not selectable in a kind.
fn unknown(label: &str, kind: &Kind) -> String {
    if kind.group == "batch" && kind.plural == "jobs" {
        return format!("field label {label:?} not supported for \"Job\"");
    }
    if kind.is_custom() || !selectable(kind).is_empty() {
        return format!("field label not supported: {label}");
    }
    format!(r#"{label:?} is not a known field selector: only "metadata.name", "metadata.namespace""#)
}
