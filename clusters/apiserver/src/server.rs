//! One API server: its settings, its state behind one lock, and how it is built.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use capsize_clock::{Clock, Stream};

use crate::auth::{self, Access, Grants};
use crate::endpoint::discovery::Documents;
use crate::endpoint::metrics::Metrics;
use crate::http::failure::Failure;
use crate::http::service::ApiService;
use crate::kind::builtin::BUILTIN;
use crate::kind::kinds::{self, Kind};
use crate::store::Store;
use crate::write::allocate::Allocated;
use crate::write::gc::Dependents;
use crate::write::webhook::{Transports, WebhookTransport, Webhooks};
use crate::write::writer::{Manager, NewObject, Writer};

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
    stopped: AtomicUsize,
    /// How often it was restored.
    restored: AtomicUsize,
    state: Mutex<State>,
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

/// How an [`ApiServer`] is set up.
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    clock: Clock,
    chance: Stream,
    name: String,
    admission: Option<Admission>,
    garbage_collector: bool,
    namespace_controller: bool,
    tracks_updates: bool,
    repeats_bookmarks: bool,
    transports: Transports,
    history_limit: usize,
    pub(crate) access: auth::Settings,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Builder {
    /// What the server calls itself in logs and in the debug output.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Asks `admission` before every write.
    pub fn admission(self, admission: Admission) -> Self {
        Self { admission: Some(admission), ..self }
    }

    /// Where a service listens that webhooks are reached by: `service` is its `namespace/name`, `url` begins with
    /// `https://` and has no path. Services that are not named here are looked up as `name.namespace.svc`.
    pub fn webhook_service(mut self, service: impl Into<String>, url: impl Into<String>) -> Self {
        self.transports.services.insert(service.into(), url.into());
        self
    }

    /// Calls webhooks by `transport`, and not over HTTPS: in the same process, on the simulation's clock.
    pub fn webhook_transport(mut self, transport: WebhookTransport) -> Self {
        self.transports.given = Some(transport);
        self
    }

    /// Whether dependents go when their owners do. On unless said otherwise.
    pub fn garbage_collector(self, on: bool) -> Self {
        Self { garbage_collector: on, ..self }
    }

    /// Whether a deleted namespace is emptied and removed. On unless said otherwise.
    pub fn namespace_controller(self, on: bool) -> Self {
        Self { namespace_controller: on, ..self }
    }

    /// Whether `managedFields` tell of every write, as in a real cluster, and not only of objects that were applied.
    /// Off unless said otherwise: it makes objects about twice as long, and simulations slower.
    pub fn track_updates(self, on: bool) -> Self {
        Self { tracks_updates: on, ..self }
    }

    /// Whether bookmarks also come where they say what the watch was told before, as a real server's do. On unless said
    /// otherwise: where time is simulated, most of what is sent may be that.
    pub fn repeat_bookmarks(self, on: bool) -> Self {
        Self { repeats_bookmarks: on, ..self }
    }

    /// How many events a kind's watches can go back; a watch from before that is told 410. 10 000 unless
    /// said otherwise. Nor can they go back for more than five minutes, the time after which a real server compacts.
    pub fn history_limit(self, events: usize) -> Self {
        Self { history_limit: events, ..self }
    }

    /// The server, with the namespaces and the service that every cluster has.
    #[must_use]
    pub fn build(self) -> ApiServer {
        let access = self.access.finish(self.chance.clone());
        let state = State {
            store: Store::new(self.clock, self.history_limit),
            custom: Vec::new(),
            documents: Documents::default(),
            dependents: Dependents::default(),
            allocated: Allocated::default(),
            chance: self.chance,
            ready: true,
            grants: None,
            webhooks: Arc::default(),
        };
        let server = ApiServer {
            inner: Arc::new(Inner {
                clock: self.clock,
                name: self.name,
                admission: self.admission,
                garbage_collector: self.garbage_collector,
                namespace_controller: self.namespace_controller,
                tracks_updates: self.tracks_updates,
                repeats_bookmarks: self.repeats_bookmarks,
                access,
                metrics: Metrics::default(),
                transports: self.transports,
                stopped: AtomicUsize::new(0),
                restored: AtomicUsize::new(0),
                state: Mutex::new(state),
            }),
        };
        server.inner.found(&mut server.inner.state());
        server
    }
}

