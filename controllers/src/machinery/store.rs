//! The objects of a kind, by namespace and name, with indexes. The caller reports every change.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Resource;

use super::index::{Index, KeysOf};

/// An object before and after a change; at least one of the two exists.
#[derive(Debug)]
pub(crate) struct Change<K> {
    /// `None` for a new object.
    pub before: Option<Arc<K>>,
    /// `None` for a deleted object.
    pub after: Option<Arc<K>>,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self { before: self.before.clone(), after: self.after.clone() }
    }
}

impl<K> Change<K> {
    /// The present object, or the last version of a deleted one.
    pub(crate) fn object(&self) -> &Arc<K> {
        self.after.as_ref().or(self.before.as_ref()).expect("a change has a side")
    }

    /// Whether the value that `of` computes is new, gone, or different.
    pub(crate) fn differs<T: PartialEq>(&self, of: impl Fn(&K) -> T) -> bool {
        self.before.as_deref().map(&of) != self.after.as_deref().map(&of)
    }
}

/// Objects by namespace (empty for cluster-scoped kinds), and then by name.
type Objects<K> = BTreeMap<String, BTreeMap<String, Arc<K>>>;

/// The objects, and their indexes.
pub(super) struct Store<K> {
    objects: Objects<K>,
    /// The indexes, by name.
    indexes: BTreeMap<&'static str, Index<K>>,
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), indexes: BTreeMap::new() }
    }
}

impl<K: Resource> Store<K> {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<K>> {
        self.objects.get(namespace)?.get(name)
    }

    /// All objects in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.values().flat_map(BTreeMap::values)
    }

    /// Indexes all objects by `keys`.
    pub(super) fn add_index(&mut self, name: &'static str, keys: KeysOf<K>) {
        let mut index = Index::new(keys);
        for object in self.iter() {
            index.update(&Change { before: None, after: Some(Arc::clone(object)) });
        }
        self.indexes.insert(name, index);
    }

    /// The objects with this key in an index, in order.
    pub(super) fn by<'a>(&'a self, index: &str, key: &str) -> impl Iterator<Item = &'a Arc<K>> {
        let index = self.indexes.get(index).expect("a store is made with its indexes");
        index.with_key(key).filter_map(|(namespace, name)| self.get(namespace, name))
    }

    /// Stores an object that is new or has changed.
    pub(super) fn put(&mut self, object: K) -> Change<K> {
        let after = Arc::new(object);
        let before = self.insert(&after);
        self.update_indexes(Change { before, after: Some(after) })
    }

    /// Removes an object; `None` where it was not in the store.
    pub(super) fn remove(&mut self, object: &K) -> Option<Change<K>> {
        let (namespace, name) = key_of(object);
        let objects = self.objects.get_mut(namespace)?;
        let before = objects.remove(name)?;
        if objects.is_empty() {
            self.objects.remove(namespace);
        }
        Some(self.update_indexes(Change { before: Some(before), after: None }))
    }

    /// Replaces all objects by these.
    pub(super) fn replace(&mut self, objects: Vec<K>) -> Vec<Change<K>> {
        let mut gone = std::mem::take(&mut self.objects);
        let mut changes = Vec::with_capacity(objects.len());
        for object in objects {
            let after = Arc::new(object);
            self.insert(&after);
            let (namespace, name) = key_of(&*after);
            let before = gone.get_mut(namespace).and_then(|objects| objects.remove(name));
            changes.push(Change { before, after: Some(after) });
        }
        changes.sort_by(|one, other| key_of(&**one.object()).cmp(&key_of(&**other.object())));
        let gone = gone.into_values().flat_map(BTreeMap::into_values);
        changes.extend(gone.map(|object| Change { before: Some(object), after: None }));
        changes.into_iter().map(|change| self.update_indexes(change)).collect()
    }

    fn insert(&mut self, object: &Arc<K>) -> Option<Arc<K>> {
        let (namespace, name) = key_of(&**object);
        if let Some(objects) = self.objects.get_mut(namespace) {
            return match objects.get_mut(name) {
                Some(known) => Some(std::mem::replace(known, Arc::clone(object))),
                None => objects.insert(name.to_owned(), Arc::clone(object)),
            };
        }
        let objects = BTreeMap::from([(name.to_owned(), Arc::clone(object))]);
        self.objects.insert(namespace.to_owned(), objects);
        None
    }

    fn update_indexes(&mut self, change: Change<K>) -> Change<K> {
        self.indexes.values_mut().for_each(|index| index.update(&change));
        change
    }
}

/// The namespace and the name of an object.
pub(super) fn key_of<K: Resource>(object: &K) -> (&str, &str) {
    let meta = object.meta();
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::ObjectMeta;

    use super::*;

    fn object(place: &str) -> ConfigMap {
        let (namespace, name) = place.split_once('/').unwrap();
        let metadata = ObjectMeta {
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        ConfigMap { metadata, ..ConfigMap::default() }
    }

    fn places<'a>(objects: impl Iterator<Item = &'a Arc<ConfigMap>>) -> Vec<String> {
        objects
            .map(|object| key_of(&**object))
            .map(|(namespace, name)| format!("{namespace}/{name}"))
            .collect()
    }

    #[test]
    fn objects_are_in_order_of_namespace_and_name() {
        let mut store = Store::default();
        for object in ["b/a", "/z", "a/b", "a/a"].map(object) {
            assert!(store.put(object).before.is_none());
        }
        assert_eq!(places(store.iter()), ["/z", "a/a", "a/b", "b/a"]);
        assert!(store.put(object("a/a")).before.is_some());
        assert!(store.remove(&object("a/c")).is_none() && store.remove(&object("c/a")).is_none());
        assert!(store.remove(&object("b/a")).is_some_and(|change| change.after.is_none()));
        assert_eq!(places(store.iter()), ["/z", "a/a", "a/b"]);
    }

    #[test]
    fn a_list_reports_new_present_and_deleted_objects() {
        let mut store = Store::default();
        let mut replaced = |places: &[&str]| {
            let changes = store.replace(places.iter().map(|place| object(place)).collect());
            let sides = |change: &Change<ConfigMap>| match (&change.before, &change.after) {
                (None, _) => "new",
                (_, None) => "gone",
                _ => "there",
            };
            let name = |change: &Change<ConfigMap>| key_of(&**change.object()).1.to_owned();
            changes.iter().map(|change| format!("{} {}", name(change), sides(change))).collect::<Vec<_>>()
        };
        assert_eq!(replaced(&["n/b", "n/a"]), ["a new", "b new"]);
        assert_eq!(replaced(&["n/c", "n/b"]), ["b there", "c new", "a gone"]);
        assert_eq!(replaced(&[]), ["b gone", "c gone"]);
    }
}
