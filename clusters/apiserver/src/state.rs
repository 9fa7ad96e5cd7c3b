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

/// The write that an admission function decides about.
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
    /// The write is a dry run: nothing is stored.
    pub dry_run: bool,
}

/// An in-process admission function: `Ok(Some(object))` changes the object, `Err` refuses the request. It must
/// not call the server that asks it. The server does not ask it about `/status`.
pub type Admission = Arc<dyn Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync>;

/// An embedded Kubernetes API server. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(crate) inner: Arc<Inner>,
}

/// The settings and the state that all handles of a server share.
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
    /// How many `Stopped` guards exist. The server is stopped while there is one.
    pub stopped: AtomicUsize,
    /// How often it was restored.
    pub restored: AtomicUsize,
    pub state: Mutex<State>,
}

/// The part of a server that changes while it runs.
pub(crate) struct State {
    pub store: Store,
    /// The custom kinds, sorted by [`Kind::path`].
    pub custom: Vec<Arc<Kind>>,
    /// The documents of aggregated discovery. They are made anew when the kinds change.
    pub documents: Documents,
    pub dependents: Dependents,
    pub allocated: Allocated,
    pub chance: Stream,
    pub ready: bool,
    /// The permissions by user. `None` after a role or a binding was written, until they are needed again.
    pub grants: Option<Arc<Grants>>,
    /// The admission webhooks that are configured.
    pub webhooks: Arc<Webhooks>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Inner {
    /// Whether the server answers only onlookers.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > 0
    }

    /// How often the server was restored or wiped. The number changes only while the state is locked.
    pub(crate) fn restored(&self) -> usize {
        self.restored.load(Ordering::Relaxed)
    }

    /// Counts one more restore.
    pub(crate) fn note_restored(&self) {
        self.restored.fetch_add(1, Ordering::Relaxed);
    }

    /// Locks the state. The guard must not be held across an await.
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
