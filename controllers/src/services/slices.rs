//! One watch of slices per member that exports a Service, kept while the member is in the fleet.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::StreamExt;
use futures::channel::mpsc::UnboundedSender;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ApiResource;
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;

use crate::api::{LABEL_SERVICE_NAME, RawObject};
use crate::machinery::{Context, Informer};

/// A Service of a member: the member, the Service's namespace and its name.
pub(super) type ExportedService = (String, String, String);

/// A store of a member's slices, and the task that forwards its changes.
struct Watch {
    store: Informer<RawObject>,
    _forwarding: JoinSet<()>,
}

/// All watches, by member.
pub(super) struct Slices {
    watches: Mutex<BTreeMap<String, Watch>>,
    changed: UnboundedSender<ExportedService>,
}

impl Slices {
    /// Starts without watches. `changed` receives the Services whose slices change.
    pub(super) fn new(changed: UnboundedSender<ExportedService>) -> Self {
        Self { watches: Mutex::default(), changed }
    }

    /// The slices of a member, once all of them are known; the first call starts the watch.
    pub(super) fn of(
        &self,
        context: &Context,
        member: &str,
        client: impl FnOnce() -> Option<Client>,
    ) -> Option<Informer<RawObject>> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = watches.get(member) {
            return Some(watch.store.clone()).filter(Informer::is_ready);
        }
        let kind = ApiResource::erase::<EndpointSlice>(&());
        let store = Informer::dynamic(Api::all_with(client()?, &kind), context.member_watch(), &kind);
        let mut forwarding = JoinSet::new();
        forwarding.spawn(forward_changes(member.to_owned(), store.clone(), self.changed.clone()));
        watches.insert(member.to_owned(), Watch { store, _forwarding: forwarding });
        None
    }

    /// Ends the watch of a member that has left the fleet.
    pub(super) fn forget(&self, member: &str) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).remove(member);
    }
}

async fn forward_changes(
    member: String,
    store: Informer<RawObject>,
    changed: UnboundedSender<ExportedService>,
) {
    let mut changes = std::pin::pin!(store.changes());
    store.ready().await;
    // A Service without a slice waits for this as well. Sending fails only while the controllers are being stopped.
    let _ = changed.unbounded_send((member.clone(), String::new(), String::new()));
    while let Some(change) = changes.next().await {
        for slice in change.before.iter().chain(&change.after) {
            if let Some(service) = slice.labels().get(LABEL_SERVICE_NAME) {
                let namespace = slice.namespace().unwrap_or_default();
                let _ = changed.unbounded_send((member.clone(), namespace, service.clone()));
            }
        }
    }
}
