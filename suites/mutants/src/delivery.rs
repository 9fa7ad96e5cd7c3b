//! Wrong rules about manifests for members, and about the reports of copies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capsize_rules::api::{
    AggregatedStatus, GracefulEvictionTask, Health, Overriders, ResourceBindingSpec, Suspension,
    TargetCluster, Work,
};
use capsize_rules::{
    Rules, TaskOutcome, UnhealthySince, aggregated_status, clusters_with_work, task_outcome, unhealthy_since,
};
use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use serde_json::{Map, Value};

mutants! {
    nothing_is_overridden("placement/overridden", "DELIVERY-11") {
        fn override_object(&self, _: &mut Value, _: &Overriders) -> Result<(), String> {
            Ok(())
        }
    }

    copies_to_purge_directly_stay("eviction/directly", "DELIVERY-02") {
        fn clusters_with_work<'a>(&self, spec: &'a ResourceBindingSpec) -> BTreeSet<&'a str> {
            let leaving = spec.graceful_eviction_tasks.iter().map(|task| task.from_cluster.as_str());
            clusters_with_work(self.behaviour(), spec).into_iter().chain(leaving).collect_sorted()
        }
    }

    a_new_copy_does_not_wait_for_the_end_of_the_old_one("eviction/directly-from-the-dead", "DELIVERY-07") {
        fn awaits_purge(&self, _: &ResourceBindingSpec, _: &BTreeSet<&str>) -> bool {
            false
        }
    }

    suppressed_deletions_are_ignored("application/never", "EVICTION-11") {
        fn task_outcome(
            &self,
            task: &GracefulEvictionTask,
            replaced: bool,
            timeout: Duration,
            now: Timestamp,
        ) -> TaskOutcome {
            let task = GracefulEvictionTask { suppress_deletion: None, ..task.clone() };
            task_outcome(&task, replaced, timeout, now)
        }
    }

    ill_health_is_never_forgiven("application/recovers-in-time", "EVICTION-12") {
        fn unhealthy_since(
            &self,
            before: &UnhealthySince,
            spec: &ResourceBindingSpec,
            reports: &[AggregatedStatus],
            now: Timestamp,
        ) -> UnhealthySince {
            let mut since = unhealthy_since(before, spec, reports, now);
            since.extend(before.clone());
            since
        }
    }

    a_new_copy_gets_no_state_of_the_old_one("application/directly-with-its-state", "DELIVERY-09") {
        fn injected_state(&self, _: &ResourceBindingSpec, _: &str) -> BTreeMap<String, String> {
            BTreeMap::new()
        }
    }

    nothing_of_the_members_is_kept("autoscaling/members-set-the-replicas", "DELIVERY-15") {
        fn retained(&self, wanted: &Map<String, Value>, _: &Value) -> Map<String, Value> {
            wanted.clone()
        }
    }

    every_member_gets_all_completions("delivery/job", "DELIVERY-11") {
        fn completions(&self, _: &ResourceBindingSpec, _: &Value) -> Option<BTreeMap<String, i32>> {
            None
        }
    }

    dispatching_goes_on_though_it_is_suspended("delivery/suspended", "DELIVERY-14") {
        fn is_dispatch_suspended(&self, _: Option<&Suspension>, _: &str) -> bool {
            false
        }
    }

    dependencies_are_not_delivered("dependencies/come-and-go", "DELIVERY-01") {
        fn work_targets(&self, spec: &ResourceBindingSpec) -> Vec<TargetCluster> {
            spec.clusters.clone()
        }
    }

    the_copy_goes_as_soon_as_it_is_evicted("eviction/replacement-slow", "EVICTION-03") {
        fn clusters_with_work<'a>(&self, spec: &'a ResourceBindingSpec) -> BTreeSet<&'a str> {
            spec.clusters.iter().map(|target| target.name.as_str()).collect_sorted()
        }
    }

    every_running_copy_is_called_healthy("eviction/replacement-slow", "EVICTION-03") {
        fn health(&self, _: &Value) -> Health {
            Health::Healthy
        }
    }

    drift_in_a_member_is_not_mended("delivery/drift", "DELIVERY-04") {
        fn matches_manifest(&self, _: &Value, _: &Value) -> bool {
            true
        }
    }

    one_member_is_forgotten_in_the_status("placement/two-of-four-candidates", "LIVENESS-02") {
        fn aggregated_status(&self, works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
            let mut reports = aggregated_status(works);
            reports.pop();
            reports
        }
    }

    all_is_fully_applied_at_once("delivery/conflict", "DELIVERY-06") {
        fn fully_applied(&self, _: &BTreeSet<&str>, _: &[AggregatedStatus]) -> bool {
            true
        }
    }
}
