//! The state of one API server behind its lock, and the settings that all handles of the server share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use capsize_clock::{Clock, Stream};

use crate::auth::{Access, Grants};
use crate::endpoint::discovery::Documents;
use crate::endpoint::metrics::Metrics;
use crate::kind::builtin::BUILTIN;
use crate::kind::defaults::DefaultTolerations;
use crate::kind::kinds::{self, Kind};
use crate::store::Store;
use crate::write::allocate::Allocations;
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

/// An in-process admission function: `Ok(Some(object))` changes the object, `Err` refuses the request.
/// It must not call the server that asks it. The server does not ask it about `/status`.
pub type Admission = Arc<dyn Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync>;

/// An embedded Kubernetes API server. Clones are handles to the same server.
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
    pub default_tolerations: DefaultTolerations,
    pub access: Access,
    pub metrics: Metrics,
    pub transports: Transports,
    /// The number of `StopGuard` guards. The server is stopped while it is not zero.
    pub stopped: AtomicUsize,
    /// The number of restores.
    pub restored: AtomicUsize,
    pub state: Mutex<State>,
}

/// The part of a server that changes while it runs.
pub(crate) struct State {
    pub store: Store,
    /// The custom kinds, sorted by [`Kind::path`].
    pub custom: Vec<Arc<Kind>>,
    /// The documents of aggregated discovery. They are rebuilt when the kinds change.
    pub documents: Documents,
    pub dependents: Dependents,
    pub allocated: Allocations,
    /// The random numbers of the server.
    pub chance: Stream,
    pub ready: bool,
    /// The permissions by user. `None` after a role or a binding was written, until they are used again.
    pub grants: Option<Arc<Grants>>,
    /// The configured admission webhooks.
    pub webhooks: Arc<Webhooks>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Inner {
    /// Returns true if the server answers only restore observers.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) > 0
    }

    /// The number of restores and wipes. The number changes only while the state is locked.
    pub(crate) fn restore_count(&self) -> usize {
        self.restored.load(Ordering::Relaxed)
    }

    /// Counts a restore.
    pub(crate) fn count_restore(&self) {
        self.restored.fetch_add(1, Ordering::Relaxed);
    }

    /// Locks the state. The guard must not be held across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The kind at a path, built-in or custom.
    pub(crate) fn kind(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        kinds::find(&BUILTIN, group, version, plural)
            .or_else(|| kinds::find(&self.custom, group, version, plural))
    }

    /// The stored version of the kind whose objects are in the table called `storage`.
    pub(crate) fn kind_of(&self, storage: &str) -> Option<&Arc<Kind>> {
        let mut kinds = self.kinds().filter(|kind| &*kind.storage == storage);
        let first = kinds.next()?;
        Some(std::iter::once(first).chain(kinds).find(|kind| kind.is_stored_version()).unwrap_or(first))
    }

    /// All kinds: first built-in kinds, then custom kinds, each sorted by path.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        BUILTIN.iter().chain(&self.custom)
    }
}
