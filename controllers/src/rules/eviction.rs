//! How a workload leaves a cluster: the task that stands for it, and when that ends.
//!
//! karmada-io/karmada `pkg/apis/work/v1alpha2/binding_types_helper.go` (`GracefulEvictCluster`),
//! `pkg/controllers/gracefuleviction/evictiontask.go`.

use std::time::Duration;

use jiff::Timestamp;

use crate::api::{
    AggregatedStatus, GracefulEvictionTask, Health, PRODUCER_TAINT_MANAGER, REASON_TAINT_UNTOLERATED,
    ResourceBindingSpec, TargetCluster,
};

/// What is to become of an eviction task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFate {
    /// It is new: it gets its time stamp, which its timeout counts from.
    Stamp,
    /// It stays, until then at most.
    KeepUntil(Timestamp),
    /// It is over, and the old copy goes.
    End,
}

/// Takes the cluster out of the targets and leaves a task in its place, one a cluster at most (#3456). Returns
/// whether it was a target.
pub fn evict(spec: &mut ResourceBindingSpec, cluster: &str) -> bool {
    let Some(index) = spec.clusters.iter().position(|target| target.name == cluster) else {
        return false;
    };
    let target = spec.clusters.remove(index);
    if !spec.graceful_eviction_tasks.iter().any(|task| task.from_cluster == cluster) {
        spec.graceful_eviction_tasks.push(GracefulEvictionTask {
            from_cluster: target.name,
            replicas: (target.replicas > 0).then_some(target.replicas),
            reason: REASON_TAINT_UNTOLERATED.into(),
            producer: PRODUCER_TAINT_MANAGER.into(),
            ..GracefulEvictionTask::default()
        });
    }
    true
}

/// What is to become of a task. It ends when `replaced` (see [`is_replaced`]) or when it is older than `timeout`;
/// the timeout does not wait for the scheduler (#6227).
#[must_use]
pub fn task_fate(task: &GracefulEvictionTask, replaced: bool, timeout: Duration, now: Timestamp) -> TaskFate {
    let Some(begun) = &task.creation_timestamp else { return TaskFate::Stamp };
    let end = begun.0.saturating_add(timeout).unwrap_or(Timestamp::MAX);
    if replaced || now > end { TaskFate::End } else { TaskFate::KeepUntil(end) }
}

/// Whether the targets do without the evicted copy: the scheduler has had its say on the binding as it is, there is
/// a target, and every one is [`stands_in`]. No targets replace nothing.
#[must_use]
pub fn is_replaced(scheduled: bool, targets: &[TargetCluster], reports: &[AggregatedStatus]) -> bool {
    let healthy = |target: &TargetCluster| {
        reports.iter().any(|report| report.cluster_name == target.name && stands_in(target, report))
    };
    scheduled && !targets.is_empty() && targets.iter().all(healthy)
}

/// Whether a report says that the target does the work *of this schedule*. Healthy is not enough: until a schedule
/// that changed the replicas has been delivered and reported on, the report is of the one before (#3736).
#[must_use]
pub fn stands_in(target: &TargetCluster, report: &AggregatedStatus) -> bool {
    let number = |field: &str| report.status.as_ref()?.get(field)?.as_i64();
    let observed = match (number("generation"), number("observedGeneration")) {
        (Some(generation), Some(observed)) => observed >= generation,
        _ => true,
    };
    let delivered = target.replicas == 0
        || number("replicas").is_none_or(|replicas| replicas == i64::from(target.replicas));
    report.applied && report.health == Health::Healthy && observed && delivered
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, json};

    use super::*;

    fn report(cluster: &str, health: &str, status: &Value) -> AggregatedStatus {
        serde_json::from_value(
            json!({"clusterName": cluster, "applied": true, "health": health, "status": status}),
        )
        .unwrap()
    }

    fn target(name: &str, replicas: i32) -> TargetCluster {
        TargetCluster { name: name.into(), replicas }
    }

    #[test]
    fn an_evicted_cluster_leaves_one_task_behind() {
        let mut spec =
            ResourceBindingSpec { clusters: vec![target("m1", 2), target("m2", 2)], ..Default::default() };
        assert!(evict(&mut spec, "m1"));
        assert!(!evict(&mut spec, "m1"));
        spec.clusters.push(target("m1", 2));
        assert!(evict(&mut spec, "m1"));
        assert_eq!(spec.clusters, [target("m2", 2)]);
        assert_eq!(spec.graceful_eviction_tasks.len(), 1);
        assert_eq!(spec.graceful_eviction_tasks[0].replicas, Some(2));
        assert_eq!(spec.graceful_eviction_tasks[0].creation_timestamp, None);
    }

    #[test]
    fn a_task_ends_when_replaced_or_too_old() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let cases = [
            (None, true, 0, TaskFate::Stamp),
            (Some(100), false, 100, TaskFate::KeepUntil(at(700))),
            (Some(100), false, 700, TaskFate::KeepUntil(at(700))),
            (Some(100), false, 701, TaskFate::End),
            (Some(100), true, 100, TaskFate::End),
        ];
        for (begun, replaced, now, expected) in cases {
            let creation_timestamp = begun.map(|second| Time(at(second)));
            let task = GracefulEvictionTask { creation_timestamp, ..Default::default() };
            let fate = task_fate(&task, replaced, Duration::from_secs(600), at(now));
            assert_eq!(fate, expected, "{begun:?} {replaced} {now}");
        }
    }

    #[test]
    fn healthy_counts_only_if_it_is_about_this_schedule() {
        let full = json!({"generation": 2, "observedGeneration": 2, "replicas": 3});
        let old = json!({"generation": 1, "observedGeneration": 1, "replicas": 2});
        let behind = json!({"generation": 2, "observedGeneration": 1, "replicas": 3});
        let cases: Vec<(&str, Vec<AggregatedStatus>, bool)> = vec![
            ("new and healthy", vec![report("m2", "Healthy", &full)], true),
            ("the status is of the schedule before", vec![report("m2", "Healthy", &old)], false),
            ("the member has not looked at it yet", vec![report("m2", "Healthy", &behind)], false),
            ("not healthy", vec![report("m2", "Unhealthy", &full)], false),
            ("unknown", vec![report("m2", "Unknown", &full)], false),
            ("a report on another cluster", vec![report("m1", "Healthy", &full)], false),
            ("no report", vec![], false),
            ("a kind without replicas", vec![report("m2", "Healthy", &json!({}))], true),
        ];
        for (about, reports, expected) in cases {
            assert_eq!(is_replaced(true, &[target("m2", 3)], &reports), expected, "{about}");
        }
    }

    #[test]
    fn nothing_replaces_before_the_scheduler_has_spoken_or_without_targets() {
        let healthy = [report("m2", "Healthy", &json!({}))];
        assert!(!is_replaced(false, &[target("m2", 3)], &healthy));
        assert!(!is_replaced(true, &[], &healthy));
    }
}
