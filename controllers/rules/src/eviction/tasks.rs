//! Graceful eviction tasks: how they are created, how long they last, and when they end.
//!
//! karmada-io/karmada `pkg/apis/work/v1alpha2/binding_types_helper.go` (`GracefulEvictCluster`),
//! `pkg/controllers/gracefuleviction/evictiontask.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::preserved_state::task_state;
use crate::api::{
    AggregatedStatus, GracefulEvictionTask, Health, PRODUCER_TAINT_MANAGER, PurgeMode,
    REASON_TAINT_UNTOLERATED, ResourceBindingSpec, TargetCluster,
};
use crate::{EvictionTime, Rules};

/// The decision about an eviction task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// The task is new and gets its creation time, from which its timeout counts.
    Stamp,
    /// The task stays until a user decides otherwise.
    Keep,
    /// The task stays at most until this time.
    KeepUntil(Timestamp),
    /// The task ends, and the old copy is deleted.
    End,
}

/// Removes the cluster from the targets and adds `task` for the cluster.
/// The task is not added if there is a task for this cluster already (#3456). Returns true if the cluster was a target.
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

/// Returns the eviction task of the taint manager without cluster and replicas.
/// The purge mode is that of the policy (1.15), else that of the flag (1.14), else that of the release. It depends
/// neither on when the eviction was `due` (#6676) nor on whether the binding has a namespace (#6491). `report` is the
/// status of the copy in the cluster.
///
/// # Errors
/// The state to preserve is not known, so that the eviction waits.
pub fn taint_task(
    rules: &dyn Rules,
    spec: &ResourceBindingSpec,
    _due: EvictionTime,
    flag: Option<PurgeMode>,
    report: Option<&AggregatedStatus>,
) -> Result<GracefulEvictionTask, String> {
    let failover = spec.failover.as_ref().and_then(|failover| failover.cluster.as_ref());
    let preservation = failover.and_then(|failover| failover.state_preservation.as_ref());
    let state = task_state(rules, preservation, spec, report)?;
    Ok(GracefulEvictionTask {
        purge_mode: failover.map(|failover| failover.purge_mode).or(flag).or(rules.behaviour().purge_mode),
        reason: REASON_TAINT_UNTOLERATED.into(),
        producer: PRODUCER_TAINT_MANAGER.into(),
        clusters_before_failover: clusters_before(&state, &spec.clusters),
        preserved_label_state: state,
        ..GracefulEvictionTask::default()
    })
}

/// Returns the targets before an eviction.
/// The result is empty if no state is preserved, because the targets are needed only for a preserved state.
pub(super) fn clusters_before(state: &BTreeMap<String, String>, before: &[TargetCluster]) -> Vec<String> {
    let before = before.iter().filter(|_| !state.is_empty());
    before.map(|target| target.name.clone()).collect()
}

/// Whether a change of a binding makes the controller check its tasks.
/// Any binding with tasks does, also one that is new to the controller (#3475).
#[must_use]
pub fn wakes_for_tasks(_before: Option<&ResourceBindingSpec>, after: &ResourceBindingSpec) -> bool {
    !after.graceful_eviction_tasks.is_empty()
}

/// Returns true if tasks are processed while the scheduler has not observed the latest binding.
/// In that case `scheduled` is false. The tasks are processed, so that the tasks time out in any case (#6227).
#[must_use]
pub fn processes_tasks(_scheduled: bool) -> bool {
    true
}

/// Returns the maximum age of each task.
/// This is the grace period of the task, or `timeout` if the task has none. The grace periods of the other tasks do not
/// matter (#7184).
#[must_use]
pub fn task_timeouts(tasks: &[GracefulEvictionTask], timeout: Duration) -> Vec<Duration> {
    let own = |task: &GracefulEvictionTask| u64::try_from(task.grace_period_seconds?).ok();
    tasks.iter().map(|task| own(task).map_or(timeout, Duration::from_secs)).collect()
}

