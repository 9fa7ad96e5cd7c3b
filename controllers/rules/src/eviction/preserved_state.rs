//! State of an old copy that its replacement gets: parts of the last status, as labels.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/helper/failover.go`, `pkg/controllers/binding/common.go`; as from 1.12 (#5788).
//! The real gate `StatefulFailoverInjection` counts as on: without rules in a policy nothing is preserved.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::api::{AggregatedStatus, GracefulEvictionTask, ResourceBindingSpec, StatePreservation};
use crate::{Behaviour, Rules, json_path};

/// Returns the labels with the state of a copy that has this status.
///
/// # Errors
/// The status has not been collected, or a rule's path leads nowhere, so that the eviction waits.
pub fn preserved_state(
    preservation: Option<&StatePreservation>,
    status: Option<&Map<String, Value>>,
) -> Result<BTreeMap<String, String>, String> {
    let rules = preservation.map(|preservation| preservation.rules.as_slice()).unwrap_or_default();
    if rules.is_empty() {
        return Ok(BTreeMap::new());
    }
    let status = status.ok_or("the application status has not yet been collected")?;
    let status = Value::Object(status.clone());
    let label = |path: &str| json_path(path, &status);
    rules.iter().map(|rule| Ok((rule.alias_label_name.clone(), label(&rule.json_path)?))).collect()
}

/// Returns the state of an earlier copy that has not been used yet.
/// The eviction of that copy is still going on, so the workload has not been healthy since. Unlike in any release, the
/// state is preserved again (#6232), because the state of a copy that never worked is worth less.
#[must_use]
pub fn inherited_state(tasks: &[GracefulEvictionTask]) -> Option<&BTreeMap<String, String>> {
    let states = tasks.iter().rev().map(|task| &task.preserved_label_state);
    { states }.find(|state| !state.is_empty())
}

/// Returns the state that an eviction task preserves.
/// This is the [`inherited_state`] if there is one, and otherwise the state of the copy that is evicted.
pub(super) fn task_state(
    rules: &dyn Rules,
    preservation: Option<&StatePreservation>,
    spec: &ResourceBindingSpec,
    report: Option<&AggregatedStatus>,
) -> Result<BTreeMap<String, String>, String> {
    let earlier = preservation.and_then(|_| rules.inherited_state(&spec.graceful_eviction_tasks));
    let status = report.and_then(|report| report.status.as_ref());
    earlier.map_or_else(|| preserved_state(preservation, status), |earlier| Ok(earlier.clone()))
}

/// Returns the labels that the copy in `cluster` gets.
/// Only a workload with one target gets the state, and only that of the last task: if two copies may run at once there
/// is nothing to take over. A cluster that was a target before the failover does not get it either, because its copy
/// was never deleted.
#[must_use]
pub fn injected_state(
    behaviour: Behaviour,
    spec: &ResourceBindingSpec,
    cluster: &str,
) -> BTreeMap<String, String> {
    let last = spec.graceful_eviction_tasks.last().filter(|_| spec.clusters.len() == 1);
    let last = last.filter(|task| task.purge_mode.is_some_and(|mode| behaviour.is_direct(mode)));
    let last = last.filter(|task| !task.clusters_before_failover.iter().any(|before| before == cluster));
    last.map(|task| task.preserved_label_state.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ReferenceRules;
    use crate::api::{PurgeMode, TargetCluster};
    use crate::test_values::from_json;

    #[test]
    fn a_state_is_what_the_rules_find_in_the_status() {
        let preservation: StatePreservation =
            from_json(json!({"rules": [{"aliasLabelName": "id", "jsonPath": "{.job.id}"}]}));
        let status = json!({"job": {"id": "a1"}}).as_object().cloned().unwrap();
        let found = preserved_state(Some(&preservation), Some(&status));
        assert_eq!(found, Ok(BTreeMap::from([("id".to_owned(), "a1".to_owned())])));
        assert!(preserved_state(Some(&preservation), None).is_err());
        assert!(preserved_state(Some(&preservation), Some(&Map::new())).is_err());
        assert_eq!(preserved_state(None, None), Ok(BTreeMap::new()));
    }

    #[test]
    fn a_state_that_was_of_no_use_yet_is_handed_on() {
        let preservation: StatePreservation =
            from_json(json!({"rules": [{"aliasLabelName": "id", "jsonPath": "{.job.id}"}]}));
        let status = json!({"job": {"id": "new"}});
        let report: AggregatedStatus =
            from_json(json!({"clusterName": "m2", "status": status, "health": "Unhealthy"}));
        let task =
            |preserved_label_state| GracefulEvictionTask { preserved_label_state, ..Default::default() };
        let state = |id: &str| BTreeMap::from([("id".to_owned(), id.to_owned())]);
        let kept = |tasks: Vec<GracefulEvictionTask>| {
            let spec = ResourceBindingSpec { graceful_eviction_tasks: tasks, ..Default::default() };
            task_state(&ReferenceRules, Some(&preservation), &spec, Some(&report)).unwrap()
        };
        assert_eq!(kept(vec![]), state("new"));
        assert_eq!(kept(vec![task(BTreeMap::new())]), state("new"));
        assert_eq!(kept(vec![task(state("old")), task(BTreeMap::new())]), state("old"));
        let spec =
            ResourceBindingSpec { graceful_eviction_tasks: vec![task(state("old"))], ..Default::default() };
        assert_eq!(task_state(&ReferenceRules, None, &spec, Some(&report)), Ok(BTreeMap::new()));
    }

    #[test]
    fn only_one_new_copy_that_replaces_a_purged_one_gets_the_state() {
        let state = BTreeMap::from([("id".to_owned(), "a1".to_owned())]);
        let spec = |targets: &[&str], mode, before: &[&str]| ResourceBindingSpec {
            clusters: targets
                .iter()
                .map(|name| TargetCluster { name: (*name).into(), replicas: 1 })
                .collect(),
            graceful_eviction_tasks: vec![GracefulEvictionTask {
                from_cluster: "m1".into(),
                purge_mode: Some(mode),
                preserved_label_state: state.clone(),
                clusters_before_failover: before.iter().map(|name| (*name).into()).collect(),
                ..GracefulEvictionTask::default()
            }],
            ..ResourceBindingSpec::default()
        };
        let cases = [
            ("a new copy", spec(&["m2"], PurgeMode::Directly, &["m1"]), true),
            ("by its old name", spec(&["m2"], PurgeMode::Immediately, &["m1"]), true),
            ("the old copy runs on", spec(&["m2"], PurgeMode::Gracefully, &["m1"]), false),
            ("it ran there before", spec(&["m2"], PurgeMode::Directly, &["m1", "m2"]), false),
            ("two targets", spec(&["m2", "m3"], PurgeMode::Directly, &["m1"]), false),
        ];
        for (about, spec, injected) in cases {
            assert_eq!(!injected_state(Behaviour::default(), &spec, "m2").is_empty(), injected, "{about}");
        }
    }
}
