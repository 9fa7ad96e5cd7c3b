//! One version of one object: its text, and its parsed tree while it is cached.
//!
//! A tree needs about ten times the memory of its text. The store decides which trees are cached.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

use crate::store::encoded::{EncodedObject, Part, encode};

/// Separates the values of [`Version::field`]. No name, address or reason contains it.
pub(crate) const SEPARATOR: &str = "\0";

/// One version of one object. It is immutable, and readers share it.
#[derive(Debug)]
pub(crate) struct Version {
    /// The revision of the write that created the version.
    /// For the last state of a deleted object, the revision of the delete.
    pub revision: u64,
    encoded: EncodedObject,
    /// The values for field selectors, in the order of the kind's selectable fields.
    fields: Box<str>,
    tree: Mutex<Option<Arc<Value>>>,
}

/// A JSON text that is copied only if it has escapes.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The labels of a version.
#[derive(Debug, Default)]
pub(crate) struct Labels<'a>(BTreeMap<Text<'a>, Text<'a>>);

impl Labels<'_> {
    /// The value of a label.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|value| &*value.0)
    }
}

impl Version {
    /// A version of `object` at `revision`, with its tree.
    /// `fields` are the values of selectable fields, separated by [`SEPARATOR`].
    pub(crate) fn new(mut object: Value, revision: u64, fields: Box<str>) -> Arc<Self> {
        object["metadata"]["resourceVersion"] = Value::String(revision.to_string());
        let encoded = encode(&object);
        Arc::new(Self { revision, encoded, fields, tree: Mutex::new(Some(Arc::new(object))) })
    }

    /// The same object at `revision` with a new text for an existing part.
    /// The new version has no tree. `fields` are as in [`Version::new`].
    pub(crate) fn with_part(
        &self,
        (part, text): (Part, &[u8]),
        revision: u64,
        fields: Box<str>,
    ) -> Arc<Self> {
        let encoded = self.encoded.with_part(revision, part, text);
        Arc::new(Self { revision, encoded, fields, tree: Mutex::default() })
    }

    /// The last state of the object for its delete at `revision`. The tree moves to the new version.
    pub(crate) fn deleted_at(&self, revision: u64) -> Arc<Self> {
        let tree = self.tree().take().map(|mut tree| {
            Arc::make_mut(&mut tree)["metadata"]["resourceVersion"] = Value::String(revision.to_string());
            tree
        });
        let (encoded, fields) = (self.encoded.with_revision(revision), self.fields.clone());
        Arc::new(Self { revision, encoded, fields, tree: Mutex::new(tree) })
    }

    /// The object with the type fields of the stored version. The text is parsed if the tree is not cached.
    pub(crate) fn object(&self) -> Arc<Value> {
        let kept = self.tree().clone();
        kept.unwrap_or_else(|| Arc::new(self.parse()))
    }

    /// Caches the tree. Returns true if it was not cached before.
    pub(crate) fn keep_tree(&self) -> bool {
        let mut tree = self.tree();
        let absent = tree.is_none();
        if absent {
            *tree = Some(Arc::new(self.parse()));
        }
        absent
    }

    /// Drops the cached tree.
    pub(crate) fn drop_tree(&self) {
        let tree = mem::take(&mut *self.tree());
        drop(tree);
    }

    /// The object as JSON text.
    pub(crate) fn encoded(&self) -> &EncodedObject {
        &self.encoded
    }

    /// The value of the selectable field at `index`; empty if the object has none.
    pub(crate) fn field(&self, index: usize) -> &str {
        self.fields.split(SEPARATOR).nth(index).unwrap_or_default()
    }

    /// The values of all selectable fields in the form of [`Version::new`].
    pub(crate) fn fields(&self) -> &str {
        &self.fields
    }

    /// The labels, parsed from the text without a tree.
    pub(crate) fn labels(&self) -> Labels<'_> {
        Labels(serde_json::from_slice(self.encoded.labels()).unwrap_or_default())
    }

    /// Returns true if the object has this UID. The check needs no tree.
    pub(crate) fn has_uid(&self, uid: &str) -> bool {
        serde_json::from_slice(self.encoded.uid()).is_ok_and(|own: Text<'_>| own.0 == uid)
    }

    /// Returns true if the object has finalizers without a qualified name.
    pub(crate) fn has_bare_finalizers(&self) -> bool {
        let finalizers: Vec<Text<'_>> = serde_json::from_slice(self.encoded.finalizers()).unwrap_or_default();
        finalizers.iter().any(|finalizer| !finalizer.0.contains('/'))
    }

    /// Returns true if the text contains the name of the field anywhere. The search is faster than a parse.
    pub(crate) fn may_have(&self, field: &str) -> bool {
        memmem::find(&self.encoded.bytes, field.as_bytes()).is_some()
    }

    /// Returns true if the object may be terminating, or may have `managedFields`.
    /// Nearly every write makes this check.
    pub(crate) fn may_be_terminating_or_managed(&self) -> bool {
        static MARKS: LazyLock<[memmem::Finder<'static>; 2]> =
            LazyLock::new(|| ["deletionTimestamp", "managedFields"].map(memmem::Finder::new));
        MARKS.iter().any(|mark| mark.find(&self.encoded.bytes).is_some())
    }

    fn parse(&self) -> Value {
        serde_json::from_slice(&self.encoded.bytes).expect("the server wrote it")
    }

    fn tree(&self) -> MutexGuard<'_, Option<Arc<Value>>> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_and_fields_are_read_without_a_tree() {
        let object =
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"labels": {"a/b": "1", "é": "\"q\""}}});
        let version = Version::new(object, 7, "n1\0\0Running".into());
        version.drop_tree();
        assert_eq!(version.labels().get("a/b"), Some("1"));
        assert_eq!(version.labels().get("é"), Some("\"q\""));
        assert_eq!(version.labels().get("c"), None);
        assert_eq!([0, 1, 2, 3].map(|index| version.field(index)), ["n1", "", "Running", ""]);
    }

    #[test]
    fn a_uid_is_found_with_and_without_a_tree() {
        let object = json!({"kind": "A", "metadata": {"name": "x", "uid": "1-2"}, "spec": {"uid": "3"}});
        let version = Version::new(object, 7, "".into());
        for _ in 0..2 {
            assert_eq!(["1-2", "3", ""].map(|uid| version.has_uid(uid)), [true, false, false]);
            version.drop_tree();
        }
        assert!(!Version::new(json!({"kind": "A", "metadata": {}}), 7, "".into()).has_uid("1-2"));
    }

    #[test]
    fn a_tree_that_is_not_cached_is_parsed_again() {
        let version = Version::new(json!({"kind": "A", "metadata": {"name": "x"}}), 7, "".into());
        let before = version.object();
        version.drop_tree();
        assert_eq!(version.object(), before);
        assert!(version.keep_tree() && !version.keep_tree());
    }

    #[test]
    fn a_deleted_object_has_the_revision_of_its_delete() {
        let deleted_at =
            Version::new(json!({"kind": "A", "metadata": {"name": "x"}}), 7, "".into()).deleted_at(12);
        let tree = deleted_at.object();
        deleted_at.drop_tree();
        assert_eq!((tree["metadata"]["resourceVersion"].as_str(), deleted_at.revision), (Some("12"), 12));
        assert_eq!(deleted_at.object(), tree);
    }
}