/// Decides about a task.
/// A decision of the user comes first. Otherwise the task ends when it is `replaced` (see [`is_replaced`]) or older
/// than `timeout`.
#[must_use]
pub fn task_outcome(
    task: &GracefulEvictionTask,
    replaced: bool,
    timeout: Duration,
    now: Timestamp,
) -> TaskOutcome {
    let Some(begun) = &task.creation_timestamp else { return TaskOutcome::Stamp };
    match task.suppress_deletion {
        Some(true) => return TaskOutcome::Keep,
        Some(false) => return TaskOutcome::End,
        None => {}
    }
    let end = begun.0.saturating_add(timeout).unwrap_or(Timestamp::MAX);
    if replaced || now > end { TaskOutcome::End } else { TaskOutcome::KeepUntil(end) }
}

/// Returns true if the targets replace the evicted copy.
/// The scheduler must have observed the latest binding, and there must be a target. [`confirms_replacement`] must hold
/// for each target. An empty list of targets replaces nothing.
#[must_use]
pub fn is_replaced(scheduled: bool, targets: &[TargetCluster], reports: &[AggregatedStatus]) -> bool {
    let healthy = |target: &TargetCluster| {
        reports
            .iter()
            .any(|report| report.cluster_name == target.name && confirms_replacement(target, report))
    };
    scheduled && !targets.is_empty() && targets.iter().all(healthy)
}

/// The fields of a report that are not counts.
const GENERATIONS: [&str; 3] = ["generation", "observedGeneration", "resourceTemplateGeneration"];

