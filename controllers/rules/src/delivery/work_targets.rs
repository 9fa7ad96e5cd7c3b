//! Which clusters have a Work of a binding, which get one now, and the share of each.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/binding/common.go`, `pkg/util/helper/binding.go`.

use std::collections::{BTreeMap, BTreeSet};

use capsize_sorted::CollectSorted;
use serde_json::Value;

use crate::api::{GracefulEvictionTask, ResourceBindingSpec, Suspension, TargetCluster};
use crate::{Behaviour, Rules, is_duplicated};

/// Returns the clusters that get a Work.
/// These are the targets of the binding, and the targets of the bindings that require the binding.
#[must_use]
pub fn work_targets(spec: &ResourceBindingSpec) -> Vec<TargetCluster> {
    let mut targets = spec.clusters.clone();
    for target in spec.required_by.iter().flat_map(|dependent| &dependent.clusters) {
        if !targets.iter().any(|known| known.name == target.name) {
            targets.push(target.clone());
        }
    }
    targets
}

/// Returns the clusters that have a Work of the binding.
/// These are the clusters that get a Work, and the clusters that the workload has not left yet. A cluster that the
/// workload has not left does not count if the old copy is purged directly (1.15). A Work anywhere else is an orphan.
/// Works are written for the targets only, so that a copy that is being evicted stays as it is.
#[must_use]
pub fn clusters_with_work(behaviour: Behaviour, spec: &ResourceBindingSpec) -> BTreeSet<&str> {
    let required = spec.required_by.iter().flat_map(|dependent| &dependent.clusters);
    let targets = spec.clusters.iter().chain(required).map(|target| target.name.as_str());
    let leaving = spec.graceful_eviction_tasks.iter().filter(|task| !is_purged(behaviour, task));
    targets.chain(leaving.map(|task| task.from_cluster.as_str())).collect_sorted()
}

/// Whether a cluster that is being removed has to wait for the workload to leave it.
#[must_use]
pub fn holds_up_removal(behaviour: Behaviour, spec: &ResourceBindingSpec, cluster: &str) -> bool {
    clusters_with_work(behaviour, spec).contains(cluster)
}

/// Whether no Work may be written yet.
/// A copy that is purged directly must be gone before there is a new one, and its Work still exists in one of
/// `holders`; as from 1.15. An unreachable member keeps its Work until the task ends.
#[must_use]
pub fn awaits_purge(behaviour: Behaviour, spec: &ResourceBindingSpec, holders: &BTreeSet<&str>) -> bool {
    let mut purged = spec.graceful_eviction_tasks.iter().filter(|task| is_purged(behaviour, task));
    purged.any(|task| holders.contains(task.from_cluster.as_str()))
}

fn is_purged(behaviour: Behaviour, task: &GracefulEvictionTask) -> bool {
    task.purge_mode.is_some_and(|mode| behaviour.is_direct(mode))
}

/// Whether writes to the cluster are suspended; as from 1.11.
#[must_use]
pub fn is_dispatch_suspended(suspension: Option<&Suspension>, cluster: &str) -> bool {
    let Some(Suspension { dispatch, .. }) = suspension else { return false };
    let named = dispatch.dispatching_on_clusters.iter().flat_map(|clusters| &clusters.cluster_names);
    dispatch.dispatching == Some(true) || { named }.any(|name| name == cluster)
}

/// Returns the replicas that the copy in a target gets; `None` if the template decides.
/// A kind whose replicas cannot be revised, as a Pod, gets none either. A duplicated workload that cannot be scheduled
/// keeps its assigned replicas, but from 1.6 to 1.14 its copies follow the template (`needReviseReplicas`).
#[must_use]
pub fn copy_replicas(
    behaviour: Behaviour,
    spec: &ResourceBindingSpec,
    target: &TargetCluster,
) -> Option<i32> {
    let divided = spec.placement.as_ref().is_some_and(|placement| !is_duplicated(placement));
    let kind = spec.resource.kind.as_str();
    let revised = matches!(kind, "Deployment" | "StatefulSet" | "Job")
        || kind == "ReplicaSet" && behaviour.interprets_replica_sets;
    (revised && spec.replicas > 0 && (divided || !behaviour.revises_divided_only)).then_some(target.replicas)
}

