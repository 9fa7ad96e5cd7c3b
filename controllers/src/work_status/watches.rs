//! One watch for each member and kind, kept as long as the member is in the fleet.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::StreamExt;
use futures::channel::mpsc::UnboundedSender;
use kube::api::ApiResource;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;

use crate::api::{RawObject, WORK_NAME, WORK_NAMESPACE, Work};
use crate::machinery::{Context, Informer};

/// A store of a member's objects, and the task that forwards the Works of changed objects.
struct Watch {
    store: Informer<RawObject>,
    _forwarding: JoinSet<()>,
}

/// The watches of a member, by API version and kind.
type ByKind = BTreeMap<(String, String), Watch>;

/// All watches, by member.
pub(super) struct Watches {
    watches: Mutex<BTreeMap<String, ByKind>>,
    changed: UnboundedSender<ObjectRef<Work>>,
}

impl Watches {
    /// Starts without watches. `changed` receives the Works whose copies change.
    pub(super) fn new(changed: UnboundedSender<ObjectRef<Work>>) -> Self {
        Self { watches: Mutex::default(), changed }
    }

    /// Returns the store of a kind in a member.
    /// The first call starts the watch of the kind with the client that `client` makes.
    pub(super) fn store(
        &self,
        context: &Context,
        member: &str,
        kind: &ApiResource,
        client: impl FnOnce() -> Option<Client>,
    ) -> Option<Informer<RawObject>> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let watches = watches.entry(member.to_owned()).or_default();
        let key = (kind.api_version.clone(), kind.kind.clone());
        if let Some(watch) = watches.get(&key) {
            return Some(watch.store.clone());
        }
        let api = Api::all_with(client()?, kind);
        let store = Informer::dynamic(api, context.member_watch(), kind);
        let mut forwarding = JoinSet::new();
        forwarding.spawn(forward_changes(store.clone(), self.changed.clone()));
        watches.insert(key, Watch { store: store.clone(), _forwarding: forwarding });
        Some(store)
    }

    /// Ends the watches of a member that has left the fleet.
    pub(super) fn forget(&self, member: &str) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).remove(member);
    }
}

async fn forward_changes(store: Informer<RawObject>, changed: UnboundedSender<ObjectRef<Work>>) {
    let mut changes = std::pin::pin!(store.changes());
    while let Some(change) = changes.next().await {
        // Both versions count, because the marks that name the Work may have been removed by hand.
        for object in change.before.iter().chain(&change.after) {
            if let Some(work) = work_of(object) {
                // Sending fails only while the controllers are being stopped.
                let _ = changed.unbounded_send(work);
            }
        }
    }
}

fn work_of(object: &RawObject) -> Option<ObjectRef<Work>> {
    let mark = |key: &str| object.annotations().get(key).or_else(|| object.labels().get(key));
    Some(ObjectRef::new(mark(WORK_NAME)?).within(mark(WORK_NAMESPACE)?))
}
