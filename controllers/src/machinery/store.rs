//! The objects of a kind, by namespace and name, with indexes. The caller reports every change.
//!
//! The maps hold objects of any kind, so that their code is compiled once and not once for each kind.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use capsize_sorted::CollectSorted;
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

/// An object of the store's kind.
type AnyObject = Arc<dyn Any + Send + Sync>;

/// Objects by namespace (empty for cluster-scoped kinds), and then by name.
#[derive(Default)]
struct Objects(BTreeMap<String, BTreeMap<String, AnyObject>>);

/// The objects, and their indexes.
pub(super) struct Store<K> {
    objects: Objects,
    /// The indexes, with their names.
    indexes: Vec<(&'static str, Index<K>)>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: Objects::default(), indexes: Vec::new(), kind: PhantomData }
    }
}

impl<K: Resource + Send + Sync + 'static> Store<K> {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.objects.get(namespace, name).map(of_kind)
    }

    /// Whether there are no objects.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.0.is_empty()
    }

    /// All objects in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Arc<K>> {
        self.objects.iter().map(of_kind)
    }

    /// Indexes all objects by `keys`.
    pub(super) fn add_index(&mut self, name: &'static str, keys: KeysOf<K>) {
        let mut index = Index::new(keys);
        for object in self.iter() {
            index.update(&Change { before: None, after: Some(object) });
        }
        self.indexes.push((name, index));
    }

    /// The objects with this key in an index, in order.
    pub(super) fn by(&self, index: &str, key: &str) -> impl Iterator<Item = Arc<K>> {
        let named = self.indexes.iter().find(|(name, _)| *name == index);
        let (_, index) = named.expect("a store is made with its indexes");
        index.with_key(key).filter_map(|(namespace, name)| self.get(namespace, name))
    }

    /// Stores an object that is new or has changed.
    pub(super) fn put(&mut self, object: K) -> Change<K> {
        let after = Arc::new(object);
        let before = self.insert(&after);
        self.with_indexes_updated(Change { before, after: Some(after) })
    }

    /// Removes an object; `None` where it was not in the store.
    pub(super) fn remove(&mut self, object: &K) -> Option<Change<K>> {
        let (namespace, name) = key_of(object);
        let before = self.objects.remove(namespace, name)?;
        Some(self.with_indexes_updated(Change { before: Some(of_kind(&before)), after: None }))
    }

    /// Replaces all objects by these.
    pub(super) fn replace(&mut self, objects: Vec<K>) -> Vec<Change<K>> {
        let mut gone = std::mem::take(&mut self.objects);
        for object in objects {
            self.insert(&Arc::new(object));
        }
        let present = self.iter().map(|after: Arc<K>| {
            let (namespace, name) = key_of(&*after);
            Change { before: gone.remove(namespace, name).as_ref().map(of_kind), after: Some(after) }
        });
        let mut changes: Vec<_> = present.collect();
        changes.extend(gone.iter().map(|object| Change { before: Some(of_kind(object)), after: None }));
        changes.into_iter().map(|change| self.with_indexes_updated(change)).collect()
    }

    fn insert(&mut self, object: &Arc<K>) -> Option<Arc<K>> {
        let (namespace, name) = key_of(&**object);
        let object: AnyObject = Arc::<K>::clone(object);
        self.objects.insert(namespace, name, object).as_ref().map(of_kind)
    }

    fn with_indexes_updated(&mut self, change: Change<K>) -> Change<K> {
        self.indexes.iter_mut().for_each(|(_, index)| index.update(&change));
        change
    }
}

impl Objects {
    fn get(&self, namespace: &str, name: &str) -> Option<&AnyObject> {
        self.0.get(namespace)?.get(name)
    }

    fn iter(&self) -> impl Iterator<Item = &AnyObject> {
        self.0.values().flat_map(BTreeMap::values)
    }

    fn insert(&mut self, namespace: &str, name: &str, object: AnyObject) -> Option<AnyObject> {
        if let Some(objects) = self.0.get_mut(namespace) {
            return match objects.get_mut(name) {
                Some(known) => Some(std::mem::replace(known, object)),
                None => objects.insert(name.to_owned(), object),
            };
        }
        self.0.insert(namespace.to_owned(), [(name.to_owned(), object)].collect_sorted());
        None
    }

    fn remove(&mut self, namespace: &str, name: &str) -> Option<AnyObject> {
        let objects = self.0.get_mut(namespace)?;
        let removed = objects.remove(name)?;
        if objects.is_empty() {
            self.0.remove(namespace);
        }
        Some(removed)
    }
}

/// The object as one of its kind. A store holds objects of one kind only.
fn of_kind<K: Send + Sync + 'static>(object: &AnyObject) -> Arc<K> {
    Arc::clone(object).downcast().expect("a store holds objects of one kind only")
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

    fn places(store: &Store<ConfigMap>) -> Vec<String> {
        let place = |object: Arc<ConfigMap>| {
            let (namespace, name) = key_of(&*object);
            format!("{namespace}/{name}")
        };
        store.iter().map(place).collect()
    }

    #[test]
    fn objects_are_in_order_of_namespace_and_name() {
        let mut store = Store::default();
        for object in ["b/a", "/z", "a/b", "a/a"].map(object) {
            assert!(store.put(object).before.is_none());
        }
        assert_eq!(places(&store), ["/z", "a/a", "a/b", "b/a"]);
        assert!(store.put(object("a/a")).before.is_some());
        assert!(store.remove(&object("a/c")).is_none() && store.remove(&object("c/a")).is_none());
        assert!(store.remove(&object("b/a")).is_some_and(|change| change.after.is_none()));
        assert_eq!(places(&store), ["/z", "a/a", "a/b"]);
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
