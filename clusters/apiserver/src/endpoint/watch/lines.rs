//! The lines of a watch: events, bookmarks and errors as JSON text.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};

use crate::endpoint::selector::Selector;
use crate::http::failure::Failure;
use crate::http::respond::{TypeFields, append, encode};
use crate::kind::defaults::empty_form;
use crate::kind::kinds::Kind;
use crate::store::backup::RESTORED;
use crate::store::{Event, Version};

/// The maximum number of bytes of a line besides its object.
pub(super) const ENVELOPE: usize = 128;

/// The type of an event for a watch without a selector.
pub(super) fn plain_type(event: &Event) -> &'static str {
    match (&event.before, event.deleted) {
        (_, true) => "DELETED",
        (None, false) => "ADDED",
        (Some(_), false) => "MODIFIED",
    }
}

/// The event type and version that a watch with `selector` sends for an event.
/// If an object no longer matches, the watch sends DELETED with the previous state and the new revision.
/// `None` if nothing is sent.
pub(super) fn selected(selector: &Selector, event: &Event) -> Option<(&'static str, Arc<Version>)> {
    if selector.is_empty() {
        return Some((plain_type(event), event.after.clone()));
    }
    let selected = |version: &Arc<Version>| selector.matches(&event.key, version);
    let before = event.before.as_ref().filter(|before| selected(before));
    let after = !event.deleted && selected(&event.after);
    Some(match (before, after) {
        (None, true) => ("ADDED", event.after.clone()),
        (Some(_), true) => ("MODIFIED", event.after.clone()),
        (Some(_), false) if event.deleted => ("DELETED", event.after.clone()),
        (Some(before), false) => ("DELETED", before.deleted_at(event.revision)),
        (None, false) => return None,
    })
}

/// Writes the line of an object.
pub(super) fn put_line(text: &mut BytesMut, kind: &Kind, event_type: &str, version: &Version) {
    let encoded = kind.encoded(version);
    text.reserve(encoded.bytes.len() + ENVELOPE);
    put_head(text, event_type);
    append(text, &encoded, &TypeFields::served(kind));
    text.put_slice(b"}\n");
}

fn put_head(text: &mut BytesMut, event_type: &str) {
    text.put_slice(br#"{"type":""#);
    text.put_slice(event_type.as_bytes());
    text.put_slice(br#"","object":"#);
}

fn line(event_type: &str, object: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(object.len() + ENVELOPE);
    put_head(&mut text, event_type);
    text.put_slice(object);
    text.put_slice(b"}\n");
    text.freeze()
}

/// The line with the failure that ends a watch.
pub(super) fn error(failure: &Failure) -> Bytes {
    line("ERROR", &encode(&failure.status()).bytes)
}

/// The bookmark after all events up to `revision`; `ends_initial` is true after the initial events.
pub(super) fn bookmark(kind: &Kind, revision: u64, ends_initial: bool) -> Bytes {
    if ends_initial {
        return annotated_bookmark(kind, revision, "k8s.io/initial-events-end");
    }
    // The text is cached, because each watch gets one bookmark a minute.
    let blank = kind.blank.get_or_init(|| encode(&marked(kind, json!({"resourceVersion": ""}))));
    line("BOOKMARK", &blank.with_revision(revision).bytes)
}

/// The bookmark between the events before and after a restore of the server.
pub(super) fn restored(kind: &Kind, revision: u64) -> Bytes {
    annotated_bookmark(kind, revision, RESTORED)
}

/// A bookmark with an annotation.
fn annotated_bookmark(kind: &Kind, revision: u64, annotation: &str) -> Bytes {
    let metadata = json!({"resourceVersion": revision.to_string(), "annotations": {annotation: "true"}});
    line("BOOKMARK", &encode(&marked(kind, metadata)).bytes)
}

fn marked(kind: &Kind, metadata: Value) -> Value {
    let mut object = blank(kind);
    object["kind"] = kind.kind.as_ref().into();
    object["apiVersion"] = kind.api_version().into();
    object["metadata"] = metadata;
    object
}

/// An object without any values, as Go writes the types of built-in kinds.
fn blank(kind: &Kind) -> Value {
    let mut blank = empty_form(kind);
    match (&*kind.group, &*kind.plural) {
        ("apps", "deployments" | "replicasets" | "statefulsets") => blank["spec"]["replicas"] = 0.into(),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => blank["rules"] = Value::Null,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            blank["roleRef"] = json!({"apiGroup": "", "kind": "", "name": ""});
        }
        _ => {}
    }
    blank
}
