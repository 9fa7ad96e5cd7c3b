//! Wrong rules about eviction: tolerations, eviction tasks, and their ends.

use std::sync::Arc;
use std::time::Duration;

use capsize_rules::api::{AggregatedStatus, GracefulEvictionTask, ResourceBindingSpec, TargetCluster};
use capsize_rules::{
    Event, EvictionTime, ReportedAction, Rules, TaskOutcome, event, evict, eviction_due, is_replaced,
    task_outcome,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Taint, Toleration};

mutants! {
    tolerations_end_half_a_minute_late("toleration/of-its-own", "TOLERATION-01") {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
            match eviction_due(taints, tolerations) {
                EvictionTime::At(end) => EvictionTime::At(end + jiff::SignedDuration::from_secs(30)),
                due => due,
            }
        }
    }

    the_end_of_an_eviction_is_not_announced("eviction/the-end-is-announced", "EVICTION-16") {
        fn event(&self, action: &ReportedAction<'_>) -> Option<Event> {
            event(self.behaviour(), action).filter(|_| !action.is_eviction())
        }
    }

    tolerations_are_not_looked_at("toleration/of-its-own", "TOLERATION-01") {
        fn eviction_due(&self, taints: &[Taint], _: &[Toleration]) -> EvictionTime {
            if taints.iter().any(|taint| taint.effect == "NoExecute") { EvictionTime::AtOnce } else { EvictionTime::Never }
        }
    }

    a_healthy_replacement_is_not_noticed("placement/two-of-four-candidates", "EVICTION-01") {
        fn is_replaced(&self, _: bool, _: &[TargetCluster], _: &[AggregatedStatus]) -> bool {
            false
        }
    }

    the_graceful_timeout_is_halved("eviction/replacement-never-ready", "EVICTION-02") {
        fn task_outcome(
            &self,
            task: &GracefulEvictionTask,
            replaced: bool,
            timeout: Duration,
            now: Timestamp,
        ) -> TaskOutcome {
            task_outcome(task, replaced, timeout / 2, now)
        }
    }

    the_old_copy_goes_before_the_new_one_is_healthy("eviction/replacement-slow", "EVICTION-02") {
        fn is_replaced(&self, scheduled: bool, _: &[TargetCluster], _: &[AggregatedStatus]) -> bool {
            scheduled
        }
    }

    the_greatest_toleration_counts("toleration/the-shortest-counts", "TOLERATION-01") {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
            let each = taints.iter().map(|taint| eviction_due(std::slice::from_ref(taint), tolerations));
            let dues: Vec<EvictionTime> = each.filter(|due| *due != EvictionTime::Never).collect();
            let last = dues.iter().filter_map(|due| if let EvictionTime::At(end) = due { Some(*end) } else { None }).max();
            match last {
                _ if dues.contains(&EvictionTime::AtOnce) => EvictionTime::AtOnce,
                Some(end) => EvictionTime::At(end),
                None => eviction_due(taints, tolerations),
            }
        }
    }

    everything_is_tolerated("eviction/partition", "TOLERATION-01") {
        fn eviction_due(&self, _: &[Taint], _: &[Toleration]) -> EvictionTime {
            EvictionTime::Never
        }
    }

    tolerations_end_ten_seconds_early("toleration/of-its-own", "TOLERATION-01") {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
            match eviction_due(taints, tolerations) {
                EvictionTime::At(end) => EvictionTime::At(end - jiff::SignedDuration::from_secs(10)),
                due => due,
            }
        }
    }

    milliseconds_are_taken_for_seconds("toleration/of-its-own", "TOLERATION-01") {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
            let mut tolerations = tolerations.to_vec();
            for toleration in &mut tolerations {
                toleration.toleration_seconds = toleration.toleration_seconds.map(|lasts| lasts / 1000);
            }
            eviction_due(taints, &tolerations)
        }
    }

    an_eviction_leaves_no_task("eviction/partition", "PLACEMENT-01") {
        fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
            let tasks = spec.graceful_eviction_tasks.clone();
            let evicted = evict(spec, cluster, task);
            spec.graceful_eviction_tasks = tasks;
            evicted
        }
    }

    an_evicted_member_stays_a_target("placement/too-few-candidates", "EVICTION-04") {
        fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
            let clusters = spec.clusters.clone();
            let evicted = evict(spec, cluster, task);
            spec.clusters = clusters;
            evicted
        }
    }

    tasks_never_time_out("eviction/replacement-never-ready", "EVICTION-02") {
        fn task_outcome(
            &self,
            task: &GracefulEvictionTask,
            replaced: bool,
            timeout: Duration,
            now: Timestamp,
        ) -> TaskOutcome {
            task_outcome(task, replaced, timeout * 1000, now)
        }
    }

    tasks_are_never_stamped("eviction/partition", "EVICTION-08") {
        fn task_outcome(
            &self,
            task: &GracefulEvictionTask,
            replaced: bool,
            timeout: Duration,
            now: Timestamp,
        ) -> TaskOutcome {
            match task_outcome(task, replaced, timeout, now) {
                TaskOutcome::Stamp => TaskOutcome::Keep,
                outcome => outcome,
            }
        }
    }

    one_healthy_replacement_is_enough("eviction/replacement-slow", "EVICTION-02") {
        fn is_replaced(
            &self,
            scheduled: bool,
            targets: &[TargetCluster],
            reports: &[AggregatedStatus],
        ) -> bool {
            targets.iter().any(|target| is_replaced(scheduled, std::slice::from_ref(target), reports))
        }
    }
}
