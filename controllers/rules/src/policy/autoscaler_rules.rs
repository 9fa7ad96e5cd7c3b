//! Which members get an autoscaler, and how templates follow the autoscalers that run in the members.
//!
//! karmada-io/karmada v1.5.0 `pkg/controllers/hpa/hpa_controller.go`, until 1.6; v1.18.2
//! `pkg/controllers/hpascaletargetmarker`, `pkg/controllers/deploymentreplicassyncer`, as from 1.8 and 1.10.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use kube::{Resource, ResourceExt};
use serde_json::Value;

use super::Autoscaler;
use crate::api::{
    BindingStatus, LABEL_BINDING_ID, LABEL_BINDING_KEY, LABEL_RETAIN_REPLICAS, ObjectReference,
    ResourceBindingSpec, Work, work_name,
};
use crate::{Behaviour, clusters_with_work};

/// The kind of autoscalers.
const AUTOSCALER: &str = "HorizontalPodAutoscaler";

/// Whether an autoscaler scales a template.
#[must_use]
pub fn scales(autoscaler: &Autoscaler, template: &ObjectReference) -> bool {
    let target = &autoscaler.target;
    let same_version = |version: &String| *version == template.api_version;
    autoscaler.meta().deletion_timestamp.is_none()
        && autoscaler.namespace().unwrap_or_default() == template.namespace
        && (&target.kind, &target.name) == (&template.kind, &template.name)
        && target.api_version.as_ref().is_none_or(same_version)
}

/// Returns the clusters for which a Work with the autoscaler of a workload is written.
/// These are the targets of the workload. The result is empty if a policy has claimed the autoscaler, because the
/// autoscaler then has a binding and Works of its own.
#[must_use]
pub fn autoscaler_targets(claimed: bool, workload: Option<&ResourceBindingSpec>) -> BTreeSet<&str> {
    let targets = workload.filter(|_| !claimed).into_iter().flat_map(|spec| &spec.clusters);
    targets.map(|target| target.name.as_str()).collect_sorted()
}

/// Returns true if a Work with the autoscaler of a workload stays for a cluster.
/// The autoscaler must exist, and no policy may have claimed the autoscaler. The workload must not have left the
/// cluster.
#[must_use]
pub fn keeps_autoscaler(
    exists: bool,
    claimed: bool,
    workload: Option<&ResourceBindingSpec>,
    cluster: &str,
) -> bool {
    exists
        && !claimed
        && workload.is_some_and(|spec| clusters_with_work(Behaviour::default(), spec).contains(cluster))
}

/// Returns the namespace and the name of the autoscaler that a Work delivers without a binding.
/// `None` if it delivers something else or belongs to a binding.
#[must_use]
pub fn delivered_autoscaler(work: &Work) -> Option<(&str, &str)> {
    let [manifest] = work.spec.workload.manifests.as_slice() else { return None };
    let object = manifest.identity();
    let is_autoscaler = object.kind == AUTOSCALER && object.api_version.starts_with("autoscaling/");
    let is_bound =
        [LABEL_BINDING_ID, LABEL_BINDING_KEY].iter().any(|label| work.labels().contains_key(*label));
    let name = work_name(AUTOSCALER, &object.namespace, &object.name);
    let is_its = is_autoscaler && !is_bound && work.metadata.name == Some(name);
    is_its.then_some((object.namespace.as_str(), object.name.as_str()))
}

