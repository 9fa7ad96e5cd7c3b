//! Named switches for the differences between Kubernetes 1.16 and 1.36.
//!
//! The reference is release 1.36 without its bugs; bugs of releases are in `bugs`.

/// The differences between releases that the rules of nodes support. The default is the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBehaviour {
    /// Taints of effect NoExecute follow `Ready` as just written.
    /// Before (1.16), the taints follow `Ready` as read, so that the taints come one check later.
    pub taints_by_written: bool,
    /// Nodes with the label `exclude-disruption` do not count for their zone.
    /// Before (1.16, gate `LegacyNodeRoleBehavior`), nodes do not count if their name ends like the name of a master.
    pub excludes_by_label: bool,
    /// The labels of os and architecture are copied from the stable to the beta labels.
    /// Before (1.16), the labels are copied from the beta to the stable labels.
    pub stable_labels_lead: bool,
    /// A new pod on a node that is not ready is marked, too; not in 1.16.
    pub marks_newcomers: bool,
    /// A pod gets the condition `DisruptionTarget` before it is deleted for a taint; as from 1.26.
    pub reports_disruption: bool,
    /// The renewal of a Lease is a sign of life (gate `NodeLease`, always on as from 1.17).
    pub reads_leases: bool,
    /// Conditions bring taints of effect NoSchedule (gate `TaintNodesByCondition`, always on as from 1.17).
    pub taints_by_condition: bool,
    /// Taints of effect NoExecute evict pods from unhealthy nodes.
    /// The gate is `TaintBasedEvictions`, which is always on as from 1.18. Without the gate, the controller deletes the
    /// pods of unhealthy nodes after a time.
    pub evicts_by_taint: bool,
    /// How many nodes are checked in parallel.
    pub workers: usize,
}

impl NodeBehaviour {
    /// Kubernetes 1.16, with its gates as they are by default.
    pub const V1_16: Self = Self {
        taints_by_written: false,
        excludes_by_label: false,
        stable_labels_lead: false,
        marks_newcomers: false,
        reports_disruption: false,
        reads_leases: true,
        taints_by_condition: true,
        evicts_by_taint: true,
        workers: 1,
    };

    /// The same with its gate `TaintBasedEvictions` off.
    pub const V1_16_DRAINS: Self = Self { evicts_by_taint: false, ..Self::V1_16 };

    /// Kubernetes 1.36.
    pub const V1_36: Self = Self {
        taints_by_written: true,
        excludes_by_label: true,
        stable_labels_lead: true,
        marks_newcomers: true,
        reports_disruption: true,
        reads_leases: true,
        taints_by_condition: true,
        evicts_by_taint: true,
        workers: 8,
    };
}

impl Default for NodeBehaviour {
    fn default() -> Self {
        Self::V1_36
    }
}