impl Inner {
    /// Makes what every cluster has.
    pub(crate) fn found(&self, state: &mut State) {
        let namespace =
            |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let mut objects: Vec<_> =
            ["default", "kube-system", "kube-public", "kube-node-lease"].map(namespace).into();
        objects.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes",
            "namespace": "default", "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"clusterIP": "10.96.0.1",
                "ipFamilyPolicy": "SingleStack", "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]}}));
        if self.access.rbac {
            objects.extend(auth::bootstrap_objects());
        }
        self.install(state, objects).expect("these are valid");
    }

    fn install(&self, state: &mut State, objects: Vec<Value>) -> Result<(), InstallError> {
        for object in objects {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
            let mut writer = Writer::new(self, state);
            let created = writer.install(object);
            writer.finish();
            created.map_err(|failure| InstallError { kind, name, message: failure.message })?;
        }
        Ok(())
    }
}

/// An object that [`ApiServer::install`] was given is not one that the server would take.
#[derive(Debug, thiserror::Error)]
#[error("cannot install {kind} {name:?}: {message}")]
pub struct InstallError {
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// What is wrong with it.
    pub message: String,
}

impl ApiServer {
    /// A server that reads the time from `clock` and takes uids and name suffixes from `chance`.
    pub fn builder(clock: Clock, chance: Stream) -> Builder {
        Builder {
            clock,
            chance,
            name: "apiserver".into(),
            admission: None,
            garbage_collector: true,
            namespace_controller: true,
            tracks_updates: false,
            repeats_bookmarks: true,
            transports: Transports::default(),
            history_limit: 10_000,
            access: auth::Settings::default(),
        }
    }

    /// What the server calls itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// A client that calls the server directly, with no network between. Needs a tokio runtime around it.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client as [`Self::client`], whose watches do not end when the server is restored: they are told what is other than
    /// before as changes, behind a bookmark with the annotation [`RESTORED`](crate::RESTORED). So one can follow what the
    /// server holds through all that becomes of it.
    #[must_use]
    pub fn onlooker(&self) -> kube::Client {
        kube::Client::new(self.service().for_onlookers(), "default")
    }

    /// The server as a service of HTTP requests.
    #[must_use]
    pub fn service(&self) -> ApiService {
        ApiService::new(self.clone())
    }

    /// Answers every request with 503 until the guard is dropped, but for those of onlookers.
    #[must_use = "the server answers again when the guard is dropped"]
    pub fn stop(&self) -> Stopped {
        self.inner.stopped.fetch_add(1, Ordering::Relaxed);
        Stopped(self.inner.clone())
    }

    /// Makes `/readyz`, `/healthz` and `/livez` answer 200 or 500. Other requests are served either way.
    pub fn set_ready(&self, ready: bool) {
        self.inner.state().ready = ready;
    }

    /// Creates objects without a client, in order, as the server itself would: it owns their fields.
    ///
    /// # Errors
    /// Names the first object that is refused; those before it have been created.
    pub fn install(&self, objects: Vec<Value>) -> Result<(), InstallError> {
        self.inner.install(&mut self.inner.state(), objects)
    }
}

/// A server that is stopped.
#[derive(Debug)]
pub struct Stopped(Arc<Inner>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stopped.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Writer<'_> {
    fn install(&mut self, object: Value) -> Result<(), Failure> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&object["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let wanted = text(&object["kind"]);
        let named = |kind: &&Arc<Kind>| kind.group == group && kind.version == version && kind.kind == wanted;
        let kind = self.state.kinds().find(named).cloned().ok_or_else(Failure::no_resource)?;
        let namespace = match text(&object["metadata"]["namespace"]) {
            namespace if namespace.is_empty() && kind.traits.namespaced => "default".to_owned(),
            namespace => namespace,
        };
        let manager = Manager { name: "kube-apiserver", tracked: false };
        let new = NewObject { kind: &kind, namespace: &namespace, name: "", object, dry_run: false, manager };
        self.create(new).map(drop)
    }
}
