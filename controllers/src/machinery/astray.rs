//! What the work status controller tells the execution controller: which Works have objects that are not as they say.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::runtime::reflector::ObjectRef;

use super::notes::{Key, key};
use crate::api::Work;

/// The way from the one to the other. What is told while nobody listens is lost.
#[derive(Default)]
pub(crate) struct Astray(Mutex<State>);

#[derive(Default)]
struct State {
    listener: Option<UnboundedSender<ObjectRef<Work>>>,
    /// Those that have not been seen to.
    works: BTreeSet<Key>,
}

impl Astray {
    /// What is found from now on.
    pub(crate) fn found(&self) -> UnboundedReceiver<ObjectRef<Work>> {
        let (sender, receiver) = unbounded();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listener = Some(sender);
        receiver
    }

    /// The object of this Work is deleted or edited.
    pub(crate) fn tell(&self, work: &Work) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(listener) = &state.listener else { return };
        // It fails only when the controllers are being stopped.
        let _ = listener.unbounded_send(ObjectRef::from_obj(work));
        state.works.insert(key(work));
    }

    /// Whether the object of this Work has been found deleted or edited since that was last seen to.
    pub(crate) fn is(&self, work: &Work) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).works.contains(&key(work))
    }

    /// It has been seen to.
    pub(crate) fn settle(&self, work: &Work) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).works.remove(&key(work));
    }
}
