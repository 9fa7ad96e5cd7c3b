//! Sums of the resources that a member's nodes offer and its pods use, for its Cluster.
//!
//! karmada-io/karmada `pkg/controllers/status/cluster_status_controller.go`. Pods that have ended use nothing; pods
//! without a node count as allocating.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::member_pod::MemberPod;
use crate::add_quantities;
use crate::api::{NodeSummary, ResourceSummary};

/// Counts the nodes and the ready nodes.
#[must_use]
pub fn node_summary<'a>(nodes: impl Iterator<Item = &'a Node> + Clone) -> NodeSummary {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    NodeSummary {
        total_num: count(nodes.clone().count()),
        ready_num: count(nodes.filter(|node| is_ready(node)).count()),
    }
}

/// Sums up the resources that nodes offer, ready or not (`getClusterAllocatable`).
/// The requests of pods on nodes, and of pods without a node, are summed up as well.
#[must_use]
pub fn resource_summary<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    pods: impl Iterator<Item = &'a MemberPod>,
) -> ResourceSummary {
    let mut summary = ResourceSummary::default();
    let offers = |node: &'a Node| node.status.as_ref()?.allocatable.as_ref();
    for (resource, amount) in nodes.filter_map(offers).flatten() {
        add_quantities(&mut summary.allocatable, resource, amount);
    }
    for pod in pods {
        if pod.node.is_none() {
            add_pod(&mut summary.allocating, pod);
        } else if pod.takes_room_on().is_some() {
            add_pod(&mut summary.allocated, pod);
        }
    }
    summary
}

/// Adds the requests of a pod, and the pod itself, to the sums by resource.
pub(super) fn add_pod(sums: &mut BTreeMap<String, Quantity>, pod: &MemberPod) {
    for (resource, amount) in &pod.requests {
        add_quantities(sums, resource, amount);
    }
    add_quantities(sums, "pods", &Quantity("1".into()));
}

/// Whether the node is ready.
fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    fn node(ready: &str) -> Node {
        from_json(json!({"metadata": {"name": "n"}, "status": {
            "allocatable": {"cpu": "8", "pods": "110"}, "conditions": [{"type": "Ready", "status": ready}]}}))
    }

    fn pod(node: Option<&str>, phase: &str) -> MemberPod {
        from_json(json!({"metadata": {"name": "p"}, "status": {"phase": phase}, "spec": {
            "nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]}}))
    }

    #[test]
    fn all_nodes_offer_and_living_pods_take() {
        let nodes = [node("True"), node("False"), node("True")];
        let pods = [
            pod(Some("n"), "Running"),
            pod(Some("n"), "Pending"),
            pod(Some("n"), "Succeeded"),
            pod(Some("n"), "Failed"),
            pod(None, "Pending"),
        ];
        assert_eq!(node_summary(nodes.iter()), NodeSummary { total_num: 3, ready_num: 2 });
        let summary = serde_json::to_value(resource_summary(nodes.iter(), pods.iter())).unwrap();
        let expected = json!({"allocatable": {"cpu": "24", "pods": "330"}, "allocated": {"cpu": "1", "pods": "2"},
            "allocating": {"cpu": "500m", "pods": "1"}});
        assert_eq!(summary, expected);
    }
}
