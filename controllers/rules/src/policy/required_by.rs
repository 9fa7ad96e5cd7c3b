//! How the binding of a dependency follows the bindings of the templates that need it.
//!
//! karmada-io/karmada v1.18.2 `pkg/dependenciesdistributor/dependencies_distributor.go`. `delivery/work_targets` turns
//! the snapshots into Works.

use serde::Serialize;

use crate::api::{
    BindingSnapshot, ConflictResolution, GracefulEvictionTask, ResourceBindingSpec, TargetCluster,
};
use crate::{Behaviour, Inheritance};

/// The fields of its spec that the binding of a dependency inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InheritedFields {
    /// How conflicts with objects that members already have are resolved.
    pub conflict_resolution: Option<ConflictResolution>,
    /// Whether members keep their copies when the template is deleted.
    pub preserve_resources_on_deletion: Option<bool>,
}

/// Returns what the binding of a dependency inherits from the bindings that require it.
/// If they differ, `Overwrite` and `true` win (`policy_utils.go`, as from 1.16). Until 1.15 the binding that was processed
/// last decided, and its value also replaced that of a policy. `None`: the binding keeps what it has.
#[must_use]
pub fn inherited(behaviour: Behaviour, requirers: &[&ResourceBindingSpec]) -> Option<InheritedFields> {
    let resolved = match behaviour.inheritance {
        Inheritance::Nothing => return None,
        Inheritance::AsGiven => false,
        Inheritance::Resolved => true,
    };
    let resolution = |spec: &&ResourceBindingSpec| {
        spec.conflict_resolution.or(resolved.then_some(ConflictResolution::Abort))
    };
    let preserves =
        |spec: &&ResourceBindingSpec| spec.preserve_resources_on_deletion.or(resolved.then_some(false));
    Some(InheritedFields {
        conflict_resolution: requirers.iter().map(resolution).max().flatten(),
        preserve_resources_on_deletion: requirers.iter().map(preserves).max().flatten(),
    })
}

/// Returns the fields in which the bindings that require a dependency differ; as from 1.16.
#[must_use]
pub fn inheritance_conflicts(behaviour: Behaviour, requirers: &[&ResourceBindingSpec]) -> Vec<&'static str> {
    if behaviour.inheritance != Inheritance::Resolved {
        return Vec::new();
    }
    let differ = |is: fn(&ResourceBindingSpec) -> bool| {
        requirers.iter().any(|spec| is(spec)) && !requirers.iter().all(|spec| is(spec))
    };
    let overwrites = differ(|spec| spec.conflict_resolution == Some(ConflictResolution::Overwrite));
    let preserves = differ(|spec| spec.preserve_resources_on_deletion == Some(true));
    let conflicts = [
        (overwrites, "ConflictResolution conflicted (Overwrite vs Abort)"),
        (preserves, "PreserveResourcesOnDeletion conflicted (true vs false)"),
    ];
    conflicts.into_iter().filter(|(found, _)| *found).map(|(_, text)| text).collect()
}

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
    use crate::test_values::from_json;

    fn spec(fields: Value) -> ResourceBindingSpec {
        let mut spec = json!({"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        from_json(spec)
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
    fn a_dependency_inherits_what_any_of_its_requirers_says() {
        let unset = json!({});
        let strong = json!({"conflictResolution": "Overwrite", "preserveResourcesOnDeletion": true});
        let weak = json!({"conflictResolution": "Abort", "preserveResourcesOnDeletion": false});
        let cases = [
            ("one sets both", vec![&strong], &strong, &strong),
            ("one sets neither", vec![&unset], &unset, &weak),
            ("one of two", vec![&weak, &strong], &strong, &strong),
            ("one of two, and the other sets neither", vec![&strong, &unset], &strong, &strong),
            ("neither of two", vec![&unset, &weak], &weak, &weak),
            ("nobody requires it", vec![], &unset, &unset),
        ];
        let without_nulls = |mut value: Value| {
            value.as_object_mut().unwrap().retain(|_, field| !field.is_null());
            value
        };
        for (about, requirers, as_given, resolved) in cases {
            let requirers: Vec<_> = requirers.into_iter().map(|fields| spec(fields.clone())).collect();
            let requirers: Vec<_> = requirers.iter().collect();
            let of = |release: &str| {
                inherited(Behaviour::of(release), &requirers).map(|found| without_nulls(json!(found)))
            };
            for (release, expected) in [
                ("1.7", None),
                ("1.11", None),
                ("1.12", Some(as_given)),
                ("1.15", Some(as_given)),
                ("1.16", Some(resolved)),
                ("1.19", Some(resolved)),
            ] {
                assert_eq!(of(release).as_ref(), expected, "{release}: {about}");
            }
            let conflicts = inheritance_conflicts(Behaviour::of("1.16"), &requirers);
            assert_eq!(conflicts.len(), if about.starts_with("one of two") { 2 } else { 0 }, "{about}");
            assert!(inheritance_conflicts(Behaviour::of("1.15"), &requirers).is_empty());
        }
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
