//! The context of the node controllers, and their memory of nodes and zones.
//!
//! The memory is lost at a restart, as in the real controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capsize_clock::Clock;
use indexmap::IndexMap;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use tokio::sync::Notify;

use super::trimmed::TrimmedObject;
use super::{NodeControllers, NodeMetrics, NodeSettings};
use crate::machinery::{EventRecorder, Informer, InvolvedObject, RetryDelays};
use crate::rules::Event;
use crate::rules::node::{NodeHealth, NodeRules, WaitingNodes, ZoneState};

/// The namespace of the Leases of kubelets.
pub(super) const LEASE_NAMESPACE: &str = "kube-node-lease";

/// The index of pods by the node that they are bound to.
pub(crate) const BY_NODE: &str = "node";

/// The context of the node controllers.
pub(crate) struct NodeContext {
    pub client: Client,
    pub clock: Clock,
    pub settings: NodeSettings,
    pub rules: Arc<dyn NodeRules>,
    pub metrics: NodeMetrics,
    events: EventRecorder,
    pub nodes: Informer<Node>,
    pub pods: Informer<TrimmedObject<Pod>>,
    pub leases: Informer<TrimmedObject<Lease>>,
    /// Notified when a node begins to wait for its taint.
    pub waiting: Notify,
    memory: Mutex<Memory>,
}

/// The memory of nodes and zones.
#[derive(Default)]
pub(super) struct Memory {
    /// The health of each node, which is looked up by name at each check.
    pub health: IndexMap<String, NodeHealth>,
    /// The zones that have nodes.
    pub zones: BTreeMap<String, Zone>,
    /// Nodes whose pods could not all be marked.
    pub unmarked: BTreeSet<String>,
}

/// The memory of a zone.
pub(super) struct Zone {
    pub state: ZoneState,
    pub waiting: WaitingNodes,
    /// Whether the zone starts anew at the next check.
    pub starts_anew: bool,
}

impl NodeContext {
    /// Starts the watches.
    pub(super) fn new(controllers: NodeControllers) -> Self {
        let NodeControllers { client, clock, settings, rules, metrics } = controllers;
        let pods = Informer::start(Api::<TrimmedObject<Pod>>::all(client.clone()), Config::default());
        Self {
            nodes: Informer::start(Api::all(client.clone()), Config::default()),
            pods: pods.indexed(BY_NODE, |pod| node_of(pod).map(str::to_owned).into_iter().collect()),
            leases: Informer::start(Api::namespaced(client.clone(), LEASE_NAMESPACE), Config::default()),
            waiting: Notify::new(),
            memory: Mutex::default(),
            events: EventRecorder::start(client.clone(), clock),
            client,
            clock,
            settings,
            rules,
            metrics,
        }
    }

    /// Returns when all stores have their first list.
    pub(super) async fn ready(&self) {
        self.nodes.ready().await;
        self.pods.ready().await;
        self.leases.ready().await;
    }

    /// Publishes an event about an object.
    pub(crate) fn publish<K: Resource<DynamicType = ()>>(
        &self,
        component: &'static str,
        object: &K,
        event: Event,
    ) {
        self.events.publish(component, InvolvedObject::object(object), event);
    }

    /// The memory. The lock must not be held while anything is awaited.
    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RetryDelays for NodeContext {
    fn delays(&self) -> (Duration, Duration) {
        // `workqueue.DefaultTypedControllerRateLimiter`.
        (Duration::from_millis(5), Duration::from_secs(1000))
    }
}

/// The node that a pod is bound to.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}
