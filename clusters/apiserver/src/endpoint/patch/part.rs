//! The fast path for a patch of one part of an object: a status, or the spec of a Lease.
//!
//! Most writes are such patches. Only the part is read and written; the rest of the object's text stays as it is.
//!
//! The result is the same as that of the slow path in `update`, which handles all other patches and all refusals.

use std::sync::Arc;

use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use super::read::Patch;
use super::strategic;
use crate::endpoint::selector;
use crate::http::request::parse_revision;
use crate::kind::custom::{self, Node};
use crate::kind::defaults;
use crate::kind::kinds::Kind;
use crate::kind::merge_schema::Shape;
use crate::kind::object::{check_length, drop_nulls};
use crate::store::encoded::Part;
use crate::store::{self, Version};
use crate::validation::builtin;
use crate::validation::fields;
use crate::validation::metadata;
use crate::write::writer::Change;
use crate::write::writer::Writer;

/// Patches the part, and returns the stored version.
/// Returns `None` without any change if the patch needs the slow path.
pub(crate) fn part(writer: &mut Writer<'_>, change: &Change<'_>, patch: &Patch) -> Option<Arc<Version>> {
    let kind = change.kind;
    let part = part_of(kind, change.subresource).filter(|_| !change.dry_run)?;
    let (version, given) = content(patch, part)?;
    let key = store::key(change.namespace, change.name);
    let stored = writer.state.store.get(&kind.storage, &key).cloned()?;
    let is_wanted =
        version.is_empty() || parse_revision(version).is_ok_and(|wanted| wanted == stored.revision);
    if !is_wanted || !depends_on_rules_only(writer, change, &stored) {
        return None;
    }
    let before = stored.encoded().part(part);
    let mut value = serde_json::from_slice(before).ok().filter(Value::is_object)?;
    match patch {
        Patch::Strategic(_) => {
            let shape = Shape::of(kind).field(part.name());
            strategic::apply(given, &mut value, shape).ok()?;
        }
        _ => json_patch::merge(&mut value, given),
    }
    let value = match &kind.schema {
        Some(schema) => custom(schema.status_apart()?, value)?,
        None => built_in(kind, part, value)?,
    };
    let text = serde_json::to_vec(&value[part.name()]).expect("JSON values have string keys");
    if text == before {
        return Some(stored);
    }
    // The slow path reports objects that are too large for etcd.
    check_length(stored.encoded().bytes.len() - before.len() + text.len()).ok()?;
    let fields = selector::changed_values(kind, &stored, part.name(), &value);
    Some(writer.state.store.put_part(&kind.storage, &key, &stored, (part, &text), fields))
}

/// The part that patches of an endpoint change.
fn part_of(kind: &Kind, subresource: &str) -> Option<Part> {
    match (&*kind.group, &*kind.plural, subresource) {
        _ if kind.is_custom() && subresource == "status" => {
            let schema = kind.schema.as_ref().filter(|_| kind.scale.is_none() && kind.is_stored_version());
            schema?.status_apart().map(|_| Part::Status)
        }
        ("", "pods" | "nodes", "status") | ("apps", "deployments", "status") => Some(Part::Status),
        ("coordination.k8s.io", "leases", "") if !kind.is_custom() => Some(Part::Spec),
        _ => None,
    }
}

/// The new content of the part and the precondition on the version, if the patch has nothing else.
fn content(patch: &Patch, part: Part) -> Option<(&str, &Value)> {
    let (Patch::Merge(Value::Object(fields)) | Patch::Strategic(Value::Object(fields))) = patch else {
        return None;
    };
    let version = match fields.get("metadata") {
        None => "",
        Some(Value::Object(metadata)) if metadata.len() == 1 => metadata.get("resourceVersion")?.as_str()?,
        Some(_) => return None,
    };
    let others = fields.keys().any(|field| field != "metadata" && field != part.name());
    let given = fields.get(part.name()).filter(|_| !others)?;
    let is_plain = given.as_object().is_some_and(|given| !given.contains_key("$patch"));
    is_plain.then_some((version, given))
}

/// Returns true if only the rules of the kind decide about the change of a stored version.
/// Such a change asks no webhook and no admission function. The owners of fields stay the same, and the object is not
/// being deleted.
fn depends_on_rules_only(writer: &Writer<'_>, change: &Change<'_>, stored: &Version) -> bool {
    let custom = change.kind.schema.as_ref();
    // Bare finalizers of custom kinds cause warnings, and fields of older schemas are pruned; both need the slow
    // path.
    let is_plain =
        custom.is_none_or(|schema| stored.revision > schema.since && !stored.has_bare_finalizers());
    let is_requested =
        writer.consultation.is_some() || change.subresource.is_empty() && writer.server.admission.is_some();
    is_plain && !is_requested && !stored.may_be_terminating_or_managed()
}

/// The status of a custom object in its stored form; `None` if there are problems or warnings.
fn custom(schema: &Node, mut status: Value) -> Option<Value> {
    let (name, mut unknown) = (Part::Status.name(), Vec::new());
    schema.prune(&mut status, &mut name.to_owned(), &mut unknown);
    schema.set_defaults(&mut status);
    let fits = unknown.is_empty() && custom::check_status(schema, &status).is_empty();
    fits.then(|| json!({ name: status }))
}

/// The part of a built-in object in its stored form, inside an object without other parts.
fn built_in(kind: &Kind, part: Part, value: Value) -> Option<Value> {
    let mut object = Value::Object([(part.name().to_owned(), value)].collect_sorted());
    let unknown = fields::unknown_paths(kind, "", &mut object, &Value::Null).ok()?;
    drop_nulls(&mut object);
    defaults::set_defaults(kind, &mut object);
    let causes = match part {
        Part::Status => builtin::status_problems(kind, &object),
        Part::Spec => metadata::object(kind, &object, None),
    };
    (unknown.is_empty() && causes.is_empty() && object[part.name()].is_object()).then_some(object)
}