/// Returns each cluster's share of the completions of a Job, divided like the replicas.
/// `None` if the template has no completions, or if every cluster runs all of them.
#[must_use]
pub fn completions(
    rules: &dyn Rules,
    spec: &ResourceBindingSpec,
    template: &Value,
) -> Option<BTreeMap<String, i32>> {
    let wanted =
        template.pointer("/spec/completions")?.as_i64().and_then(|wanted| i32::try_from(wanted).ok())?;
    let divided = spec.placement.as_ref().is_some_and(|placement| !is_duplicated(placement));
    if spec.resource.kind != "Job" || !divided || spec.replicas == 0 {
        return None;
    }
    let weights =
        spec.clusters.iter().map(|target| (target.name.clone(), i64::from(target.replicas))).collect();
    let shares = rules.divide(wanted, weights, &[], &spec.resource.uid);
    Some(shares.into_iter().map(|share| (share.name, share.replicas)).collect_sorted())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ReferenceRules;
    use crate::test_values::from_json;

    fn spec(value: Value) -> ResourceBindingSpec {
        let mut whole =
            json!({"resource": {"apiVersion": "batch/v1", "kind": "Job", "name": "sum", "uid": "u"}});
        whole.as_object_mut().unwrap().extend(value.as_object().cloned().unwrap());
        from_json(whole)
    }

    #[test]
    fn works_go_where_the_template_and_its_dependents_are() {
        let spec = spec(json!({
            "clusters": [{"name": "m1", "replicas": 2}],
            "requiredBy": [
                {"namespace": "default", "name": "a", "clusters": [{"name": "m1", "replicas": 9}, {"name": "m2"}]},
                {"namespace": "default", "name": "b", "clusters": [{"name": "m2"}]},
            ],
        }));
        let targets = work_targets(&spec);
        let seen: Vec<_> = targets.iter().map(|target| (target.name.as_str(), target.replicas)).collect();
        assert_eq!(seen, [("m1", 2), ("m2", 0)]);
        assert_eq!(clusters_with_work(Behaviour::default(), &spec), BTreeSet::from(["m1", "m2"]));
    }

    #[test]
    fn what_is_purged_directly_is_an_orphan_and_is_waited_for() {
        let leaving = |mode: Value| {
            spec(json!({
                "clusters": [{"name": "m2"}],
                "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "", "producer": "", "purgeMode": mode}],
            }))
        };
        let (held, gone) = (BTreeSet::from(["m1", "m2"]), BTreeSet::from(["m2"]));
        for (mode, stays) in
            [("Directly", false), ("Immediately", false), ("Gracefully", true), ("Never", true)]
        {
            let spec = leaving(mode.into());
            assert_eq!(clusters_with_work(Behaviour::default(), &spec).contains("m1"), stays, "{mode}");
            assert_eq!(awaits_purge(Behaviour::default(), &spec, &held), !stays, "{mode}");
            assert!(!awaits_purge(Behaviour::default(), &spec, &gone), "{mode}");
        }
        assert!(clusters_with_work(Behaviour::default(), &leaving(Value::Null)).contains("m1"));
        let spec = leaving(Value::Null);
        assert_eq!(
            ["m1", "m2", "m3"].map(|name| holds_up_removal(Behaviour::default(), &spec, name)),
            [true, true, false]
        );
    }

    #[test]
    fn dispatching_is_suspended_everywhere_or_by_name() {
        let suspension = |value| Some(from_json::<Suspension>(value));
        let cases = [
            (None, false),
            (suspension(json!({"scheduling": true})), false),
            (suspension(json!({"dispatching": true})), true),
            (suspension(json!({"dispatchingOnClusters": {"clusterNames": ["m1"]}})), true),
            (suspension(json!({"dispatchingOnClusters": {"clusterNames": ["m2"]}})), false),
        ];
        for (suspension, suspended) in cases {
            assert_eq!(is_dispatch_suspended(suspension.as_ref(), "m1"), suspended, "{suspension:?}");
        }
    }

    #[test]
    fn copies_have_the_assigned_replicas_unless_the_release_follows_the_template() {
        let target = TargetCluster { name: "m1".into(), replicas: 2 };
        let cases = [
            ("1.5", "Duplicated", 3, Some(2)),
            ("1.6", "Duplicated", 3, None),
            ("1.14", "Duplicated", 3, None),
            ("1.15", "Duplicated", 3, Some(2)),
            ("1.13", "Divided", 3, Some(2)),
            ("1.18", "Divided", 3, Some(2)),
            ("1.18", "Duplicated", 0, None),
        ];
        for (release, scheduling, replicas, expected) in cases {
            let placement = json!({"replicaScheduling": {"replicaSchedulingType": scheduling}});
            let spec = spec(json!({"replicas": replicas, "placement": placement}));
            let given = copy_replicas(Behaviour::of(release), &spec, &target);
            assert_eq!(given, expected, "{release} {scheduling} {replicas}");
            let mut pod = spec;
            pod.resource.kind = "Pod".into();
            assert_eq!(copy_replicas(Behaviour::of(release), &pod, &target), None, "{release}");
        }
    }

    #[test]
    fn completions_are_divided_as_replicas_are() {
        let clusters = json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 3}]);
        let job = |scheduling: &str| {
            let placement = json!({"replicaScheduling": {"replicaSchedulingType": scheduling}});
            spec(json!({"clusters": clusters, "replicas": 4, "placement": placement}))
        };
        let template = json!({"spec": {"parallelism": 4, "completions": 8}});
        let shares = completions(&ReferenceRules, &job("Divided"), &template);
        assert_eq!(shares, Some(BTreeMap::from([("m1".to_owned(), 2), ("m2".to_owned(), 6)])));
        assert_eq!(completions(&ReferenceRules, &job("Duplicated"), &template), None);
        assert_eq!(completions(&ReferenceRules, &job("Divided"), &json!({"spec": {"parallelism": 4}})), None);
    }
}
