//! What a server held at one moment, and how it comes to hold that again: as one does whose etcd is restored from a snapshot,
//! or made anew.

use std::sync::Arc;

use crate::endpoint::discovery::Documents;
use crate::kind::kinds::Kind;
use crate::state::{ApiServer, Inner, State};
use crate::store::Snapshot;
use crate::write::allocate::Allocated;
use crate::write::dependents::Dependents;
use crate::write::webhook::Webhooks;

/// The annotation of the bookmark that parts what an onlooker's watch tells of before the server was restored from what it
/// tells after that.
pub const RESTORED: &str = "capsize.dev/restored";

/// What a server held at one moment. Objects that are the same since take no room; clones share all of it.
#[derive(Clone)]
pub struct Backup(Arc<Held>);

struct Held {
    objects: Snapshot,
    custom: Vec<Arc<Kind>>,
    dependents: Dependents,
    allocated: Allocated,
    webhooks: Arc<Webhooks>,
}

impl std::fmt::Debug for Backup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Backup").finish_non_exhaustive()
    }
}

impl Held {
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
        // Before the watches wake.
        inner.note_restored();
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
    /// What the server holds now.
    #[must_use]
    pub fn backup(&self) -> Backup {
        Backup(Arc::new(Held::of(&self.inner.state())))
    }

    /// Holds what it held when `backup` was made, and is at the revision of that again: what was written since has never
    /// been, and its revisions are given again. Watches end, and cannot go on from before.
    pub fn restore(&self, backup: &Backup) {
        backup.0.put_into(&mut self.inner.state(), &self.inner);
    }

    /// Holds what a new server does, made anew with other UIDs, from the first revision on.
    pub fn wipe(&self) {
        let mut state = self.inner.state();
        let blank = state.store.blank();
        let store = std::mem::replace(&mut state.store, blank);
        state.custom.clear();
        (state.dependents, state.allocated) = Default::default();
        (state.webhooks, state.grants) = Default::default();
        self.inner.found(&mut state);
        let founded = Held::of(&state);
        state.store = store;
        founded.put_into(&mut state, &self.inner);
    }
}
