//! Indexes the objects of a store by computed keys, so that a lookup need not read all objects.

use std::collections::{BTreeMap, BTreeSet};

use kube::Resource;

use super::per_object::{Key, key};
use super::store::Change;

/// The keys of an object in an index.
pub(super) type KeysOf<K> = fn(&K) -> Vec<String>;

/// An index of the objects of a store.
pub(super) struct Index<K> {
    keys: KeysOf<K>,
    objects_by_key: BTreeMap<String, BTreeSet<Key>>,
}

impl<K: Resource> Index<K> {
    /// An empty index.
    pub(super) fn new(keys: KeysOf<K>) -> Self {
        Self { keys, objects_by_key: BTreeMap::new() }
    }

    /// Updates the index after a change in the store.
    pub(super) fn update(&mut self, change: &Change<K>) {
        let keys = |object: Option<&K>| object.map(self.keys).unwrap_or_default();
        let (before, after) = (keys(change.before.as_deref()), keys(change.after.as_deref()));
        if before == after {
            return;
        }
        let object = key(&**change.object());
        for key in before {
            if let Some(objects) = self.objects_by_key.get_mut(&key) {
                objects.remove(&object);
                if objects.is_empty() {
                    self.objects_by_key.remove(&key);
                }
            }
        }
        for key in after {
            self.objects_by_key.entry(key).or_default().insert(object.clone());
        }
    }

    /// The objects with this key, by namespace and name.
    pub(super) fn with_key(&self, key: &str) -> impl Iterator<Item = &Key> {
        self.objects_by_key.get(key).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn an_object_is_found_by_its_present_keys_only() {
        let object = |name: &str, keys: &[&str]| {
            let data: BTreeMap<_, _> = keys.iter().map(|key| (*key, "")).collect();
            Some(Arc::new(from_json(json!({"metadata": {"name": name}, "data": data}))))
        };
        let mut index =
            Index::<ConfigMap>::new(|object| object.data.iter().flat_map(BTreeMap::keys).cloned().collect());
        let found = |index: &Index<ConfigMap>, key: &str| {
            index.with_key(key).map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" ")
        };
        index.update(&Change { before: None, after: object("b", &["red"]) });
        index.update(&Change { before: None, after: object("a", &["red", "blue"]) });
        assert_eq!([found(&index, "red"), found(&index, "blue")], ["a b", "a"]);
        index.update(&Change { before: object("b", &["red"]), after: object("b", &["blue"]) });
        assert_eq!([found(&index, "red"), found(&index, "blue")], ["a", "a b"]);
        index.update(&Change { before: object("a", &["red", "blue"]), after: None });
        assert_eq!([found(&index, "red"), found(&index, "blue")], ["", "b"]);
        assert!(!index.objects_by_key.contains_key("red"), "an empty key takes up room");
    }
}
