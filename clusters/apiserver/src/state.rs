//! The state of one API server behind its lock, and what every handle of the server shares.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use capsize_clock::{Clock, Stream};

use crate::auth::{Access, Grants};
use crate::endpoint::discovery::Documents;
use crate::endpoint::metrics::Metrics;
use crate::kind::builtin::BUILTIN;
use crate::kind::kinds::{self, Kind};
use crate::store::Store;
use crate::write::allocate::Allocated;
use crate::write::dependents::Dependents;
use crate::write::webhook::{Transports, Webhooks};

/// What an admission function is asked about.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: &'a str,
    /// The API group of the object's kind; empty for the core group.
    pub group: &'a str,
    /// The object's kind.
    pub kind: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// The object as it would be stored; `None` for a delete.
    pub object: Option<&'a Value>,
    /// The object as it is stored; `None` for a create.
    pub old: Option<&'a Value>,
    /// Nothing will be stored.
    pub dry_run: bool,
}

/// An in-process admission function: `Ok(Some(object))` changes the object, `Err` refuses the request. It must
/// not call the server that asks it. As webhooks that do not name it in their rules, it is not asked about `/status`.
pub type Admission = Arc<dyn Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync>;

/// An embedded Kubernetes API server. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(crate) inner: Arc<Inner>,
}

/// What all handles of a server share.
pub(crate) struct Inner {
    pub clock: Clock,
    pub name: String,
    pub admission: Option<Admission>,
    pub garbage_collector: bool,
    pub namespace_controller: bool,
    pub tracks_updates: bool,
    pub repeats_bookmarks: bool,
    pub access: Access,
    pub metrics: Metrics,
    pub transports: Transports,
    /// By how many it is stopped.
    pub stopped: AtomicUsize,
    /// How often it was restored.
    pub restored: AtomicUsize,
    pub state: Mutex<State>,
}

/// What changes while a server runs.
pub(crate) struct State {
    pub store: Store,
    /// The kinds that definitions have made, sorted by [`Kind::path`].
    pub custom: Vec<Arc<Kind>>,
    /// What discovery answers, so long as the kinds stay as they are.
    pub documents: Documents,
    pub dependents: Dependents,
    pub allocated: Allocated,
    pub chance: Stream,
    pub ready: bool,
    /// The roles and bindings as they are asked for; none since one of them was written.
    pub grants: Option<Arc<Grants>>,
    /// The admission webhooks, as they are configured.
    pub webhooks: Arc<Webhooks>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Inner {
    /// Whether it answers onlookers alone.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > 0
    }

    /// How often it was restored, or made anew. Only changes with the state.
    pub(crate) fn restored(&self) -> usize {
        self.restored.load(Ordering::Relaxed)
    }

    /// It has been once more.
    pub(crate) fn note_restored(&self) {
        self.restored.fetch_add(1, Ordering::Relaxed);
    }

    /// The state, for as long as the guard lives. Never held across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The kind behind a path, built in or custom.
    pub(crate) fn kind(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        kinds::find(&BUILTIN, group, version, plural)
            .or_else(|| kinds::find(&self.custom, group, version, plural))
    }

    /// The kind, in the version that is stored, whose objects are in the table called `storage`.
    pub(crate) fn kind_of(&self, storage: &str) -> Option<&Arc<Kind>> {
        let mut kinds = self.kinds().filter(|kind| &*kind.storage == storage);
        let first = kinds.next()?;
        Some(std::iter::once(first).chain(kinds).find(|kind| kind.is_stored_version()).unwrap_or(first))
    }

    /// All kinds, in the order of their paths within built-in and custom ones.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        BUILTIN.iter().chain(&self.custom)
    }
}
