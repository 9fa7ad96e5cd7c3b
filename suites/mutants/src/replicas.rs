//! Wrong arithmetic of replicas.

use std::sync::Arc;

use capsize_rules::api::{BindingStatus, Cluster, Placement, ResourceBindingSpec, TargetCluster};
use capsize_rules::{LostTargets, Rules, ScheduleError, Selection, assign, free_replicas};

fn sum(targets: &[TargetCluster]) -> i32 {
    targets.iter().map(|target| target.replicas).sum()
}

mutants! {
    a_member_is_named_twice("eviction/partition", "REPLICAS-01") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            targets.extend(targets.last().cloned());
            Ok(targets)
        }
    }

    members_with_nothing_to_run_are_targets("placement/aggregated", "REPLICAS-04") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            for cluster in selection.tiers.iter().flatten() {
                let name = cluster.metadata.name.clone().unwrap_or_default();
                if targets.iter().all(|target| target.name != name) {
                    targets.push(TargetCluster { name, replicas: 0 });
                }
            }
            Ok(targets)
        }
    }

    objects_without_replicas_get_one("eviction/cluster-scoped", "REPLICAS-05") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            targets.iter_mut().for_each(|target| target.replicas = target.replicas.max(1));
            Ok(targets)
        }
    }

    additional_replicas_are_divided_backwards("placement/room-divides", "REPLICAS-07") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            let mut replicas: Vec<i32> = targets.iter().map(|target| target.replicas).collect();
            if !selection.spec.clusters.is_empty() && sum(&selection.spec.clusters) < selection.spec.replicas {
                replicas.reverse();
            }
            targets.iter_mut().zip(replicas).for_each(|(target, replicas)| target.replicas = replicas);
            Ok(targets)
        }
    }

    removed_replicas_are_divided_backwards("placement/room-divides", "REPLICAS-08") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            let mut replicas: Vec<i32> = targets.iter().map(|target| target.replicas).collect();
            if sum(&selection.spec.clusters) > selection.spec.replicas {
                replicas.reverse();
            }
            targets.iter_mut().zip(replicas).for_each(|(target, replicas)| target.replicas = replicas);
            Ok(targets)
        }
    }

    a_replica_is_lost_where_there_is_room("placement/room-divides", "REPLICAS-09") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            if let Some(most) = targets.iter_mut().max_by_key(|target| target.replicas) {
                most.replicas -= i32::from(most.replicas > 1);
            }
            Ok(targets)
        }
    }

    members_have_ten_times_the_room("placement/too-little-room", "REPLICAS-10") {
        fn free_replicas(&self, spec: &ResourceBindingSpec, cluster: &Cluster) -> i64 {
            free_replicas(self.behaviour(), spec, cluster).saturating_mul(10)
        }
    }

    every_event_divides_replicas_again("placement/divided-moves-to-the-survivor", "PLACEMENT-11") {
        fn needs_scheduling(
            &self,
            _: &ResourceBindingSpec,
            _: &BindingStatus,
            _: Option<&Placement>,
            _: LostTargets,
        ) -> bool {
            true
        }
    }
}
