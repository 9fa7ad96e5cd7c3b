//! A cluster whose nodes are the members: its shape, the pods that run in it, and the steps that only nodes have.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::member_ref::{MemberRef, Victims};
use super::time::{Length, StartUpTime, Within};
use capsize_history::facts::TaintEffect;

/// The nodes: `a1`, `a2` and so on in zone `a`; `n1`, `n2` and so on where there are no zones.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterShape {
    /// How many nodes are in no zone.
    #[serde(default)]
    pub nodes: usize,
    /// How many nodes each zone has.
    #[serde(default)]
    pub zones: BTreeMap<String, usize>,
    /// The region of zones.
    #[serde(default)]
    pub regions: BTreeMap<String, Spanned<String>>,
    /// Labels of nodes, or of all nodes of a zone.
    #[serde(default)]
    pub labels: BTreeMap<String, Spanned<BTreeMap<String, String>>>,
    /// How much each node has of some resource, other than 64 CPUs, 256Gi of memory and room for 110 pods.
    #[serde(default)]
    pub room: BTreeMap<String, Spanned<String>>,
    /// How long pods take to become ready; 1.5 s where nothing is said.
    pub start_up: Option<StartUpTime>,
    /// Flags of the controllers that are not as the target's profile says, by the names that headers of histories have.
    #[serde(default)]
    pub flags: BTreeMap<String, Spanned<f64>>,
}

impl ClusterShape {
    /// The nodes, each with its zone.
    pub fn places(&self) -> impl Iterator<Item = (String, Option<&str>)> {
        let zones = self.zones.iter().map(|(zone, count)| (zone.as_str(), *count, Some(zone.as_str())));
        [("n", self.nodes, None)].into_iter().chain(zones).flat_map(|(prefix, count, zone)| {
            (1..=count).map(move |number| (format!("{prefix}{number}"), zone))
        })
    }

    /// The labels of a node that stands in `zone`.
    #[must_use]
    pub fn labels_of(&self, node: &str, zone: Option<&str>) -> BTreeMap<String, String> {
        let of = |name: &str| self.labels.get(name).map(|labels| labels.value.clone()).unwrap_or_default();
        let mut labels = zone.map(of).unwrap_or_default();
        labels.extend(of(node));
        labels
    }
}

/// `pods`: something that runs in the cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pods {
    /// Its name. Pods are called after it, with a dash and more.
    pub name: Spanned<String>,
    /// Who sees to it that they are there.
    pub kind: Spanned<PodOwner>,
    /// How many, of a Deployment or a `StatefulSet`.
    pub replicas: Option<Spanned<usize>>,
    /// One on each of these nodes, of pods that nobody keeps and of static ones.
    #[serde(default)]
    pub on: Vec<Spanned<MemberRef>>,
    /// How much each asks for of some resource, such as `cpu`.
    #[serde(default)]
    pub requests: BTreeMap<String, Spanned<String>>,
    /// What they tolerate beside what their kind and the API server add.
    #[serde(default)]
    pub tolerations: Vec<PodToleration>,
}

/// Who sees to it that pods are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum PodOwner {
    /// A Deployment: another comes as soon as one is being deleted.
    Deployment,
    /// A `StatefulSet`: another comes when the one of its number is gone.
    StatefulSet,
    /// A `DaemonSet`: one on each node, which stays there when the node is ill.
    DaemonSet,
    /// Nobody.
    Pod,
    /// The kubelet: the API server only mirrors them.
    StaticPod,
}

/// A taint that pods tolerate, as their manifest says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodToleration {
    /// The taint's key; `not-ready` and `unreachable` mean the target's own health taints. Any where absent.
    pub key: Option<String>,
    /// The taint's value; any where absent.
    pub value: Option<String>,
    /// The taint's effect; any where absent.
    pub effect: Option<TaintEffect>,
    /// For how many seconds, which may be none or fewer; for ever where absent.
    pub seconds: Option<i64>,
}

/// `silence`: nothing is heard of nodes, and nothing reaches them.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Silence {
    /// Which node, or which nodes.
    pub node: Spanned<Victims>,
    /// The name for later steps, of one node.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// `condition`: what a kubelet says of its node.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    /// Which node, or which nodes.
    pub node: Spanned<Victims>,
    /// What it says.
    pub is: NodeProblem,
    /// The name for later steps, of one node.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// What can be wrong with a node that its kubelet tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum NodeProblem {
    /// `Ready` is false.
    NotReady,
    /// It is short of memory.
    MemoryPressure,
    /// It is short of room on its disks.
    DiskPressure,
    /// It is short of process numbers.
    #[serde(rename = "PIDPressure")]
    PidPressure,
}

/// `skew`: the clock of nodes is wrong. Exactly one of `ahead` and `behind` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skew {
    /// Which node, or which nodes.
    pub node: Spanned<Victims>,
    /// It is fast by so much.
    pub ahead: Option<Length>,
    /// It is slow by so much.
    pub behind: Option<Length>,
    /// The name for later steps, of one node.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// `taintedNodes`: how many nodes have a taint.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaintedNodes {
    /// Those of this zone are counted; all where absent.
    pub zone: Option<Spanned<String>>,
    /// The taint's key; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The taint's effect.
    pub effect: TaintEffect,
    /// So many at least.
    #[serde(default)]
    pub at_least: usize,
    /// So many at most.
    pub at_most: Option<usize>,
    /// How long to wait until it is so.
    #[serde(default)]
    pub within: Within,
    /// In the place of waiting: for how long from now it is to be so all the time.
    #[serde(rename = "for")]
    pub lasts: Option<Length>,
}
