//! The flags of kube-controller-manager for the node lifecycle, with their defaults of 1.36.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/config/v1alpha1/defaults.go`,
//! `cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go`.

use std::time::Duration;

use crate::rules::node::Rates;

/// The times and rates of the node lifecycle.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSettings {
    /// The time from the end of one check of all nodes to the next (`--node-monitor-period`).
    pub monitor_period: Duration,
    /// How long a node may be silent (`--node-monitor-grace-period`; 40 s until 1.31).
    pub monitor_grace_period: Duration,
    /// How long a node that has never reported its readiness may be silent (`--node-startup-grace-period`).
    pub startup_grace_period: Duration,
    /// The time that a node may be unhealthy until its pods are deleted, where no taint evicts the pods.
    /// The flag is `--pod-eviction-timeout`, which exists until 1.26.
    pub pod_eviction_timeout: Duration,
    /// How fast nodes are tainted.
    pub rates: Rates,
    /// Which controllers are started.
    pub controllers: NodeControllerSet,
}

/// Which of the two controllers are started (`--controllers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeControllerSet {
    /// `node-lifecycle-controller`.
    pub lifecycle: bool,
    /// `taint-eviction-controller`.
    pub taint_eviction: bool,
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            monitor_period: Duration::from_secs(5),
            monitor_grace_period: Duration::from_secs(50),
            startup_grace_period: Duration::from_secs(60),
            pod_eviction_timeout: Duration::from_secs(300),
            rates: Rates { normal: 0.1, secondary: 0.01, large: 50, unhealthy: 0.55 },
            controllers: NodeControllerSet { lifecycle: true, taint_eviction: true },
        }
    }
}
