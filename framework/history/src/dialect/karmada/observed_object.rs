//! One version of one object as the rooms of this dialect look at it, and what of it is new to them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::facts::ObjectVersion;
use crate::format::{EventType, Field, LONGEST, Object, Tree};

/// One version of one object, with what every kind has.
pub(super) struct ObservedObject<'a> {
    pub(super) object: &'a Object,
    pub(super) name: Cow<'a, str>,
    pub(super) namespace: Cow<'a, str>,
    /// Deleted, not merely being deleted.
    pub(super) gone: bool,
    /// Being deleted.
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

    /// Whether it is being deleted, and kept by a finalizer that is not of Karmada. What the garbage collector sets is its own.
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

/// What a field said last; nothing, before it was looked at.
#[derive(Debug, Default)]
pub(super) struct LastDigest(Option<Option<u64>>);

impl LastDigest {
    /// Whether `field` says something else than last time, or is looked at for the first time.
    pub(super) fn differs(&mut self, field: Option<Field<'_>>) -> bool {
        let now = Some(field.map(Field::digest));
        std::mem::replace(&mut self.0, now) != now
    }
}

/// The value of a field; null where there is none.
pub(super) fn value(field: Option<Field<'_>>) -> Tree<'_> {
    field.map(Field::tree).unwrap_or_default()
}

/// The items of a field; none where it is no list.
pub(super) fn list(field: Option<Field<'_>>) -> Vec<Tree<'_>> {
    match value(field) {
        Tree::List(items) => items,
        _ => Vec::new(),
    }
}

/// The text of a field, empty if there is none.
pub(super) fn text(field: Option<Field<'_>>) -> Cow<'_, str> {
    field.and_then(Field::text).unwrap_or_default()
}

/// Type and status of each of `conditions`.
pub(super) fn conditions(conditions: &[Tree<'_>]) -> BTreeMap<String, String> {
    let read = |condition: &Tree<'_>| {
        Some((condition["type"].as_str()?.to_owned(), condition["status"].as_str()?.to_owned()))
    };
    conditions.iter().filter_map(read).collect()
}

/// A length of time in seconds, a century at most.
pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST)
}

/// A time stamp, if it is one.
pub(super) fn time(field: Option<Field<'_>>) -> Option<Timestamp> {
    capsize_clock::parse_time(&field?.text()?)
}

/// A time stamp in a value, if it is one.
pub(super) fn time_in(value: &Tree<'_>) -> Option<Timestamp> {
    capsize_clock::parse_time(value.as_str()?)
}

/// Sets `value`. Answers whether it is another now.
pub(super) fn replace<T: PartialEq>(value: &mut T, now: T) -> bool {
    let differs = *value != now;
    *value = now;
    differs
}
