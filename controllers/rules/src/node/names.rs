//! Names that the node lifecycle uses: taints, labels, conditions, reasons, messages.
//!
//! kubernetes/kubernetes `staging/src/k8s.io/api/core/v1/well_known_taints.go`, `well_known_labels.go`, and
//! `pkg/controller/nodelifecycle/node_lifecycle_controller.go`.

/// The readiness condition of a node or a pod.
pub const READY: &str = "Ready";
/// The conditions that a kubelet posts, and that become Unknown when it is silent.
/// `NetworkUnavailable` is posted by another component.
pub const KUBELET_CONDITIONS: [&str; 4] = [READY, "MemoryPressure", "DiskPressure", "PIDPressure"];

/// Reason of a condition that was never posted.
pub const REASON_NEVER_UPDATED: &str = "NodeStatusNeverUpdated";
/// Message of a condition that was never posted.
pub const MESSAGE_NEVER_UPDATED: &str = "Kubelet never posted node status.";
/// Reason of a condition that is no longer posted.
pub const REASON_UNKNOWN: &str = "NodeStatusUnknown";
/// Message of a condition that is no longer posted.
pub const MESSAGE_UNKNOWN: &str = "Kubelet stopped posting node status.";

/// The taint of a node that reports itself as not ready.
pub const NODE_NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The taint of a silent node.
pub const NODE_UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// The taint of a cordoned node.
pub const NODE_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Condition, status, and the key of the taint of effect NoSchedule that they cause.
pub const TAINT_BY_CONDITION: [(&str, &str, &str); 6] = [
    (READY, "False", NODE_NOT_READY),
    (READY, "Unknown", NODE_UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The label of a node that does not count for the state of its zone.
pub const EXCLUDE_DISRUPTION: &str = "node.kubernetes.io/exclude-disruption";
/// Labels of the region, by precedence.
pub const REGION_LABELS: [&str; 2] =
    ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];
/// Labels of the zone, by precedence.
pub const ZONE_LABELS: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
/// Pairs of labels with the same meaning, stable and beta.
pub const MIRRORED_LABELS: [(&str, &str); 2] =
    [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];

/// The condition of a pod that is about to be deleted by another component than its owner.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// Its reason if a taint evicts the pod.
pub const REASON_TAINT_MANAGER: &str = "DeletionByTaintManager";
/// Its message if a taint evicts the pod.
pub const MESSAGE_TAINT_MANAGER: &str = "Taint manager: deleting due to NoExecute taint";
