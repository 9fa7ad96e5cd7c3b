//! Backups of a server, and restores, as with the etcd of a real cluster.

use std::sync::Arc;

use crate::endpoint::discovery::Documents;
use crate::kind::kinds::Kind;
use crate::state::{ApiServer, Inner, State};
use crate::store::Snapshot;
use crate::write::allocate::Allocations;
use crate::write::dependents::Dependents;
use crate::write::webhook::Webhooks;

/// The annotation of the bookmark about a restore of the server in the watch of a restore observer.
/// The bookmark is between the events before the restore and the events after the restore.
pub const RESTORED: &str = "capsize.dev/restored";

/// The state of a server at one moment.
/// Objects that did not change since share their memory, and clones share everything.
#[derive(Clone)]
pub struct Backup(Arc<ServerState>);

struct ServerState {
    objects: Snapshot,
    custom: Vec<Arc<Kind>>,
    dependents: Dependents,
    allocated: Allocations,
    webhooks: Arc<Webhooks>,
}

impl std::fmt::Debug for Backup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Backup").finish_non_exhaustive()
    }
}

impl ServerState {
    fn of(state: &State) -> Self {
        Self {
            objects: state.store.snapshot(),
            custom: state.custom.clone(),
            dependents: state.dependents.clone(),
            allocated: state.allocated.clone(),
            webhooks: state.webhooks.clone(),
        }
    }

    fn put_into(&self, state: &mut State, inner: &Inner) {
        // The count must change before the watches wake.
        inner.count_restore();
        state.store.restore(&self.objects);
        state.custom.clone_from(&self.custom);
        state.documents = Documents::default();
        state.dependents.clone_from(&self.dependents);
        state.allocated.clone_from(&self.allocated);
        state.webhooks = self.webhooks.clone();
        state.grants = None;
    }
}

impl ApiServer {
    /// Returns a backup of the current state.
    #[must_use]
    pub fn backup(&self) -> Backup {
        Backup(Arc::new(ServerState::of(&self.inner.state())))
    }

    /// Restores the state and the revision of `backup`.
    /// Later writes are lost, and their revisions are used again. Watches end, and cannot continue from an earlier
    /// revision.
    pub fn restore(&self, backup: &Backup) {
        backup.0.put_into(&mut self.inner.state(), &self.inner);
    }

    /// Resets the server to the state of a new server with other UIDs, and to the first revision.
    pub fn wipe(&self) {
        let mut state = self.inner.state();
        let blank = state.store.blank();
        let store = std::mem::replace(&mut state.store, blank);
        state.custom.clear();
        (state.dependents, state.allocated) = Default::default();
        (state.webhooks, state.grants) = Default::default();
        self.inner.create_default_objects(&mut state);
        let initial = ServerState::of(&state);
        state.store = store;
        initial.put_into(&mut state, &self.inner);
    }
}
