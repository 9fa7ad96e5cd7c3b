//! Indexes the objects of a store by computed keys, so that a lookup need not read all objects.

use std::collections::{BTreeMap, BTreeSet};

use kube::Resource;

use super::notes::{Key, key};
use super::store::Change;

/// The keys of an object in an index.
pub(super) type Keys<K> = fn(&K) -> Vec<String>;

/// An index of the objects of a store.
pub(super) struct Index<K> {
    keys: Keys<K>,
    filed: BTreeMap<String, BTreeSet<Key>>,
}

impl<K: Resource> Index<K> {
    /// An empty index.
    pub(super) fn new(keys: Keys<K>) -> Self {
        Self { keys, filed: BTreeMap::new() }
    }

    /// Updates the index after a change in the store.
    pub(super) fn take_in(&mut self, change: &Change<K>) {
        let keys = |object: Option<&K>| object.map(self.keys).unwrap_or_default();
        let (before, after) = (keys(change.before.as_deref()), keys(change.after.as_deref()));
        if before == after {
            return;
        }
        let place = key(&**change.object());
        for key in before {
            if let Some(places) = self.filed.get_mut(&key) {
                places.remove(&place);
                if places.is_empty() {
                    self.filed.remove(&key);
                }
            }
        }
        for key in after {
            self.filed.entry(key).or_default().insert(place.clone());
        }
    }

    /// The objects with this key, by namespace and name.
    pub(super) fn under(&self, key: &str) -> impl Iterator<Item = &Key> {
        self.filed.get(key).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_found_under_what_it_says_now_and_nothing_else() {
        let object = |name: &str, keys: &[&str]| {
            let data: BTreeMap<_, _> = keys.iter().map(|key| (*key, "")).collect();
            Some(Arc::new(serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap()))
        };
        let mut index =
            Index::<ConfigMap>::new(|object| object.data.iter().flat_map(BTreeMap::keys).cloned().collect());
        let found = |index: &Index<ConfigMap>, key: &str| {
            index.under(key).map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" ")
        };
        index.take_in(&Change { before: None, after: object("b", &["red"]) });
        index.take_in(&Change { before: None, after: object("a", &["red", "blue"]) });
        assert_eq!([found(&index, "red"), found(&index, "blue")], ["a b", "a"]);
        index.take_in(&Change { before: object("b", &["red"]), after: object("b", &["blue"]) });
        assert_eq!([found(&index, "red"), found(&index, "blue")], ["a", "a b"]);
        index.take_in(&Change { before: object("a", &["red", "blue"]), after: None });
        assert_eq!([found(&index, "red"), found(&index, "blue")], ["", "b"]);
        assert!(!index.filed.contains_key("red"), "an empty key takes up room");
    }
}
