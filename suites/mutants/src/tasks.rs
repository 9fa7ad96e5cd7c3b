//! Wrong rules about the contents of eviction tasks, and about copies in members.

use std::sync::Arc;

use capsize_rules::api::{Cluster, GracefulEvictionTask, ResourceBindingSpec, TargetCluster};
use capsize_rules::{
    CopyRemoval, Delivery, EvictionTime, Gates, Rules, copy_removal, evict, eviction_due, manifest,
    work_targets,
};
use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde_json::{Map, Value};

mutants! {
    evictions_ignore_that_the_taint_is_gone("toleration/taint-removed-in-time", "TOLERATION-02") {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
            if taints.is_empty() { EvictionTime::AtOnce } else { eviction_due(taints, tolerations) }
        }
    }

    taints_evict_though_that_is_switched_off("eviction/switched-off", "EVICTION-10") {
        fn evicts_for_taints(&self, _: Gates) -> bool {
            true
        }
    }

    an_eviction_leaves_two_tasks("eviction/partition", "EVICTION-05") {
        fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
            let evicted = evict(spec, cluster, task);
            let again = spec.graceful_eviction_tasks.last().cloned();
            spec.graceful_eviction_tasks.extend(again.filter(|_| evicted));
            evicted
        }
    }

    a_new_task_prolongs_the_others("eviction/two-members-at-once", "EVICTION-07") {
        fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
            let evicted = evict(spec, cluster, task);
            if let Some((_, others)) = spec.graceful_eviction_tasks.split_last_mut().filter(|_| evicted) {
                others.iter_mut().for_each(|task| task.grace_period_seconds = Some(3600));
            }
            evicted
        }
    }

    a_task_records_one_replica_too_many("eviction/partition", "EVICTION-06") {
        fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
            let evicted = evict(spec, cluster, task);
            if let Some(replicas) = spec.graceful_eviction_tasks.last_mut().and_then(|task| task.replicas.as_mut()) {
                *replicas += i32::from(evicted);
            }
            evicted
        }
    }

    every_task_has_a_timeout_of_its_own("eviction/partition", "EVICTION-09") {
        fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
            let own = GracefulEvictionTask { grace_period_seconds: task.grace_period_seconds.or(Some(600)), ..task };
            evict(spec, cluster, own)
        }
    }

    a_copy_that_is_being_left_is_written_anew("eviction/scaled-while-leaving", "DELIVERY-08") {
        fn work_targets(&self, spec: &ResourceBindingSpec) -> Vec<TargetCluster> {
            let leaving = spec.graceful_eviction_tasks.iter().map(|task| TargetCluster {
                name: task.from_cluster.clone(),
                replicas: spec.replicas,
            });
            work_targets(spec).into_iter().chain(leaving).collect()
        }
    }

    all_copies_have_one_name("eviction/one-after-another", "DELIVERY-03") {
        fn manifest(&self, delivery: &Delivery<'_>) -> Result<Map<String, Value>, String> {
            let mut manifest = manifest(self, delivery)?;
            if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("name".to_owned(), "copy".into());
            }
            Ok(manifest)
        }
    }

    copies_are_left_behind("eviction/taint-by-a-person", "DELIVERY-05") {
        fn copy_removal(&self, _: Option<&Cluster>) -> CopyRemoval {
            CopyRemoval::Abandon
        }
    }

    a_copy_is_waited_for_where_the_member_is_back("eviction/partition", "RECOVERY-01") {
        fn copy_removal(&self, cluster: Option<&Cluster>) -> CopyRemoval {
            match copy_removal(cluster) {
                CopyRemoval::Remove => CopyRemoval::Wait,
                otherwise => otherwise,
            }
        }
    }
}
