//! How the binding of a dependency follows the bindings of the templates that need it.
//!
//! karmada-io/karmada v1.18.2 `pkg/dependenciesdistributor/dependencies_distributor.go`. `delivery/work_targets` turns
//! the snapshots into Works.

use crate::api::{BindingSnapshot, GracefulEvictionTask, ResourceBindingSpec, TargetCluster};
use crate::rules::Behaviour;

/// Returns the clusters of a binding, for the bindings of its dependencies.
///
/// A cluster counts until the workload has left it, unless it is purged directly. Every release lists the targets only,
/// so that dependencies leave a cluster before the workload does.
#[must_use]
pub fn snapshot(
    behaviour: Behaviour,
    namespace: &str,
    name: &str,
    spec: &ResourceBindingSpec,
) -> BindingSnapshot {
    let mut clusters = spec.clusters.clone();
    let is_target = |cluster: &str| spec.clusters.iter().any(|target| target.name == cluster);
    let purged = |task: &GracefulEvictionTask| task.purge_mode.is_some_and(|mode| behaviour.is_direct(mode));
    let tasks = spec.graceful_eviction_tasks.iter();
    let leaving = tasks.filter(|task| !is_target(&task.from_cluster) && !purged(task));
    clusters.extend(leaving.map(|task| TargetCluster {
        name: task.from_cluster.clone(),
        replicas: task.replicas.unwrap_or_default(),
    }));
    BindingSnapshot { namespace: namespace.into(), name: name.into(), clusters }
}

/// Returns the snapshots with one added, which replaces an older one of the same binding.
#[must_use]
pub fn require(required_by: &[BindingSnapshot], by: BindingSnapshot) -> Vec<BindingSnapshot> {
    let mut all = required_by.to_vec();
    match all.iter_mut().find(|one| (&one.namespace, &one.name) == (&by.namespace, &by.name)) {
        Some(older) => *older = by,
        None => all.push(by),
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(fields: Value) -> ResourceBindingSpec {
        let mut spec = json!({"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(spec).unwrap()
    }

    fn names(clusters: &[TargetCluster]) -> Vec<(&str, i32)> {
        clusters.iter().map(|one| (one.name.as_str(), one.replicas)).collect()
    }

    #[test]
    fn what_a_workload_depends_on_stays_until_the_workload_has_left() {
        let task = |from: &str| json!({"fromCluster": from, "reason": "R", "producer": "P", "replicas": 2});
        let mut purged = task("m3");
        purged["purgeMode"] = "Directly".into();
        let spec = spec(json!({"clusters": [{"name": "m2", "replicas": 2}],
            "gracefulEvictionTasks": [task("m1"), task("m2"), purged]}));
        let here = snapshot(Behaviour::default(), "default", "web", &spec);
        assert_eq!(names(&here.clusters), [("m2", 2), ("m1", 2)]);
    }

    #[test]
    fn a_snapshot_takes_the_place_of_an_older_one() {
        let by = |name: &str, cluster: &str| BindingSnapshot {
            namespace: "default".into(),
            name: name.into(),
            clusters: vec![TargetCluster { name: cluster.into(), replicas: 0 }],
        };
        let one = require(&[], by("a", "m1"));
        let two = require(&one, by("b", "m1"));
        assert_eq!(two, [by("a", "m1"), by("b", "m1")]);
        assert_eq!(require(&two, by("a", "m2")), [by("a", "m2"), by("b", "m1")]);
    }
}
