//! The objects of a store by what they say, so that whoever looks for some of them need not look at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::{Resource, ResourceExt};

use super::Change;

/// What an object is filed under.
pub(super) type Keys<K> = fn(&K) -> Vec<String>;

/// Where an object is: its namespace and its name.
type Place = (Option<String>, String);

/// One way to file the objects of a store.
pub(super) struct Index<K> {
    keys: Keys<K>,
    filed: BTreeMap<String, BTreeMap<Place, Arc<K>>>,
}

impl<K: Resource> Index<K> {
    /// With nothing in it.
    pub(super) fn new(keys: Keys<K>) -> Self {
        Self { keys, filed: BTreeMap::new() }
    }

    /// Takes in what has changed in the store.
    pub(super) fn take_in(&mut self, change: &Change<K>) {
        let place = |object: &K| (object.namespace(), object.name_any());
        if let Some(before) = &change.before {
            for key in (self.keys)(before) {
                if let Some(objects) = self.filed.get_mut(&key) {
                    objects.remove(&place(before));
                    if objects.is_empty() {
                        self.filed.remove(&key);
                    }
                }
            }
        }
        if let Some(after) = &change.after {
            for key in (self.keys)(after) {
                self.filed.entry(key).or_default().insert(place(after), Arc::clone(after));
            }
        }
    }

    /// The objects under a key, by namespace and name.
    pub(super) fn under(&self, key: &str) -> Vec<Arc<K>> {
        self.filed.get(key).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
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
            index.under(key).iter().map(|object| object.name_any()).collect::<Vec<_>>().join(" ")
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
