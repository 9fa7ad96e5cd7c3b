//! A simulated cluster with the reference's node controllers, and queries for tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::{Clock, Seed, Simulation, simulate};
use capsize_clusters::{Cluster, ClusterSpec, Delay, KubeletGuard, NodeFault, NodeSpec, Stages};
use capsize_controllers::rules::node::{NodeBug, NodeRelease};
use capsize_controllers::{NodeControllers, NodeMetrics, NodeSettings, RunningControllers};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

/// A cluster and its controllers.
pub(crate) struct NodeCluster {
    pub(crate) clock: Clock,
    pub(crate) cluster: Cluster,
    rules: NodeRelease,
    /// The metrics of the controllers, over restarts.
    pub(crate) metrics: NodeMetrics,
    settings: NodeSettings,
    controllers: Option<RunningControllers>,
    faults: BTreeMap<String, KubeletGuard>,
}

/// Runs a test on a cluster of zones with these numbers of nodes.
/// The zones are `a`, `b` and so on, and the nodes are `a1` and so on. All nodes are ready.
pub(crate) fn node_cluster<F, Fut, T>(zones: &[usize], bugs: &[NodeBug], test: F) -> T
where
    F: FnOnce(NodeCluster) -> Fut + Send,
    Fut: Future<Output = T>,
    T: Send,
{
    let rules = NodeRelease { bugs: bugs.iter().copied().collect(), ..NodeRelease::default() };
    simulate(Seed(7), |run| async move { test(NodeCluster::start(run, zones, rules).await).await })
}

impl NodeCluster {
    async fn start(run: Simulation, zones: &[usize], rules: NodeRelease) -> Self {
        let mut nodes = BTreeMap::new();
        for (zone, count) in ('a'..).zip(zones) {
            for number in 1..=*count {
                let spec = NodeSpec { zone: Some(zone.into()), ..NodeSpec::default() };
                nodes.insert(format!("{zone}{number}"), spec);
            }
        }
        let start = Delay::Between(Duration::from_millis(500), Duration::from_secs(2));
        let stages = Stages { start, ..Stages::default() };
        let cluster = Cluster::start(run, &ClusterSpec { nodes, stages, ..ClusterSpec::default() });
        let settings = NodeSettings::default();
        let (controllers, faults) = (None, BTreeMap::new());
        let metrics = NodeMetrics::default();
        let mut cluster_under_test =
            Self { clock: run.clock, cluster, rules, metrics, settings, controllers, faults };
        cluster_under_test.restart();
        cluster_under_test.pass(20).await;
        cluster_under_test
    }

    /// Stops the controllers at once.
    pub(crate) fn stop(&mut self) {
        self.controllers = None;
    }

    /// Stops the controllers at once, and starts new ones.
    pub(crate) fn restart(&mut self) {
        self.controllers = None;
        let controllers = NodeControllers {
            client: self.cluster.api().client(),
            clock: self.clock,
            settings: self.settings.clone(),
            rules: Arc::new(self.rules.clone()),
            metrics: self.metrics.clone(),
        };
        self.controllers = Some(controllers.start());
    }

    /// Lets this many seconds pass.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// The nodes have this fault until they are healed.
    pub(crate) fn fail(&mut self, nodes: &[&str], fault: &NodeFault) {
        for node in nodes {
            let guard = self.cluster.kubelet(node).unwrap().apply(fault.clone());
            self.faults.insert((*node).to_owned(), guard);
        }
    }

    pub(crate) fn silence(&mut self, nodes: &[&str]) {
        self.fail(nodes, &NodeFault::Silent);
    }

    pub(crate) fn heal(&mut self, nodes: &[&str]) {
        nodes.iter().for_each(|node| drop(self.faults.remove(*node)));
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.cluster.api().client())
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.cluster.api().client(), "default")
    }

    /// The nodes with this taint, given by the end of its key and its effect.
    pub(crate) async fn tainted(&self, taint: &str) -> Vec<String> {
        let nodes = self.nodes().list(&Default::default()).await.unwrap().items;
        let has = |node: &&Node| {
            let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
            taints.into_iter().any(|each| format!("{}:{}", each.key, each.effect).ends_with(taint))
        };
        nodes.iter().filter(has).map(ResourceExt::name_any).collect()
    }

    /// The number of nodes with the NoExecute taint of unreachable nodes.
    pub(crate) async fn evicted(&self) -> usize {
        self.tainted("/unreachable:NoExecute").await.len()
    }

    /// The present pods: name, node, whether it is ready, and whether it is being deleted.
    pub(crate) async fn pod_states(&self) -> Vec<(String, String, bool, bool)> {
        let pods = self.pods().list(&Default::default()).await.unwrap().items;
        let state = |pod: &Pod| {
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let ready = conditions.into_iter().any(|each| each.type_ == "Ready" && each.status == "True");
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
            (pod.name_any(), node, ready, pod.metadata.deletion_timestamp.is_some())
        };
        pods.iter().map(state).collect()
    }

    /// The kinds and names of the objects of events with this reason, in order.
    pub(crate) async fn objects_with_event(&self, reason: &str) -> Vec<(String, String)> {
        let events: Api<Event> = Api::all(self.cluster.api().client());
        let events = events.list(&Default::default()).await.unwrap().items.into_iter();
        let objects = events.filter(|event| event.reason.as_deref() == Some(reason)).map(|event| {
            let object = event.involved_object;
            (object.kind.unwrap_or_default(), object.name.unwrap_or_default())
        });
        objects.collect()
    }

    /// Makes a pod on a node, with a toleration of the unreachable taint for this long.
    pub(crate) async fn pod(&self, name: &str, node: &str, seconds: i64) {
        let toleration = json!({
            "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": seconds,
        });
        let pod = json!({
            "metadata": {"name": name},
            "spec": {
                "nodeName": node, "containers": [{"name": "main", "image": "nginx:1"}], "tolerations": [toleration],
            },
        });
        let pod = serde_json::from_value(pod).unwrap();
        self.pods().create(&PostParams::default(), &pod).await.unwrap();
    }

    /// Makes a workload with this many pods.
    pub(crate) async fn workload(&self, kind: &str, replicas: usize) {
        let labels = json!({"app": "web"});
        let workload = json!({
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas, "serviceName": "web", "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
                },
            },
        });
        let (client, params) = (self.cluster.api().client(), PostParams::default());
        if kind == "StatefulSet" {
            let api: Api<StatefulSet> = Api::namespaced(client, "default");
            api.create(&params, &serde_json::from_value(workload).unwrap()).await.unwrap();
        } else {
            let api: Api<Deployment> = Api::namespaced(client, "default");
            api.create(&params, &serde_json::from_value(workload).unwrap()).await.unwrap();
        }
    }

    pub(crate) async fn patch_node(&self, name: &str, change: serde_json::Value) {
        self.nodes().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Sets the `Ready` condition of a node as the controllers do for a silent node.
    pub(crate) async fn patch_status_unknown(&self, name: &str) {
        let status = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
        self.nodes().patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap();
    }

    pub(crate) async fn delete_node(&self, name: &str) {
        self.nodes().delete(name, &DeleteParams::default()).await.unwrap();
    }
}
