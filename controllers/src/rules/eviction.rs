//! How a workload leaves a cluster: the task that stands for it, and when that ends.
//!
//! karmada-io/karmada `pkg/apis/work/v1alpha2/binding_types_helper.go` (`GracefulEvictCluster`),
//! `pkg/controllers/gracefuleviction/evictiontask.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::preserved_state;
use crate::api::{
    AggregatedStatus, ClusterFailover, GracefulEvictionTask, Health, PRODUCER_TAINT_MANAGER, PurgeMode,
    REASON_TAINT_UNTOLERATED, ResourceBindingSpec, TargetCluster,
};

/// What is to become of an eviction task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFate {
    /// It is new: it gets its time stamp, which its timeout counts from.
    Stamp,
    /// It stays until a person says otherwise.
    Keep,
    /// It stays, until then at most.
    KeepUntil(Timestamp),
    /// It is over, and the old copy goes.
    End,
}

/// Takes the cluster out of the targets and leaves `task` in its place, one a cluster at most (#3456). Returns whether
/// it was a target.
pub fn evict(spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
    let Some(index) = spec.clusters.iter().position(|target| target.name == cluster) else {
        return false;
    };
    let target = spec.clusters.remove(index);
    if !spec.graceful_eviction_tasks.iter().any(|task| task.from_cluster == cluster) {
        spec.graceful_eviction_tasks.push(GracefulEvictionTask {
            from_cluster: target.name,
            replicas: (target.replicas > 0).then_some(target.replicas),
            ..task
        });
    }
    true
}

/// What the taint manager's task says, but for cluster and replicas. The old copy goes as the policy says (1.15), or
/// as the flag does (1.14); `before` are the targets, `report` what the cluster says of its copy.
///
/// # Errors
/// What is to be preserved is not known: the eviction waits.
pub fn taint_task(
    failover: Option<&ClusterFailover>,
    flag: Option<PurgeMode>,
    before: &[TargetCluster],
    report: Option<&AggregatedStatus>,
) -> Result<GracefulEvictionTask, String> {
    let preservation = failover.and_then(|failover| failover.state_preservation.as_ref());
    let state = preserved_state(preservation, report.and_then(|report| report.status.as_ref()))?;
    Ok(GracefulEvictionTask {
        purge_mode: failover.map(|failover| failover.purge_mode).or(flag),
        reason: REASON_TAINT_UNTOLERATED.into(),
        producer: PRODUCER_TAINT_MANAGER.into(),
        clusters_before_failover: clusters_before(&state, before),
        preserved_label_state: state,
        ..GracefulEvictionTask::default()
    })
}

/// The targets before an eviction; of interest only where a state is preserved.
pub(super) fn clusters_before(state: &BTreeMap<String, String>, before: &[TargetCluster]) -> Vec<String> {
    let before = before.iter().filter(|_| !state.is_empty());
    before.map(|target| target.name.clone()).collect()
}

/// What is to become of a task. A person's word counts before all else. It ends when `replaced` (see [`is_replaced`])
/// or when it is older than `timeout`, or than its own grace period; the timeout does not wait for the scheduler
/// (#6227).
#[must_use]
pub fn task_fate(task: &GracefulEvictionTask, replaced: bool, timeout: Duration, now: Timestamp) -> TaskFate {
    let Some(begun) = &task.creation_timestamp else { return TaskFate::Stamp };
    match task.suppress_deletion {
        Some(true) => return TaskFate::Keep,
        Some(false) => return TaskFate::End,
        None => {}
    }
    let own = task.grace_period_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let timeout = own.map_or(timeout, Duration::from_secs);
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
        let task = || GracefulEvictionTask { reason: "Because".into(), ..Default::default() };
        assert!(evict(&mut spec, "m1", task()));
        assert!(!evict(&mut spec, "m1", task()));
        spec.clusters.push(target("m1", 2));
        assert!(evict(&mut spec, "m1", task()));
        assert_eq!(spec.clusters, [target("m2", 2)]);
        assert_eq!(spec.graceful_eviction_tasks.len(), 1);
        assert_eq!(spec.graceful_eviction_tasks[0].replicas, Some(2));
        assert_eq!(spec.graceful_eviction_tasks[0].reason, "Because");
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
    fn a_task_has_its_own_time_and_a_person_the_last_word() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let cases = [
            (None, Some(10), false, 109, TaskFate::KeepUntil(at(110))),
            (None, Some(10), false, 111, TaskFate::End),
            (Some(true), None, true, 9999, TaskFate::Keep),
            (Some(false), None, false, 101, TaskFate::End),
        ];
        for (suppress_deletion, grace_period_seconds, replaced, now, expected) in cases {
            let task = GracefulEvictionTask {
                creation_timestamp: Some(Time(at(100))),
                suppress_deletion,
                grace_period_seconds,
                ..Default::default()
            };
            let fate = task_fate(&task, replaced, Duration::from_secs(600), at(now));
            assert_eq!(fate, expected, "{suppress_deletion:?} {grace_period_seconds:?} {now}");
        }
    }

    #[test]
    fn the_policy_says_how_a_copy_is_purged_and_else_the_flag() {
        let failover: ClusterFailover = serde_json::from_value(json!({
            "purgeMode": "Directly",
            "statePreservation": {"rules": [{"aliasLabelName": "n", "jsonPath": "{.replicas}"}]},
        }))
        .unwrap();
        let before = [target("m1", 2)];
        let report = report("m1", "Healthy", &json!({"replicas": 2}));
        let task = taint_task(Some(&failover), Some(PurgeMode::Gracefully), &before, Some(&report)).unwrap();
        assert_eq!(task.purge_mode, Some(PurgeMode::Directly));
        assert_eq!(task.preserved_label_state["n"], "2");
        assert_eq!(task.clusters_before_failover, ["m1"]);
        assert!(taint_task(Some(&failover), None, &before, None).is_err());
        let task = taint_task(None, Some(PurgeMode::Gracefully), &before, None).unwrap();
        assert_eq!(task.purge_mode, Some(PurgeMode::Gracefully));
        assert_eq!(task.clusters_before_failover, Vec::<String>::new());
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
