//! Sets up and builds a server with the default namespaces, roles and service of every cluster.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use capsize_clock::{Clock, Seed, Stream};

use crate::auth;
use crate::endpoint::discovery::Documents;
use crate::endpoint::metrics::Metrics;
use crate::http::failure::Failure;
use crate::kind::defaults::DefaultTolerations;
use crate::kind::kinds::Kind;
use crate::state::{Admission, ApiServer, Inner, State};
use crate::store::Store;
use crate::write::allocate::Allocations;
use crate::write::dependents::Dependents;
use crate::write::webhook::{Transports, WebhookTransport};
use crate::write::writer::{Manager, NewObject, Writer};

/// The entry point outside of simulations: [`Server::builder`] sets up an [`ApiServer`].
#[derive(Clone, Copy, Debug)]
pub enum Server {}

impl Server {
    /// Sets up a server that uses the machine's clock.
    /// The server keeps `managedFields` for every write, as real servers do. Its UIDs come from a fixed seed, so the
    /// same requests get the same UIDs every time.
    pub fn builder() -> Builder {
        ApiServer::builder(Clock::real(), Seed(1).stream("api")).track_updates(true)
    }
}

/// The settings of an [`ApiServer`] that is not built yet.
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
    default_tolerations: DefaultTolerations,
    pub(crate) access: auth::Settings,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets the name of the server in logs and in debug output.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Asks `admission` before every write.
    pub fn admission(self, admission: Admission) -> Self {
        Self { admission: Some(admission), ..self }
    }

    /// Sets the address of a service of webhooks.
    /// `service` is the `namespace/name` of the service. `url` begins with `https://` and has no path. The server looks
    /// up services without an address as `name.namespace.svc`.
    pub fn webhook_service(mut self, service: impl Into<String>, url: impl Into<String>) -> Self {
        self.transports.services.insert(service.into(), url.into());
        self
    }

    /// Calls webhooks through `transport` instead of HTTPS.
    /// The calls stay in the same process, and they use the clock of the simulation.
    pub fn webhook_transport(mut self, transport: WebhookTransport) -> Self {
        self.transports.given = Some(transport);
        self
    }

    /// Sets whether dependents are deleted with their owners. The default is on.
    pub fn garbage_collector(self, on: bool) -> Self {
        Self { garbage_collector: on, ..self }
    }

    /// Sets whether a deleted namespace is emptied and removed. The default is on.
    pub fn namespace_controller(self, on: bool) -> Self {
        Self { namespace_controller: on, ..self }
    }

    /// Sets whether every object has `managedFields`, or only objects that a client has applied.
    /// A real cluster records every write. The default is off, because recording every write doubles the size of
    /// objects and slows simulations down.
    pub fn track_updates(self, on: bool) -> Self {
        Self { tracks_updates: on, ..self }
    }

    /// Sets whether a watch gets bookmarks that repeat its last revision, as in a real server.
    /// The default is on. In a simulation, such bookmarks can be most of the traffic.
    pub fn repeat_bookmarks(self, on: bool) -> Self {
        Self { repeats_bookmarks: on, ..self }
    }

    /// Sets how many watch events of each kind are kept. The default is 10 000.
    /// Watches that start in the past get these events.
    /// A watch that starts earlier gets 410. No event is kept for more than five minutes, the time after which a real
    /// server compacts.
    pub fn history_limit(self, events: usize) -> Self {
        Self { history_limit: events, ..self }
    }

    /// Sets for how many seconds a pod without its own tolerations tolerates a failed node.
    /// `not_ready` is for a node that is not ready, as `--default-not-ready-toleration-seconds`. `unreachable` is for a
    /// node that is unreachable, as `--default-unreachable-toleration-seconds`. The default is 300 for both.
    pub fn default_tolerations(self, not_ready: u64, unreachable: u64) -> Self {
        Self { default_tolerations: DefaultTolerations { not_ready, unreachable }, ..self }
    }

    /// Builds the server with the default objects of every cluster.
    #[must_use]
    pub fn build(self) -> ApiServer {
        let access = self.access.finish(self.chance.clone());
        let state = State {
            store: Store::new(self.clock, self.history_limit),
            custom: Vec::new(),
            documents: Documents::default(),
            dependents: Dependents::default(),
            allocated: Allocations::default(),
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
                default_tolerations: self.default_tolerations,
                access,
                metrics: Metrics::default(),
                transports: self.transports,
                stopped: AtomicUsize::new(0),
                restored: AtomicUsize::new(0),
                state: Mutex::new(state),
            }),
        };
        server.inner.create_default_objects(&mut server.inner.state());
        server
    }
}

impl Inner {
    /// Creates the default objects of every cluster.
    pub(crate) fn create_default_objects(&self, state: &mut State) {
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

    pub(crate) fn install(&self, state: &mut State, objects: Vec<Value>) -> Result<(), InstallError> {
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

/// The server refused an object for [`ApiServer::install`].
#[derive(Debug, thiserror::Error)]
#[error("cannot install {kind} {name:?}: {message}")]
pub struct InstallError {
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The reason of the refusal.
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
            default_tolerations: DefaultTolerations::default(),
            access: auth::Settings::default(),
        }
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
