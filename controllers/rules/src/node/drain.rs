//! Deletion of the pods of an unhealthy node, as 1.16 does where the gate `TaintBasedEvictions` is off.
//!
//! kubernetes/kubernetes 1.16 `pkg/controller/nodelifecycle/node_lifecycle_controller.go`
//! (`processNoTaintBaseEviction`,
//! `doEvictionPass`) and `pkg/controller/util/node/controller_utils.go` (`DeletePods`, `SetPodTerminationReason`).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::NodeHealth;

/// The action that follows from the readiness of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainAction {
    /// The node has been unhealthy for too long: it is queued for the deletion of its pods.
    Due,
    /// The node is ready: it is removed from the queue.
    Over,
}

/// Returns the action for a node.
/// The timeout counts from the transition if the node reports itself as not ready, and from its last sign of life if it
/// is silent.
#[must_use]
pub fn draining(
    ready: Option<&str>,
    health: &NodeHealth,
    timeout: Duration,
    now: Timestamp,
) -> Option<DrainAction> {
    let since = match ready? {
        "True" => return Some(DrainAction::Over),
        "False" => health.transition,
        _ => health.probed,
    };
    let ill = now.duration_since(since);
    (!ill.is_negative() && ill.unsigned_abs() > timeout).then_some(DrainAction::Due)
}

/// Returns true if a pod is deleted with the other pods of its node.
/// A pod that is being deleted already is not deleted. A pod that a `DaemonSet` would create again is not deleted
/// either.
#[must_use]
pub fn drained(pod: &Pod) -> bool {
    let of_daemons = pod
        .owner_references()
        .iter()
        .any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet");
    pod.metadata.deletion_timestamp.is_none() && !of_daemons
}

/// Returns reason and message for a pod whose node is considered lost; `None` if it has them already.
#[must_use]
pub fn lost(pod: &Pod, node: &str) -> Option<(&'static str, String)> {
    const LOST: &str = "NodeLost";
    let reason = pod.status.as_ref().and_then(|status| status.reason.as_deref());
    let message = || format!("Node {node} which was running pod {} is unresponsive", pod.name_any());
    (reason != Some(LOST)).then(|| (LOST, message()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::{at, from_json};

    #[test]
    fn a_node_is_drained_when_it_has_been_ill_for_longer_than_it_may() {
        let health = NodeHealth { ready: None, renewed: None, probed: at(100), transition: at(200) };
        let cases = [
            (None, 9999, None),
            (Some("True"), 0, Some(DrainAction::Over)),
            (Some("False"), 500, None),
            (Some("False"), 501, Some(DrainAction::Due)),
            (Some("Unknown"), 400, None),
            (Some("Unknown"), 401, Some(DrainAction::Due)),
            (Some("Unknown"), 50, None),
        ];
        for (ready, now, expected) in cases {
            let timeout = Duration::from_secs(300);
            assert_eq!(draining(ready, &health, timeout, at(now)), expected, "{ready:?} {now}");
        }
    }

    #[test]
    fn daemons_and_what_is_going_are_left_alone() {
        let pod = |metadata| Pod { metadata: from_json(metadata), ..Pod::default() };
        let owned = |kind: &str| json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": "u", "controller": true}]});
        let cases = [
            (json!({}), true),
            (owned("ReplicaSet"), true),
            (owned("DaemonSet"), false),
            (json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), false),
        ];
        for (metadata, expected) in cases {
            assert_eq!(drained(&pod(metadata.clone())), expected, "{metadata}");
        }
    }

    #[test]
    fn a_pod_gets_the_reason_node_lost_once() {
        let mut pod = Pod { metadata: from_json(json!({"name": "web"})), ..Pod::default() };
        let (reason, message) = lost(&pod, "n1").unwrap();
        assert_eq!(
            (reason, message.as_str()),
            ("NodeLost", "Node n1 which was running pod web is unresponsive")
        );
        pod.status.get_or_insert_default().reason = Some(reason.into());
        assert_eq!(lost(&pod, "n1"), None);
    }
}