/// Returns the replicas to write into a divided Deployment.
/// The replicas are written because autoscalers in members have changed the sum. The function returns `None` if the
/// Deployment has that number already. The function also returns `None` if the last change of the Deployment has not
/// been scheduled and reported back yet.
///
/// Zero replicas of a member count as not reported, because no autoscaler removes the last replica.
#[must_use]
pub fn replicas_to_sync(
    template: &Value,
    generation: i64,
    binding: &ResourceBindingSpec,
    status: &BindingStatus,
) -> Option<i64> {
    let number = |path: &str| template.pointer(path).and_then(Value::as_i64);
    let asked = number("/spec/replicas")?;
    let there = number("/status/replicas").unwrap_or_default();
    let label = template.pointer("/metadata/labels")?.get(LABEL_RETAIN_REPLICAS)?;
    let scheduling = binding.placement.as_ref()?.replica_scheduling.as_ref()?;
    let follows = template["kind"] == "Deployment"
        && label == "true"
        && scheduling.replica_scheduling_type == "Divided"
        && asked != there;
    let scheduled =
        asked == i64::from(binding.replicas) && generation == status.scheduler_observed_generation;
    if !follows || !scheduled || status.aggregated_status.len() != binding.clusters.len() {
        return None;
    }
    let reported =
        status.aggregated_status.iter().map(|report| report.status.as_ref()?.get("replicas")?.as_i64());
    let reported: Vec<i64> = reported.collect::<Option<_>>()?;
    let whole = reported.iter().all(|replicas| *replicas > 0) && reported.iter().sum::<i64>() == there;
    whole.then_some(there)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn an_autoscaler_scales_what_it_names_in_its_own_namespace() {
        let autoscaler = |target: Value| -> Autoscaler {
            from_json(json!({"metadata": {"name": "a", "namespace": "default"},
                "spec": {"maxReplicas": 3, "scaleTargetRef": target}}))
        };
        let template = |namespace: &str| ObjectReference {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: namespace.into(),
            name: "web".into(),
            ..ObjectReference::default()
        };
        let cases = [
            (json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}), "default", true),
            (json!({"kind": "Deployment", "name": "web"}), "default", true),
            (json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}), "other", false),
            (json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}), "default", false),
            (json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"}), "default", false),
            (json!({"apiVersion": "x/v1", "kind": "Deployment", "name": "web"}), "default", false),
        ];
        for (target, namespace, expected) in cases {
            assert_eq!(
                scales(&autoscaler(target.clone()), &template(namespace)),
                expected,
                "{target} {namespace}"
            );
        }
    }

    #[test]
    fn an_autoscaler_goes_where_its_workload_goes_and_leaves_with_it() {
        let workload: ResourceBindingSpec = from_json(json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "clusters": [{"name": "m1"}, {"name": "m2"}],
            "gracefulEvictionTasks": [
                {"fromCluster": "m3", "reason": "r", "producer": "p"},
                {"fromCluster": "m4", "reason": "r", "producer": "p", "purgeMode": "Directly"},
            ],
        }));
        assert_eq!(autoscaler_targets(false, Some(&workload)), BTreeSet::from(["m1", "m2"]));
        assert_eq!(autoscaler_targets(true, Some(&workload)), BTreeSet::new());
        assert_eq!(autoscaler_targets(false, None), BTreeSet::new());
        let cases = [
            ("a target", true, false, "m1", true),
            ("the old copy still runs there", true, false, "m3", true),
            ("the old copy is purged there", true, false, "m4", false),
            ("the workload is elsewhere", true, false, "m5", false),
            ("the autoscaler is gone", false, false, "m1", false),
            ("a policy has claimed it", true, true, "m1", false),
        ];
        for (about, exists, claimed, cluster, expected) in cases {
            assert_eq!(keeps_autoscaler(exists, claimed, Some(&workload), cluster), expected, "{about}");
        }
        assert!(!keeps_autoscaler(true, false, None, "m1"));
    }

    #[test]
    fn a_work_with_an_autoscaler_and_without_a_binding_is_recognised() {
        let name = work_name(AUTOSCALER, "default", "web");
        let work = |name: &str, labels: Value, kind: &str| -> Work {
            from_json(json!({
                "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
                "metadata": {"name": name, "namespace": "karmada-es-m1", "labels": labels},
                "spec": {"workload": {"manifests": [{"apiVersion": "autoscaling/v2", "kind": kind,
                    "metadata": {"name": "web", "namespace": "default"}}]}}}))
        };
        let cases = [
            (work(&name, json!({}), AUTOSCALER), true),
            (work(&name, json!({LABEL_BINDING_ID: "x"}), AUTOSCALER), false),
            (work(&name, json!({LABEL_BINDING_KEY: "x"}), AUTOSCALER), false),
            (work(&name, json!({}), "Deployment"), false),
            (work("by-hand", json!({}), AUTOSCALER), false),
        ];
        for (work, expected) in cases {
            let found = delivered_autoscaler(&work);
            assert_eq!(found, expected.then_some(("default", "web")), "{:?}", work.metadata);
        }
    }

    #[test]
    fn a_template_follows_the_members_once_they_have_followed_it() {
        let template = |asked: i64, there: i64, label: &str| {
            json!({"kind": "Deployment", "metadata": {"labels": {LABEL_RETAIN_REPLICAS: label}},
                "spec": {"replicas": asked}, "status": {"replicas": there}})
        };
        let binding = |replicas: i32, way: &str| -> ResourceBindingSpec {
            from_json(json!({
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "replicas": replicas,
                "clusters": [{"name": "m1"}, {"name": "m2"}],
                "placement": {"replicaScheduling": {"replicaSchedulingType": way}}}))
        };
        let status = |observed: i64, reported: &[Option<i64>]| -> BindingStatus {
            let report = |replicas: &Option<i64>| json!({"clusterName": "m", "health": "Healthy", "status": replicas.map(|replicas| json!({"replicas": replicas}))});
            from_json(json!({"schedulerObservedGeneration": observed,
                "aggregatedStatus": reported.iter().map(report).collect::<Vec<_>>()}))
        };
        let both = [Some(3), Some(2)];
        // The template with its wanted and present replicas and its label; the replicas and the way of the binding; the
        // generation that the scheduler has observed, and the reports of the members.
        let cases = [
            ("scaled up in a member", (4, 5, "true"), (4, "Divided"), (1, &both[..]), Some(5)),
            ("nothing new", (5, 5, "true"), (5, "Divided"), (1, &both[..]), None),
            ("no autoscaler", (4, 5, "false"), (4, "Divided"), (1, &both[..]), None),
            ("not divided", (4, 5, "true"), (4, "Duplicated"), (1, &both[..]), None),
            ("the binding lags", (4, 5, "true"), (3, "Divided"), (1, &both[..]), None),
            ("the scheduler lags", (4, 5, "true"), (4, "Divided"), (0, &both[..]), None),
            ("a member is missing", (4, 3, "true"), (4, "Divided"), (1, &both[..1]), None),
            (
                "a member has reported nothing",
                (4, 3, "true"),
                (4, "Divided"),
                (1, &[Some(3), None][..]),
                None,
            ),
            ("a member has none", (4, 3, "true"), (4, "Divided"), (1, &[Some(3), Some(0)][..]), None),
            ("the sum lags", (4, 3, "true"), (4, "Divided"), (1, &both[..]), None),
        ];
        for (about, (asked, there, label), (replicas, way), (observed, reported), expected) in cases {
            let (binding, status) = (binding(replicas, way), status(observed, reported));
            assert_eq!(
                replicas_to_sync(&template(asked, there, label), 1, &binding, &status),
                expected,
                "{about}"
            );
        }
    }
}
