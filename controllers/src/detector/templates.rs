//! The stores of templates, one for each kind that is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{Stream, StreamExt, stream};
use kube::api::ApiResource;

use crate::api::{ObjectReference, RawObject, binding_name};
use crate::machinery::Informer;

/// API version and kind.
pub(crate) type KindKey = (String, String);

/// The stores of templates, and the subscribers to changes in them.
#[derive(Default)]
pub(crate) struct Templates {
    kinds: Mutex<BTreeMap<KindKey, (ApiResource, Informer<RawObject>)>>,
    bindings: Mutex<Vec<UnboundedSender<(String, String)>>>,
    requested_kinds: Mutex<RequestedKinds>,
}

/// The requested kinds, and the subscribers to further requests.
#[derive(Default)]
struct RequestedKinds {
    kinds: BTreeSet<KindKey>,
    subscribers: Vec<UnboundedSender<KindKey>>,
}

impl Templates {
    /// The template of a binding, with the resource of its kind.
    /// `Ok(None)`: the template does not exist. `Err`: templates of that kind are not known yet.
    pub(crate) fn get(
        &self,
        resource: &ObjectReference,
    ) -> Result<Option<(ApiResource, Arc<RawObject>)>, ()> {
        let (kind, store) = self.of_kind(&(resource.api_version.clone(), resource.kind.clone())).ok_or(())?;
        Ok(store.get(&resource.namespace, &resource.name).map(|template| (kind, template)))
    }

    /// All templates of a kind, with the resource of the kind; `None` where they are not known yet.
    pub(crate) fn of_kind(&self, key: &KindKey) -> Option<(ApiResource, Informer<RawObject>)> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The templates of all kinds that are known.
    pub(crate) fn all(&self) -> Vec<Arc<RawObject>> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.values().flat_map(|(_, store)| store.list()).collect()
    }

    /// The bindings whose template changes, by namespace (empty for a cluster-scoped binding) and name.
    pub(crate) fn changed_bindings(&self) -> UnboundedReceiver<(String, String)> {
        let (sender, receiver) = unbounded();
        self.bindings.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Requests a watch of the templates of a kind. Once they are known, their bindings count as changed.
    pub(crate) fn request_kind(&self, key: KindKey) {
        let mut requested = self.requested_kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if requested.kinds.insert(key.clone()) {
            requested.subscribers.retain(|subscriber| subscriber.unbounded_send(key.clone()).is_ok());
        }
    }

    /// The requested kinds, and then those that are requested later.
    pub(super) fn requested_kinds(&self) -> impl Stream<Item = KindKey> + Send + use<> {
        let mut requested = self.requested_kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, receiver) = unbounded();
        requested.subscribers.push(sender);
        stream::iter(requested.kinds.clone()).chain(receiver)
    }

    pub(super) fn insert(&self, key: KindKey, kind: ApiResource, store: Informer<RawObject>) {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (kind, store));
    }

    pub(super) fn remove(&self, key: &KindKey) {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    pub(super) fn notify_bindings(&self, kind: &str, namespace: &str, name: &str) {
        let binding = (namespace.to_owned(), binding_name(kind, name));
        let mut subscribers = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| subscriber.unbounded_send(binding.clone()).is_ok());
    }
}
