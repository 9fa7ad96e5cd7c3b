//! Passes Works with drifted copies from the work status controller to the execution controller.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::runtime::reflector::ObjectRef;

use super::per_object::{Key, key};
use crate::api::Work;

/// The drifted Works and their subscriber. Works that are reported before the subscription are lost.
#[derive(Default)]
pub(crate) struct DriftedWorks(Mutex<State>);

#[derive(Default)]
struct State {
    listener: Option<UnboundedSender<ObjectRef<Work>>>,
    /// The drifted Works that have not been repaired yet.
    works: BTreeSet<Key>,
}

impl DriftedWorks {
    /// Subscribes to the drifted Works that are reported from now on.
    pub(crate) fn subscribe(&self) -> UnboundedReceiver<ObjectRef<Work>> {
        let (sender, receiver) = unbounded();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listener = Some(sender);
        receiver
    }

    /// Reports that the copy of this Work was deleted or edited.
    pub(crate) fn report(&self, work: &Work) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(listener) = &state.listener else { return };
        // Sending fails only while the controllers are being stopped.
        let _ = listener.unbounded_send(ObjectRef::from_obj(work));
        state.works.insert(key(work));
    }

    /// Whether the copy of this Work was reported as deleted or edited, and has not been repaired since.
    pub(crate) fn contains(&self, work: &Work) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).works.contains(&key(work))
    }

    /// The copy of this Work has been repaired, or the Work is being deleted.
    pub(crate) fn resolve(&self, work: &Work) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).works.remove(&key(work));
    }
}
