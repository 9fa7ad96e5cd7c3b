//! The stores of templates, one for each kind that a policy selects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::api::{ApiResource, DynamicObject};

use crate::api::{ObjectReference, binding_name};
use crate::machinery::Informer;

/// API version and kind.
pub(super) type KindKey = (String, String);

/// The stores of templates, and who is told of changes in them.
#[derive(Default)]
pub(crate) struct Templates {
    kinds: Mutex<BTreeMap<KindKey, (ApiResource, Informer<DynamicObject>)>>,
    bindings: Mutex<Vec<UnboundedSender<(String, String)>>>,
}

impl Templates {
    /// The template that a binding is for, with what its kind is called in paths. `Ok(None)`: there is no such
    /// template. `Err`: templates of that kind are not known yet.
    pub(crate) fn get(
        &self,
        resource: &ObjectReference,
    ) -> Result<Option<(ApiResource, Arc<DynamicObject>)>, ()> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, store) = kinds.get(&(resource.api_version.clone(), resource.kind.clone())).ok_or(())?;
        Ok(store.get(&resource.namespace, &resource.name).map(|template| (kind.clone(), template)))
    }

    /// What a kind is called in paths, where its templates are known.
    pub(super) fn kind(&self, resource: &ObjectReference) -> Option<ApiResource> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (resource.api_version.clone(), resource.kind.clone());
        kinds.get(&key).map(|(kind, _)| kind.clone())
    }

    /// The bindings whose template changes, by namespace (empty for a cluster-scoped one) and name.
    pub(crate) fn changed_bindings(&self) -> UnboundedReceiver<(String, String)> {
        let (sender, receiver) = unbounded();
        self.bindings.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    pub(super) fn insert(&self, key: KindKey, kind: ApiResource, store: Informer<DynamicObject>) {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (kind, store));
    }

    pub(super) fn tell(&self, kind: &str, namespace: &str, name: &str) {
        let binding = (namespace.to_owned(), binding_name(kind, name));
        let mut subscribers = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| subscriber.unbounded_send(binding.clone()).is_ok());
    }
}