/// Whether a report confirms that the target runs the replicas *of this schedule*.
/// Healthy is not enough: until a schedule with other replicas has been delivered and reported, the report is about the
/// one before (#3736). Counts of zero are left out of reports, so that a report with nothing but generations means zero
/// replicas.
#[must_use]
pub fn confirms_replacement(target: &TargetCluster, report: &AggregatedStatus) -> bool {
    let number = |field: &str| report.status.as_ref()?.get(field)?.as_i64();
    let observed = match (number("generation"), number("observedGeneration")) {
        (Some(generation), Some(observed)) => observed >= generation,
        _ => true,
    };
    let counts = report
        .status
        .as_ref()
        .is_some_and(|status| status.keys().any(|field| !GENERATIONS.contains(&field.as_str())));
    let scaled_to_nothing = number("generation").is_some() && !counts;
    let replicas = number("replicas").or(scaled_to_nothing.then_some(0));
    let delivered =
        target.replicas == 0 || replicas.is_none_or(|replicas| replicas == i64::from(target.replicas));
    report.applied && report.health == Health::Healthy && observed && delivered
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::{ClusterFailover, FailoverBehavior};
    use crate::test_values::{at, from_json};
    use crate::{ReferenceRules, eviction_filter};

    fn report(cluster: &str, health: &str, status: &Value) -> AggregatedStatus {
        from_json(json!({"clusterName": cluster, "applied": true, "health": health, "status": status}))
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
        spec.clusters.push(target("m3", 0));
        assert!(evict(&mut spec, "m3", task()));
        assert_eq!(spec.graceful_eviction_tasks[1].replicas, None, "it has no replicas to record");
    }

    #[test]
    fn a_task_ends_when_replaced_or_too_old() {
        let cases = [
            (None, true, 0, TaskOutcome::Stamp),
            (Some(100), false, 100, TaskOutcome::KeepUntil(at(700))),
            (Some(100), false, 700, TaskOutcome::KeepUntil(at(700))),
            (Some(100), false, 701, TaskOutcome::End),
            (Some(100), true, 100, TaskOutcome::End),
        ];
        for (begun, replaced, now, expected) in cases {
            let creation_timestamp = begun.map(|second| Time(at(second)));
            let task = GracefulEvictionTask { creation_timestamp, ..Default::default() };
            let outcome = task_outcome(&task, replaced, Duration::from_secs(600), at(now));
            assert_eq!(outcome, expected, "{begun:?} {replaced} {now}");
        }
    }

    /// #5782, #5803: the state of the evicted member is no input, so its recovery changes nothing.
    #[test]
    fn a_member_that_is_back_ends_no_task_and_is_not_chosen_as_long_as_one_lasts() {
        let running = json!({"replicas": 2});
        let reports = [report("m1", "Healthy", &running), report("m2", "Unhealthy", &running)];
        let replaced = is_replaced(true, &[target("m2", 2)], &reports);
        let creation_timestamp = Some(Time(at(100)));
        let task =
            GracefulEvictionTask { from_cluster: "m1".into(), creation_timestamp, ..Default::default() };
        let outcome = |now| task_outcome(&task, replaced, Duration::from_secs(600), at(now));
        assert_eq!(outcome(700), TaskOutcome::KeepUntil(at(700)));
        assert!(eviction_filter(std::slice::from_ref(&task), "m1").is_some());
        assert_eq!(outcome(701), TaskOutcome::End);
        assert!(eviction_filter(&[], "m1").is_none());
    }

    #[test]
    fn a_status_without_counts_confirms_only_zero_replicas() {
        let generations = json!({"generation": 2, "observedGeneration": 2});
        let cases = [
            (0, &generations, true),
            (4, &generations, false),
            (4, &json!({"generation": 2, "observedGeneration": 2, "active": 4}), true),
            (4, &json!({}), true),
        ];
        for (replicas, status, expected) in cases {
            let confirms_replacement =
                confirms_replacement(&target("m2", replicas), &report("m2", "Healthy", status));
            assert_eq!(confirms_replacement, expected, "{replicas} {status}");
        }
    }

    #[test]
    fn only_a_binding_with_tasks_is_looked_at_for_them() {
        let mut spec = ResourceBindingSpec::default();
        assert!(!wakes_for_tasks(None, &spec));
        spec.graceful_eviction_tasks.push(GracefulEvictionTask::default());
        assert!(wakes_for_tasks(None, &spec));
    }

    #[test]
    fn a_task_has_its_own_time_and_a_person_the_last_word() {
        let cases = [
            (Some(true), true, 9999, TaskOutcome::Keep),
            (Some(false), false, 101, TaskOutcome::End),
            (None, false, 101, TaskOutcome::KeepUntil(at(700))),
        ];
        for (suppress_deletion, replaced, now, expected) in cases {
            let creation_timestamp = Some(Time(at(100)));
            let task = GracefulEvictionTask { creation_timestamp, suppress_deletion, ..Default::default() };
            let outcome = task_outcome(&task, replaced, Duration::from_secs(600), at(now));
            assert_eq!(outcome, expected, "{suppress_deletion:?} {now}");
        }
        let task = |grace_period_seconds| GracefulEvictionTask { grace_period_seconds, ..Default::default() };
        let timeouts = task_timeouts(&[task(None), task(Some(10)), task(None)], Duration::from_secs(600));
        assert_eq!(timeouts, [600, 10, 600].map(Duration::from_secs));
    }

    #[test]
    fn the_policy_says_how_a_copy_is_purged_and_else_the_flag() {
        let failover: ClusterFailover = from_json(json!({
            "purgeMode": "Directly",
            "statePreservation": {"rules": [{"aliasLabelName": "n", "jsonPath": "{.replicas}"}]},
        }));
        let flag = Some(PurgeMode::Gracefully);
        let mut spec = ResourceBindingSpec { clusters: vec![target("m1", 2)], ..Default::default() };
        for (due, namespace) in
            [(EvictionTime::AtOnce, "default"), (EvictionTime::At(Timestamp::UNIX_EPOCH), "")]
        {
            spec.resource.namespace = namespace.into();
            spec.failover = None;
            let task = taint_task(&ReferenceRules, &spec, due, flag, None).unwrap();
            assert_eq!(task.purge_mode, flag);
            assert_eq!((task.reason.as_str(), task.producer.as_str()), ("TaintUntolerated", "TaintManager"));
            assert_eq!(task.clusters_before_failover, Vec::<String>::new());
            spec.failover = Some(FailoverBehavior { cluster: Some(failover.clone()), application: None });
            let report = report("m1", "Healthy", &json!({"replicas": 2}));
            let task = taint_task(&ReferenceRules, &spec, due, flag, Some(&report)).unwrap();
            assert_eq!(task.purge_mode, Some(PurgeMode::Directly));
            assert_eq!(task.preserved_label_state["n"], "2");
            assert_eq!(task.clusters_before_failover, ["m1"]);
            assert!(taint_task(&ReferenceRules, &spec, due, flag, None).is_err());
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
