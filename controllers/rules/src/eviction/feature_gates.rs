//! Feature gates and flags that switch parts of failover, and their effect in each release.
//!
//! karmada-io/karmada `pkg/features/features.go`, `cmd/controller-manager/app/options` and
//! `pkg/controllers/cluster/taint_manager.go` (`Start`, `Reconcile`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::{GracefulEvictionTask, ResourceBindingSpec};

/// The switches, by the names of the real gates and flags.
/// All are on by default here. The real gate `Failover` is on by default from 1.4 to 1.11. The real flag
/// `--enable-no-execute-taint-eviction` is off by default in all releases that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gates {
    /// The gate `Failover`.
    pub failover: bool,
    /// The gate `GracefulEviction`.
    pub graceful_eviction: bool,
    /// The gate `PropagateDeps`.
    pub propagate_deps: bool,
    /// The gate `CustomizedClusterResourceModeling`.
    pub customized_cluster_resource_modeling: bool,
    /// `--enable-taint-manager`.
    pub taint_manager: bool,
    /// `--enable-no-execute-taint-eviction`, as from 1.14.
    pub no_execute_taint_eviction: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            failover: true,
            graceful_eviction: true,
            propagate_deps: true,
            customized_cluster_resource_modeling: true,
            taint_manager: true,
            no_execute_taint_eviction: true,
        }
    }
}

/// How the switches affect evictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvictsBy {
    /// Taints evict if the taint manager is enabled, even with the gate `Failover` off: up to 1.13.
    TaintManager,
    /// Taints evict if all switches are on (#6400, #6404), and always with a task: since 1.14.
    #[default]
    Everything,
}

/// Whether taints of effect NoExecute evict workloads, whatever set the taints.
#[must_use]
pub fn evicts_for_taints(gates: Gates, by: EvictsBy) -> bool {
    match by {
        EvictsBy::TaintManager => gates.taint_manager,
        EvictsBy::Everything => gates.taint_manager && gates.failover && gates.no_execute_taint_eviction,
    }
}

/// Returns how long a cluster may be not ready before the cluster is tainted NoExecute.
/// Without the gate `Failover`, the cluster may be not ready for ever. The function applies up to 1.13, because later
/// releases do not set these taints by themselves.
#[must_use]
pub fn taints_after(gates: Gates, timeout: Duration) -> Duration {
    if gates.failover { timeout } else { Duration::MAX }
}

/// Whether a cluster that is being removed waits until no workload is assigned to it.
/// Up to 1.13 it waits only if the taint manager evicts the workloads.
#[must_use]
pub fn awaits_workloads(gates: Gates, by: EvictsBy) -> bool {
    gates.taint_manager || by == EvictsBy::Everything
}

/// Removes the cluster from the targets.
/// With the gate `GracefulEviction`, `task` replaces the target ([`evict`](crate::evict)). Without the gate, up
/// to 1.13, the old copy is deleted at once. Returns whether the cluster was a target.
pub fn evict_or_drop(
    gates: Gates,
    by: EvictsBy,
    spec: &mut ResourceBindingSpec,
    cluster: &str,
    task: GracefulEvictionTask,
    evict: impl FnOnce(&mut ResourceBindingSpec, &str, GracefulEvictionTask) -> bool,
) -> bool {
    if gates.graceful_eviction || by == EvictsBy::Everything {
        return evict(spec, cluster, task);
    }
    let before = spec.clusters.len();
    spec.clusters.retain(|target| target.name != cluster);
    spec.clusters.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::TargetCluster;
    use crate::evict;

    #[test]
    fn taints_evict_where_everything_is_on_that_the_release_asks_for() {
        let on = Gates::default();
        let table = [
            ("all on", on, true, true),
            ("no taint manager", Gates { taint_manager: false, ..on }, false, false),
            ("no gate", Gates { failover: false, ..on }, true, false),
            ("not enabled", Gates { no_execute_taint_eviction: false, ..on }, true, false),
        ];
        for (about, gates, until_1_13, later) in table {
            assert_eq!(evicts_for_taints(gates, EvictsBy::TaintManager), until_1_13, "{about}");
            assert_eq!(evicts_for_taints(gates, EvictsBy::Everything), later, "{about}");
        }
    }

    #[test]
    fn a_removal_does_not_wait_until_1_13_for_what_nothing_makes_leave() {
        let off = Gates { taint_manager: false, ..Gates::default() };
        assert!(awaits_workloads(Gates::default(), EvictsBy::TaintManager));
        assert!(!awaits_workloads(off, EvictsBy::TaintManager));
        assert!(awaits_workloads(off, EvictsBy::Everything));
    }

    #[test]
    fn without_the_gate_no_cluster_is_tainted_so_however_long_it_is_not_ready() {
        let timeout = Duration::from_secs(300);
        assert_eq!(taints_after(Gates::default(), timeout), timeout);
        assert_eq!(taints_after(Gates { failover: false, ..Gates::default() }, timeout), Duration::MAX);
    }

    #[test]
    fn without_graceful_eviction_nothing_is_left_in_the_place_of_a_target_until_1_13() {
        let target = |name: &str| TargetCluster { name: name.into(), replicas: 1 };
        let bound = || ResourceBindingSpec {
            clusters: vec![target("m1"), target("m2")],
            ..ResourceBindingSpec::default()
        };
        let table = [
            (true, EvictsBy::TaintManager, 1),
            (false, EvictsBy::TaintManager, 0),
            (false, EvictsBy::Everything, 1),
        ];
        for (graceful_eviction, by, tasks) in table {
            let gates = Gates { graceful_eviction, ..Gates::default() };
            let mut spec = bound();
            assert!(evict_or_drop(gates, by, &mut spec, "m1", GracefulEvictionTask::default(), evict));
            assert_eq!(spec.clusters, [target("m2")]);
            assert_eq!(spec.graceful_eviction_tasks.len(), tasks);
            assert!(!evict_or_drop(gates, by, &mut spec, "m1", GracefulEvictionTask::default(), evict));
        }
    }
}
