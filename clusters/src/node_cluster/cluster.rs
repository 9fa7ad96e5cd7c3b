//! The cluster: its API server, its nodes, and the tasks that simulate its components.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use capsize_apiserver::{ApiServer, Builder};
use capsize_clock::Simulation;
use capsize_sorted::CollectSorted;
use tokio::task::JoinSet;

use super::kubelet::{Kubelet, KubeletGuard, NodeFault, Signals};
use super::kubelets::LeaseWriter;
use super::{Stages, event_loop, kubelets};

/// The description of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSpec {
    /// The nodes, by name.
    pub nodes: BTreeMap<String, NodeSpec>,
    /// The duration of each stage.
    pub stages: Stages,
    /// True if the terminating pods of a node with the taint `out-of-service` are removed.
    /// Kubernetes removes such pods from release 1.24 on.
    pub collects_pods_out_of_service: bool,
}

/// The description of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// The region of the node, if it has one.
    pub region: Option<String>,
    /// The zone of the node, if it has one.
    pub zone: Option<String>,
    /// The labels of the node besides region and zone.
    pub labels: BTreeMap<String, String>,
    /// The capacity of the node for each resource, including `pods`.
    pub room: BTreeMap<String, String>,
    /// Whether the kubelet does nothing until [`Cluster::join`].
    pub joins_later: bool,
}

impl Default for NodeSpec {
    fn default() -> Self {
        let room = [("cpu", "64"), ("memory", "256Gi"), ("pods", "110")];
        let room = room.map(|(resource, amount)| (resource.to_owned(), amount.to_owned())).into();
        Self { region: None, zone: None, labels: BTreeMap::new(), room, joins_later: false }
    }
}

/// The state of the nodes that the tasks share.
pub(super) type Nodes = Arc<BTreeMap<String, Machine>>;

/// The state of a node outside its object.
#[derive(Debug)]
pub(super) struct Machine {
    pub spec: NodeSpec,
    pub kubelet: Kubelet,
    /// Keeps the kubelet silent until the node joins.
    absence: Mutex<Option<KubeletGuard>>,
    ready_status: Mutex<Option<String>>,
}

impl Machine {
    /// Returns true if the condition `Ready` in the object has the status `ready`.
    pub(super) fn has_ready_status(&self, ready: &str) -> bool {
        self.ready_status.lock().unwrap_or_else(PoisonError::into_inner).as_deref() == Some(ready)
    }

    pub(super) fn set_ready_status(&self, ready: Option<String>) {
        *self.ready_status.lock().unwrap_or_else(PoisonError::into_inner) = ready;
    }
}

/// The input of the event loop besides the API server.
pub(super) struct SharedState {
    pub stages: Stages,
    pub machines: Nodes,
    /// Whether terminating pods of nodes that are out of service are removed.
    pub collects: bool,
}

/// A cluster with nodes. Dropping it stops its tasks.
pub struct Cluster {
    api: ApiServer,
    machines: Nodes,
    _life: JoinSet<()>,
}

impl Cluster {
    /// Starts an embedded API server with these nodes, on the current runtime.
    /// The clock of `run` is that of the control plane; nodes have their own clocks.
    #[must_use]
    pub fn start(run: Simulation, spec: &ClusterSpec) -> Self {
        Self::start_with(run, spec, |server| server)
    }

    /// As [`Self::start`], with an API server that `set_up` has configured.
    #[must_use]
    pub fn start_with(run: Simulation, spec: &ClusterSpec, set_up: impl Fn(Builder) -> Builder) -> Self {
        let api = ApiServer::builder(run.clock, run.seed.stream("control-plane")).name("control-plane");
        let api = set_up(api).build();
        let signals = Signals::default();
        let machine = |(name, spec): (&String, &NodeSpec)| {
            let kubelet = Kubelet::new(signals.clone());
            let absence = spec.joins_later.then(|| kubelet.apply(NodeFault::Silent));
            let (spec, absence) = (spec.clone(), Mutex::new(absence));
            (name.clone(), Machine { spec, kubelet, absence, ready_status: Mutex::default() })
        };
        let machines: Nodes = Arc::new(spec.nodes.iter().map(machine).collect_sorted());
        let mut tasks = JoinSet::new();
        let (client, stages) = (api.client(), spec.stages.clone());
        let (beats, chance) = (run.seed.stream("heartbeats"), run.seed.stream("stages"));
        let clock = run.clock.apart();
        let writer = LeaseWriter::new(client.clone(), clock, stages.clone(), Arc::clone(&machines));
        tasks.spawn(kubelets::run(writer, signals.shuts_down, beats));
        let collects = spec.collects_pods_out_of_service;
        let shared = SharedState { stages, machines: Arc::clone(&machines), collects };
        tasks.spawn(event_loop::run((client, clock), shared, signals.changed, chance));
        Self { api, machines, _life: tasks }
    }

    /// The API server of the cluster.
    #[must_use]
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// Lets a node that joins later register at its next heartbeat.
    pub fn join(&self, node: &str) {
        if let Some(machine) = self.machines.get(node) {
            *machine.absence.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// The kubelet of a node, for fault injection.
    #[must_use]
    pub fn kubelet(&self, node: &str) -> Option<&Kubelet> {
        self.machines.get(node).map(|machine| &machine.kubelet)
    }
}
