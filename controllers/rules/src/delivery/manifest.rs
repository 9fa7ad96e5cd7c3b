//! The manifest of a Work, and whether the copy in a member matches it.
//!
//! karmada-io/karmada v1.5.0 `pkg/controllers/binding/common.go`, `pkg/util/helper/{binding,work}.go`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::origin_labels::{entry, with_origin_labels};
use crate::api::{ConflictResolution, Overriders};
use crate::{Behaviour, BindingRef, Rules};

/// The inputs that make the object in one cluster differ from its template.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The template.
    pub template: &'a Value,
    /// The binding; a Namespace is delivered without one.
    pub binding: Option<BindingRef<'a>>,
    /// The permanent id of the Work; empty if it has none, or none yet.
    pub work_id: &'a str,
    /// The cluster.
    pub cluster: &'a str,
    /// The number of replicas in this cluster; `None`: that of the template.
    pub replicas: Option<i32>,
    /// This cluster's share of the completions of a Job; `None`: all of them.
    pub completions: Option<i32>,
    /// The overrides for this cluster, in order.
    pub overriders: &'a [&'a Overriders],
    /// The labels with the state of the copy that this one replaces.
    pub state: &'a BTreeMap<String, String>,
    /// How an object that the cluster already has is handled.
    pub conflicts: Option<ConflictResolution>,
}

/// Returns the object that a template becomes in a cluster.
/// The object is the template without the parts that belong to the control plane, with the cluster's share of replicas,
/// and with the overrides. The object also has the labels and annotations that name the Work and the binding.
/// Overriders can change everything but these labels and annotations.
///
/// # Errors
/// The template is not an object, or an override cannot be applied.
pub fn manifest(rules: &dyn Rules, delivery: &Delivery<'_>) -> Result<Map<String, Value>, String> {
    let not_an_object = || "the template is not an object".to_owned();
    let mut object = Value::Object(revised(rules, delivery).ok_or_else(not_an_object)?);
    delivery.overriders.iter().try_for_each(|overriders| rules.override_object(&mut object, overriders))?;
    with_origin_labels(rules.behaviour(), object, delivery).ok_or_else(not_an_object)
}

/// Returns the template with the cluster's share of replicas.
/// The result does not have the parts that belong to the control plane.
fn revised(rules: &dyn Rules, delivery: &Delivery<'_>) -> Option<Map<String, Value>> {
    let mut manifest = delivery.template.as_object()?.clone();
    rules.prune(&mut manifest);
    let is_job = manifest.get("kind")? == "Job";
    let replicas = if is_job { "parallelism" } else { "replicas" };
    let shares = [(replicas, delivery.replicas), ("completions", delivery.completions)];
    for (field, share) in shares.into_iter().filter_map(|(field, share)| Some((field, share?))) {
        entry(&mut manifest, "spec")?.insert(field.into(), share.into());
    }
    Some(manifest)
}

/// Returns the replicas that a template requests; 0 for kinds without replicas.
/// The source is `GetReplicas` of the default interpreter, `pkg/resourceinterpreter/default/native/replica.go`.
#[must_use]
pub fn template_replicas(behaviour: Behaviour, kind: &str, template: &Value) -> i32 {
    let number = |path: &str| -> Option<i32> {
        let number = template.pointer(path)?.as_i64().and_then(|number| i32::try_from(number).ok());
        Some(number.unwrap_or_default())
    };
    match kind {
        "Deployment" | "StatefulSet" => number("/spec/replicas").unwrap_or(1),
        "ReplicaSet" if behaviour.interprets_replica_sets => number("/spec/replicas").unwrap_or(1),
        "Pod" if behaviour.pods_have_a_replica => 1,
        "Job" => {
            let parallelism = number("/spec/parallelism").unwrap_or(1);
            let completions = number("/spec/completions").filter(|_| behaviour.caps_jobs_by_completions);
            completions.map_or(parallelism, |completions| completions.min(parallelism))
        }
        _ => 0,
    }
}

/// Whether `present` contains everything in `wanted`.
/// It may contain more: defaults, status, fields of other owners.
#[must_use]
pub fn covers(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| {
            present.get(key).map_or(is_empty(wanted), |present| covers(present, wanted))
        }),
        (Value::Array(present), Value::Array(wanted)) => {
            present.len() == wanted.len() && present.iter().zip(wanted).all(|(a, b)| covers(a, b))
        }
        _ => present == wanted,
    }
}

