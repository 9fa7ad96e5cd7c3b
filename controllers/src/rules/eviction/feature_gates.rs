//! What of failover is switched on: feature gates and flags, and what each release makes of them.
//!
//! karmada-io/karmada `pkg/features/features.go`, `cmd/controller-manager/app/options` and
//! `pkg/controllers/cluster/taint_manager.go` (`Start`, `Reconcile`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::{GracefulEvictionTask, ResourceBindingSpec};

/// The switches, by the names of the real gates and flags. All are on here: the real gate `Failover` is on by default from 1.4
/// to 1.11, and `--enable-no-execute-taint-eviction` in no release that has it.
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

/// What the switches mean for evictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvictsBy {
    /// The taint manager alone makes taints evict, even with the gate `Failover` off: until 1.13.
    TaintManager,
    /// All of them together (#6400, #6404), and always with a task: as from 1.14.
    #[default]
    Everything,
}

/// Whether workloads leave clusters for their taints of effect NoExecute, whoever has set those.
#[must_use]
pub fn evicts_for_taints(gates: Gates, by: EvictsBy) -> bool {
    match by {
        EvictsBy::TaintManager => gates.taint_manager,
        EvictsBy::Everything => gates.taint_manager && gates.failover && gates.no_execute_taint_eviction,
    }
}

/// How long a cluster may not be ready until it is tainted NoExecute: without the gate `Failover`, for ever. Until 1.13;
/// later releases do not taint so by themselves.
#[must_use]
pub fn taints_after(gates: Gates, timeout: Duration) -> Duration {
    if gates.failover { timeout } else { Duration::MAX }
}

/// Whether a cluster that is being removed waits until no workload is assigned to it: until 1.13 only where something
/// makes them leave.
#[must_use]
pub fn awaits_workloads(gates: Gates, by: EvictsBy) -> bool {
    gates.taint_manager || by == EvictsBy::Everything
}

/// Takes the cluster out of the targets; with the gate `GracefulEviction`, `task` is left in its place
/// ([`evict`](crate::rules::evict)), and without, until 1.13, the old copy goes at once. Returns whether it was a target.
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
    use crate::rules::evict;

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
