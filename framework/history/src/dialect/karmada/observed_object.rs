//! One version of one object as the modules of this dialect read it, and digests of its fields.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use jiff::Timestamp;

use crate::facts::ObjectVersion;
use crate::format::{EventType, Field, LONGEST, Object, Tree};

/// One version of one object, with the fields that every kind has.
pub(super) struct ObservedObject<'a> {
    pub(super) object: &'a Object,
    pub(super) name: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    /// Whether the object is deleted, and not merely being deleted.
    pub(super) gone: bool,
    /// Whether the object is being deleted.
    pub(super) leaving: bool,
    pub(super) witness: ObjectVersion,
    conditions: OnceCell<Vec<Tree<'a>>>,
}

impl<'a> ObservedObject<'a> {
    pub(super) fn new(on: &Arc<str>, event: EventType, object: &'a Object) -> Self {
        let [mut name, mut namespace, mut version] = [const { Cow::Borrowed("") }; 3];
        let mut leaving = false;
        for (key, field) in object.fields("metadata") {
            match key {
                "name" => name = text(Some(field)),
                "namespace" => namespace = text(Some(field)),
                "resourceVersion" => version = text(Some(field)),
                "deletionTimestamp" => leaving = true,
                _ => {}
            }
        }
        let full = match &*namespace {
            "" => Cow::Borrowed(&*name),
            namespace => Cow::Owned([namespace, "/", &*name].concat()),
        };
        let witness = ObjectVersion::new(Arc::clone(on), &object.kind(), &full, &version);
        let gone = event == EventType::Deleted;
        Self { object, name, namespace, gone, leaving, witness, conditions: OnceCell::new() }
    }

    /// The conditions of the status.
    pub(super) fn conditions(&self) -> &[Tree<'a>] {
        self.conditions.get_or_init(|| list(self.status("conditions")))
    }

    /// A field of the specification.
    pub(super) fn spec(&self, name: &str) -> Option<Field<'a>> {
        self.object.field("spec", name)
    }

    /// A field of the status.
    pub(super) fn status(&self, name: &str) -> Option<Field<'a>> {
        self.object.field("status", name)
    }

    /// Whether a finalizer that is not of Karmada holds up the deletion.
    /// The finalizers of the garbage collector count as foreign, too.
    pub(super) fn is_held_up(&self) -> bool {
        let foreign = |finalizer: &Tree<'_>| {
            let owner = finalizer.text().split('/').next().unwrap_or_default();
            !owner.ends_with("karmada.io")
        };
        self.leaving && list(self.metadata("finalizers")).iter().any(foreign)
    }

    /// A field of the metadata.
    pub(super) fn metadata(&self, name: &str) -> Option<Field<'a>> {
        self.object.field("metadata", name)
    }
}

/// The digest of a field as last observed; empty before the first observation.
#[derive(Debug, Default)]
pub(super) struct LastDigest(Option<Option<u64>>);

impl LastDigest {
    /// Whether the value of `field` differs from the last one, or is observed for the first time.
    pub(super) fn differs(&mut self, field: Option<Field<'_>>) -> bool {
        let now = Some(field.map(Field::digest));
        std::mem::replace(&mut self.0, now) != now
    }
}

/// The value of a field; null if the field is absent.
pub(super) fn value(field: Option<Field<'_>>) -> Tree<'_> {
    field.map(Field::tree).unwrap_or_default()
}

/// The items of a field; empty if the field is no list.
pub(super) fn list(field: Option<Field<'_>>) -> Vec<Tree<'_>> {
    match value(field) {
        Tree::List(items) => items,
        _ => Vec::new(),
    }
}

/// The text of a field; empty if the field is absent.
pub(super) fn text(field: Option<Field<'_>>) -> Cow<'_, str> {
    field.and_then(Field::text).unwrap_or_default()
}

/// Type and status of each of `conditions`.
pub(super) fn conditions(conditions: &[Tree<'_>]) -> BTreeMap<String, String> {
    let read = |condition: &Tree<'_>| {
        Some((condition["type"].as_str()?.to_owned(), condition["status"].as_str()?.to_owned()))
    };
    conditions.iter().filter_map(read).collect_sorted()
}

/// A duration in seconds, limited to a century.
pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST)
}

/// The time stamp in a field, if the field holds one.
pub(super) fn time(field: Option<Field<'_>>) -> Option<Timestamp> {
    capsize_clock::parse_time(&field?.text()?)
}

/// The time stamp in a value, if the value is one.
pub(super) fn time_in(value: &Tree<'_>) -> Option<Timestamp> {
    capsize_clock::parse_time(value.as_str()?)
}

/// Sets `value`, and returns whether it has changed.
pub(super) fn replace<T: PartialEq>(value: &mut T, now: T) -> bool {
    let differs = *value != now;
    *value = now;
    differs
}