/// Whether the object in a member matches the manifest.
/// The member and others may add to it, but not to the data of a `ConfigMap` or `Secret`, in which each key has a
/// meaning.
#[must_use]
pub fn matches_manifest(present: &Value, wanted: &Value) -> bool {
    let is_data = wanted.get("kind").is_some_and(|kind| kind == "ConfigMap" || kind == "Secret");
    let keys = |object: &Value, field| object.get(field).and_then(Value::as_object).map_or(0, Map::len);
    covers(present, wanted)
        && (!is_data
            || ["data", "binaryData"].iter().all(|field| keys(present, *field) == keys(wanted, *field)))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
impl<'a> Delivery<'a> {
    /// The delivery of `template` to m1 for a binding without an id, without overrides.
    pub(crate) fn to_m1(template: &'a Value, (namespace, name): (&'a str, &'a str)) -> Self {
        static NOTHING: BTreeMap<String, String> = BTreeMap::new();
        Self {
            template,
            binding: Some(BindingRef { namespace, name, id: "" }),
            work_id: "",
            cluster: "m1",
            replicas: None,
            completions: None,
            overriders: &[],
            state: &NOTHING,
            conflicts: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ReferenceRules;
    use crate::api::ANNOTATION_MANAGED_LABELS;
    use crate::test_values::from_json;

    #[test]
    fn overrides_have_the_last_word_but_on_the_marks() {
        let template =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {}});
        let overriders: Overriders = from_json(json!({
            "plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 1}],
            "labelsOverrider": [{"operator": "add", "value": {"work.karmada.io/name": "x", "a": "b"}}],
        }));
        let delivery = Delivery {
            replicas: Some(5),
            overriders: &[&overriders],
            ..Delivery::to_m1(&template, ("default", "web-deployment"))
        };
        let made = manifest(&ReferenceRules, &delivery).unwrap();
        assert_eq!(made["spec"]["replicas"], 1);
        assert_eq!(made["metadata"]["labels"]["a"], "b");
        assert_ne!(made["metadata"]["labels"]["work.karmada.io/name"], "x");
    }

    #[test]
    fn a_job_has_its_share_of_pods_and_completions() {
        let template = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"},
            "spec": {"parallelism": 4, "completions": 8}});
        let share = Delivery {
            replicas: Some(1),
            completions: Some(2),
            ..Delivery::to_m1(&template, ("default", "sum-job"))
        };
        let made = manifest(&ReferenceRules, &share).unwrap();
        assert_eq!(made["spec"], json!({"parallelism": 1, "completions": 2}));
    }

    #[test]
    fn a_new_copy_gets_the_state_of_the_old_one_by_labels() {
        let template = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "web"}});
        let state = BTreeMap::from([("job-id".to_owned(), "a1".to_owned())]);
        let delivery = Delivery { state: &state, ..Delivery::to_m1(&template, ("default", "web-thing")) };
        let made = manifest(&ReferenceRules, &delivery).unwrap();
        assert_eq!(made["metadata"]["labels"]["job-id"], "a1");
        let managed = made["metadata"]["annotations"][ANNOTATION_MANAGED_LABELS].as_str().unwrap();
        assert!(managed.starts_with("job-id,"), "{managed}");
    }

    #[test]
    fn a_member_may_say_more_but_not_otherwise() {
        let wanted = json!({"spec": {"replicas": 2, "list": [{"a": 1}], "empty": {}}});
        let cases = [
            (json!({"spec": {"replicas": 2, "list": [{"a": 1, "b": 2}], "more": 1}, "status": {}}), true),
            (json!({"spec": {"replicas": 3, "list": [{"a": 1}]}}), false),
            (json!({"spec": {"replicas": 2, "list": []}}), false),
            (json!({"spec": {"list": [{"a": 1}]}}), false),
        ];
        for (present, expected) in cases {
            assert_eq!(covers(&present, &wanted), expected, "{present}");
        }
    }

    #[test]
    fn what_is_wanted_to_be_empty_need_not_be_there() {
        for (wanted, expected) in [
            (json!(null), true),
            (json!({}), true),
            (json!([]), true),
            (json!(0), false),
            (json!([0]), false),
        ] {
            assert_eq!(covers(&json!({}), &json!({"field": wanted})), expected, "{wanted}");
        }
    }

    #[test]
    fn nobody_adds_to_data() {
        let settings = |kind: &str, data: Value| json!({"kind": kind, "data": data});
        let cases = [
            ("ConfigMap", json!({"a": "1"}), true),
            ("ConfigMap", json!({"a": "1", "b": "2"}), false),
            ("Secret", json!({"a": "1", "b": "2"}), false),
            ("Thing", json!({"a": "1", "b": "2"}), true),
        ];
        for (kind, data, expected) in cases {
            let wanted = settings(kind, json!({"a": "1"}));
            assert_eq!(matches_manifest(&settings(kind, data), &wanted), expected, "{kind}");
        }
    }

    #[test]
    fn replicas_are_asked_for_by_workloads_only() {
        let (three, eight) = (json!({"replicas": 3}), json!({"parallelism": 4, "completions": 8}));
        let cases = [
            ("1.5", "Deployment", three.clone(), 3),
            ("1.5", "Deployment", json!({}), 1),
            ("1.5", "Job", json!({"parallelism": 4}), 4),
            ("1.18", "Job", json!({"parallelism": 4}), 4),
            ("1.18", "Job", eight, 4),
            ("1.10", "Job", json!({"parallelism": 4, "completions": 2}), 4),
            ("1.11", "Job", json!({"parallelism": 4, "completions": 2}), 2),
            ("1.6", "Pod", json!({}), 0),
            ("1.7", "Pod", json!({}), 1),
            ("1.15", "ReplicaSet", three.clone(), 0),
            ("1.16", "ReplicaSet", three.clone(), 3),
            ("1.18", "DaemonSet", three, 0),
            ("1.18", "ConfigMap", json!({}), 0),
        ];
        for (release, kind, spec, expected) in cases {
            let replicas = template_replicas(Behaviour::of(release), kind, &json!({"spec": spec}));
            assert_eq!(replicas, expected, "{release} {kind} {spec}");
        }
    }
}
