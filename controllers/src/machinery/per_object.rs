//! Values that a controller keeps for each object, in memory only: a restart forgets them.

use std::sync::{Mutex, PoisonError};

use indexmap::IndexMap;
use kube::Resource;

/// An object's namespace, empty for cluster-scoped ones, and its name.
pub(super) type Key = (String, String);

/// The key of an object.
pub(super) fn key(object: &impl Resource) -> Key {
    let meta = object.meta();
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

/// At most one value for each object.
#[derive(Debug)]
pub(crate) struct PerObject<V>(Mutex<IndexMap<Key, V>>);

impl<V> Default for PerObject<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V: Clone + PartialEq> PerObject<V> {
    /// The value for the object.
    pub(crate) fn get(&self, object: &impl Resource) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(object)).cloned()
    }

    /// Whether the object has exactly this value.
    pub(crate) fn equals(&self, object: &impl Resource, value: &V) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(object)) == Some(value)
    }

    /// Sets the value for the object.
    pub(crate) fn set(&self, object: &impl Resource, value: V) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key(object), value);
    }

    /// Removes the value for the object.
    pub(crate) fn forget(&self, object: &impl Resource) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).swap_remove(&key(object));
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn a_value_belongs_to_one_object_until_it_is_forgotten() {
        let object = |namespace: &str, name: &str| {
            let mut object = ConfigMap::default();
            object.metadata.namespace = Some(namespace.to_owned());
            object.metadata.name = Some(name.to_owned());
            object
        };
        let (one, other, values) = (object("a", "b"), object("b", "a"), PerObject::default());
        values.set(&one, 1);
        values.set(&one, 2);
        assert_eq!([values.get(&one), values.get(&other)], [Some(2), None]);
        assert_eq!(
            [values.equals(&one, &2), values.equals(&one, &1), values.equals(&other, &2)],
            [true, false, false]
        );
        values.forget(&one);
        assert_eq!(values.get(&one), None);
    }
}
