//! When a workload leaves a healthy cluster because the workload is unhealthy there.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/applicationfailover`; as from 1.6.

use std::collections::BTreeMap;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use jiff::Timestamp;

use super::preserved_state::task_state;
use super::tasks::clusters_before;
use crate::Rules;
use crate::api::{
    AggregatedStatus, ApplicationFailover, GracefulEvictionTask, Health, PurgeMode,
    REASON_APPLICATION_FAILURE, ResourceBindingSpec,
};

/// For each cluster, the time since when the workload is reported as unhealthy there.
pub type UnhealthySince = BTreeMap<String, Timestamp>;

/// Returns the failover settings of a binding.
/// `None` if the policy has none, if the kind has no health of its own, or if dependencies would not be propagated
/// (`propagateDeps`).
#[must_use]
pub fn application_failover(spec: &ResourceBindingSpec, has_health: bool) -> Option<&ApplicationFailover> {
    spec.failover.as_ref()?.application.as_ref().filter(|_| has_health && spec.propagate_deps)
}

/// Returns for each target since when it is reported as unhealthy, given the times known `before`.
/// A report of any other health, or an eviction task, ends the period.
#[must_use]
pub fn unhealthy_since(
    before: &UnhealthySince,
    spec: &ResourceBindingSpec,
    reports: &[AggregatedStatus],
    now: Timestamp,
) -> UnhealthySince {
    let stays = |cluster: &str| {
        spec.clusters.iter().any(|target| target.name == cluster)
            && !spec.graceful_eviction_tasks.iter().any(|task| task.from_cluster == cluster)
    };
    reports
        .iter()
        .filter(|report| report.health == Health::Unhealthy && stays(&report.cluster_name))
        .map(|report| {
            let since = before.get(&report.cluster_name).copied().unwrap_or(now);
            (report.cluster_name.clone(), since)
        })
        .collect_sorted()
}

/// Returns until when a workload that is unhealthy since this time may stay.
#[must_use]
pub fn tolerated_until(failover: &ApplicationFailover, since: Timestamp) -> Timestamp {
    let seconds = u64::try_from(failover.decision_conditions.toleration_seconds).unwrap_or_default();
    since.saturating_add(Duration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// Returns the eviction task without cluster and replicas.
/// `report` is the status of the copy in the cluster.
///
/// # Errors
/// The state to preserve is not known, so that the eviction waits.
pub fn application_task(
    rules: &dyn Rules,
    failover: &ApplicationFailover,
    producer: &str,
    spec: &ResourceBindingSpec,
    report: Option<&AggregatedStatus>,
) -> Result<GracefulEvictionTask, String> {
    let state = task_state(rules, failover.state_preservation.as_ref(), spec, report)?;
    let mode = failover.purge_mode;
    Ok(GracefulEvictionTask {
        purge_mode: Some(mode),
        grace_period_seconds: failover.grace_period_seconds.filter(|_| rules.behaviour().is_graceful(mode)),
        suppress_deletion: (mode == PurgeMode::Never).then_some(true),
        reason: REASON_APPLICATION_FAILURE.into(),
        producer: producer.into(),
        clusters_before_failover: clusters_before(&state, &spec.clusters),
        preserved_label_state: state,
        ..GracefulEvictionTask::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ReferenceRules;
    use crate::api::TargetCluster;
    use crate::test_values::{at, from_json};

    fn failover(value: Value) -> ApplicationFailover {
        let mut whole = json!({"decisionConditions": {"tolerationSeconds": 30}});
        whole.as_object_mut().unwrap().extend(value.as_object().cloned().unwrap());
        from_json(whole)
    }

    #[test]
    fn a_failover_takes_a_policy_a_health_and_the_dependencies() {
        let spec = |value: Value| -> ResourceBindingSpec {
            let mut whole =
                json!({"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}});
            whole.as_object_mut().unwrap().extend(value.as_object().cloned().unwrap());
            from_json(whole)
        };
        let policy = json!({"application": {"decisionConditions": {}}});
        let whole = spec(json!({"failover": policy, "propagateDeps": true}));
        let found = application_failover(&whole, true).unwrap();
        assert_eq!(tolerated_until(found, at(100)), at(400), "five minutes by default");
        assert_eq!(application_failover(&whole, false), None);
        assert_eq!(application_failover(&spec(json!({"failover": policy})), true), None);
        assert_eq!(application_failover(&spec(json!({"propagateDeps": true})), true), None);
    }

    #[test]
    fn only_unbroken_ill_health_of_a_target_counts() {
        let report = |cluster: &str, health: &str| -> AggregatedStatus {
            from_json(json!({"clusterName": cluster, "health": health}))
        };
        let target = |name: &str| TargetCluster { name: name.into(), replicas: 1 };
        let leaving = GracefulEvictionTask { from_cluster: "m4".into(), ..GracefulEvictionTask::default() };
        let spec = ResourceBindingSpec {
            clusters: ["m1", "m2", "m3", "m4"].map(target).into(),
            graceful_eviction_tasks: vec![leaving],
            ..ResourceBindingSpec::default()
        };
        let before: UnhealthySince = ["m1", "m2", "m3"].map(|name| (name.to_owned(), at(100))).into();
        let reports = [
            report("m1", "Unhealthy"),
            report("m2", "Healthy"),
            report("m3", "Unknown"),
            report("m4", "Unhealthy"),
            report("m5", "Unhealthy"),
        ];
        let since = unhealthy_since(&before, &spec, &reports, at(200));
        assert_eq!(since, UnhealthySince::from([("m1".to_owned(), at(100))]));
        let since = unhealthy_since(&UnhealthySince::new(), &spec, &reports, at(200));
        assert_eq!(since, UnhealthySince::from([("m1".to_owned(), at(200))]));
    }

    #[test]
    fn a_task_is_as_the_policy_says() {
        let spec = ResourceBindingSpec::default();
        let task = |value| application_task(&ReferenceRules, &failover(value), "who", &spec, None).unwrap();
        let graceful = task(json!({"gracePeriodSeconds": 10}));
        assert_eq!((graceful.grace_period_seconds, graceful.suppress_deletion), (Some(10), None));
        let never = task(json!({"purgeMode": "Never", "gracePeriodSeconds": 10}));
        assert_eq!((never.grace_period_seconds, never.suppress_deletion), (None, Some(true)));
        let direct = task(json!({"purgeMode": "Directly"}));
        assert_eq!(direct.purge_mode, Some(PurgeMode::Directly));
        assert_eq!((direct.reason.as_str(), direct.producer.as_str()), (REASON_APPLICATION_FAILURE, "who"));
        let stateful = failover(json!({"statePreservation": {"rules": [
            {"aliasLabelName": "n", "jsonPath": "{.replicas}"}]}}));
        assert!(application_task(&ReferenceRules, &stateful, "who", &spec, None).is_err());
        let spec = ResourceBindingSpec {
            clusters: vec![TargetCluster { name: "m1".into(), replicas: 1 }],
            ..ResourceBindingSpec::default()
        };
        let report = json!({"clusterName": "m1", "health": "Unhealthy", "status": {"replicas": 2}});
        let report: AggregatedStatus = from_json(report);
        let task = application_task(&ReferenceRules, &stateful, "who", &spec, Some(&report)).unwrap();
        assert_eq!(task.preserved_label_state["n"], "2");
        assert_eq!(task.clusters_before_failover, ["m1"]);
    }
}
