//! A cluster whose nodes are the members: its shape, its pods, and the steps for nodes.

use std::collections::BTreeMap;

use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::member_ref::{MemberRef, Victims};
use super::time::{Length, StartUpTime, Within};
use capsize_history::facts::TaintEffect;

/// The nodes: `a1`, `a2` and so on in zone `a`; `n1`, `n2` and so on without zones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterShape {
    /// The number of nodes without a zone.
    #[serde(default)]
    pub nodes: usize,
    /// The number of nodes in each zone.
    #[serde(default)]
    pub zones: BTreeMap<String, usize>,
    /// The regions of zones.
    #[serde(default)]
    pub regions: BTreeMap<String, FileValue<String>>,
    /// Labels of nodes, or of all nodes of a zone.
    #[serde(default)]
    pub labels: BTreeMap<String, FileValue<BTreeMap<String, String>>>,
    /// Resources of each node, by default 64 CPUs, 256Gi of memory and 110 pods.
    #[serde(default)]
    pub room: BTreeMap<String, FileValue<String>>,
    /// The time that pods take to become ready; 1.5 s if absent.
    pub start_up: Option<StartUpTime>,
    /// The nodes that are registered only by the step `join`.
    #[serde(default)]
    pub later: Vec<FileValue<String>>,
    /// Flags of the controllers that differ from the profile of the target.
    /// The flags have the names that the headers of histories use.
    #[serde(default)]
    pub flags: BTreeMap<String, FileValue<f64>>,
}

impl ClusterShape {
    /// The nodes, each with its zone.
    pub fn places(&self) -> impl Iterator<Item = (String, Option<&str>)> {
        let zones = self.zones.iter().map(|(zone, count)| (zone.as_str(), *count, Some(zone.as_str())));
        [("n", self.nodes, None)].into_iter().chain(zones).flat_map(|(prefix, count, zone)| {
            (1..=count).map(move |number| (format!("{prefix}{number}"), zone))
        })
    }

    /// The labels of a node in `zone`.
    #[must_use]
    pub fn labels_of(&self, node: &str, zone: Option<&str>) -> BTreeMap<String, String> {
        let of = |name: &str| self.labels.get(name).map(|labels| labels.value.clone()).unwrap_or_default();
        let mut labels = zone.map(of).unwrap_or_default();
        labels.extend(of(node));
        labels
    }
}

/// `pods`: pods that run in the cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pods {
    /// The name. The names of the pods begin with it, followed by a dash.
    pub name: FileValue<String>,
    /// The owner of the pods.
    pub kind: FileValue<PodOwner>,
    /// The number of pods of a Deployment or a `StatefulSet`.
    pub replicas: Option<FileValue<usize>>,
    /// The nodes of single and of static pods: one pod runs on each.
    #[serde(default)]
    pub on: Vec<FileValue<MemberRef>>,
    /// The resource requests of each pod, such as `cpu`.
    #[serde(default)]
    pub requests: BTreeMap<String, FileValue<String>>,
    /// The tolerations of the pods. Their owner and the API server add others.
    #[serde(default)]
    pub tolerations: Vec<PodToleration>,
}

/// The owner of pods: the object or program that creates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PodOwner {
    /// A Deployment, which creates a new pod as soon as one is being deleted.
    Deployment,
    /// A `StatefulSet`, which creates a new pod when the pod with the same number is gone.
    StatefulSet,
    /// A `DaemonSet`, which runs one pod on each node and leaves it there when the node fails.
    DaemonSet,
    /// A pod without owner.
    Pod,
    /// The kubelet. The API server only shows mirror pods.
    StaticPod,
}

/// A toleration of pods, as in their manifest.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodToleration {
    /// The key of the taint; `not-ready` and `unreachable` mean the target's own health taints.
    /// Any key if absent.
    pub key: Option<String>,
    /// The value of the taint; any value if absent.
    pub value: Option<String>,
    /// The effect of the taint; any effect if absent.
    pub effect: Option<TaintEffect>,
    /// For how many seconds the taint is tolerated, which may be zero or negative; for ever if absent.
    pub seconds: Option<i64>,
}

/// `silence`: the kubelets of nodes send no heartbeats and receive nothing.
/// `shutDown`: nodes are shut down in good order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Silence {
    /// The node or nodes.
    pub node: FileValue<Victims>,
    /// An alias of the node for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// `condition`: a kubelet reports a problem of its node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    /// The node or nodes.
    pub node: FileValue<Victims>,
    /// The problem that the kubelet reports.
    pub is: NodeProblem,
    /// An alias of the node for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// A problem of a node that its kubelet reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum NodeProblem {
    /// The condition `Ready` is false.
    NotReady,
    /// The node is short of memory.
    MemoryPressure,
    /// The node is short of disk space.
    DiskPressure,
    /// The node is short of process ids.
    #[serde(rename = "PIDPressure")]
    PidPressure,
}

/// `skew`: the clock of nodes is wrong. The file gives exactly one of `ahead` and `behind`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skew {
    /// The node or nodes.
    pub node: FileValue<Victims>,
    /// By how much the clock is fast.
    pub ahead: Option<Length>,
    /// By how much the clock is slow.
    pub behind: Option<Length>,
    /// An alias of the node for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// `taintedNodes`: how many nodes have a taint.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaintedNodes {
    /// The zone whose nodes are counted; all nodes if absent.
    pub zone: Option<FileValue<String>>,
    /// The key of the taint; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The effect of the taint.
    pub effect: TaintEffect,
    /// The smallest number of nodes.
    #[serde(default)]
    pub at_least: usize,
    /// The largest number of nodes.
    pub at_most: Option<usize>,
    /// How long to wait for that number.
    #[serde(default)]
    pub within: Within,
    /// How long the number must hold from now on. The step does not wait then.
    #[serde(rename = "for")]
    pub lasts: Option<Length>,
}
