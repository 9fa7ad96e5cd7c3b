//! Which clusters hold a Work of a binding, what the Work says, and whether a member has what it says.
//!
//! karmada-io/karmada v1.5.0 `pkg/controllers/binding/common.go`, `pkg/util/helper/{binding,work}.go`,
//! `pkg/resourceinterpreter/default/native/prune`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Rules;
use crate::api::{
    ANNOTATION_MANAGED_ANNOTATIONS, ANNOTATION_MANAGED_LABELS, ANNOTATION_TEMPLATE_UID, LABEL_WORK_NAME,
    LABEL_WORK_NAMESPACE, Overriders, ResourceBindingSpec, TargetCluster, binding_annotations, binding_label,
    execution_namespace, work_name,
};

/// The clusters that hold a Work of the binding: the targets, and those that the workload has not left yet. A Work
/// anywhere else is an orphan. Works are written for the targets only, so that one that is leaving stays as it is.
#[must_use]
pub fn carriers(spec: &ResourceBindingSpec) -> BTreeSet<&str> {
    let targets = spec.clusters.iter().map(|target| target.name.as_str());
    targets.chain(spec.graceful_eviction_tasks.iter().map(|task| task.from_cluster.as_str())).collect()
}

/// The object that a template becomes in a target: without what the control plane's API server added, with the
/// target's replicas, with what is different there, and with labels and annotations that lead back to Work and binding.
///
/// `binding` is the binding's namespace (empty for a cluster-scoped one) and name; `overriders` are made one after another, and have the last word on
/// all but those marks.
///
/// # Errors
/// The template is not an object, or an override cannot be made.
pub fn manifest<R: Rules + ?Sized>(
    rules: &R,
    template: &Value,
    binding: (&str, &str),
    target: &TargetCluster,
    overriders: &[&Overriders],
) -> Result<Map<String, Value>, String> {
    let not_an_object = || "the template is not an object".to_owned();
    let mut object = Value::Object(revised(template, target).ok_or_else(not_an_object)?);
    overriders.iter().try_for_each(|overriders| rules.override_object(&mut object, overriders))?;
    marked(object, template, binding, target).ok_or_else(not_an_object)
}

/// The template without what the API server added, with the target's replicas.
fn revised(template: &Value, target: &TargetCluster) -> Option<Map<String, Value>> {
    let mut manifest = template.as_object()?.clone();
    manifest.remove("status");
    let metadata = manifest.get_mut("metadata")?.as_object_mut()?;
    metadata.retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "labels" | "annotations"));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    if target.replicas > 0 {
        let field = if manifest.get("kind")? == "Job" { "parallelism" } else { "replicas" };
        entry(&mut manifest, "spec")?.insert(field.into(), target.replicas.into());
    }
    Some(manifest)
}

/// The object with the marks that lead back to Work and binding.
fn marked(
    object: Value,
    template: &Value,
    binding: (&str, &str),
    target: &TargetCluster,
) -> Option<Map<String, Value>> {
    let Value::Object(mut manifest) = object else { return None };
    let text = |path: &str| template.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let work = work_name(text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    let metadata = manifest.get_mut("metadata")?.as_object_mut()?;
    let labels = entry(metadata, "labels")?;
    let (label, key) = binding_label(binding.0, binding.1);
    labels.insert(label.into(), key.into());
    labels.insert(LABEL_WORK_NAMESPACE.into(), execution_namespace(&target.name).into());
    labels.insert(LABEL_WORK_NAME.into(), work.into());
    let managed_labels = keys(labels);
    let annotations = entry(metadata, "annotations")?;
    let lead_back = binding_annotations(binding.0, binding.1);
    annotations.extend(lead_back.into_iter().map(|(key, value)| (key.to_owned(), value.into())));
    annotations.insert(ANNOTATION_TEMPLATE_UID.into(), text("/metadata/uid").into());
    annotations.insert(ANNOTATION_MANAGED_LABELS.into(), managed_labels.into());
    annotations.insert(ANNOTATION_MANAGED_ANNOTATIONS.into(), "".into());
    let managed_annotations = keys(annotations);
    annotations.insert(ANNOTATION_MANAGED_ANNOTATIONS.into(), managed_annotations.into());
    Some(manifest)
}

/// The replicas that a template asks for; 0 for what has none (`GetReplicas` of the default interpreter).
#[must_use]
pub fn template_replicas(kind: &str, template: &Value) -> i32 {
    let path = match kind {
        "Deployment" | "StatefulSet" => "/spec/replicas",
        "Job" => "/spec/parallelism",
        _ => return 0,
    };
    template.pointer(path).map_or(1, |replicas| {
        replicas.as_i64().and_then(|replicas| i32::try_from(replicas).ok()).unwrap_or_default()
    })
}

/// Whether all that `wanted` says is so in `present`, which may say more: defaults, status, what others own.
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

/// Whether the object in a member was put there by the Work.
#[must_use]
pub fn belongs_to_work(object: &Value, work_namespace: &str, work_name: &str) -> bool {
    let label = |key: &str| object.get("metadata")?.get("labels")?.get(key)?.as_str();
    label(LABEL_WORK_NAMESPACE) == Some(work_namespace) && label(LABEL_WORK_NAME) == Some(work_name)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn entry<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let slot = map.entry(key).or_insert_with(|| json!({}));
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

fn keys(map: &Map<String, Value>) -> String {
    let sorted: BTreeSet<&str> = map.keys().map(String::as_str).collect();
    sorted.into_iter().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Reference;

    #[test]
    fn a_manifest_is_what_the_recordings_of_release_1_5_show() {
        let template = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "dup", "namespace": "default", "uid": "39e3", "resourceVersion": "560",
                "generation": 1, "creationTimestamp": "2026-11-21T00:06:19Z",
                "labels": {"app": "dup", "propagationpolicy.karmada.io/name": "dup"}},
            "spec": {"replicas": 2}, "status": {"replicas": 2},
        });
        let target = TargetCluster { name: "m1".into(), replicas: 5 };
        let made = manifest(&Reference, &template, ("default", "dup-deployment"), &target, &[]).unwrap();
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "dup", "namespace": "default",
                "labels": {
                    "app": "dup", "propagationpolicy.karmada.io/name": "dup",
                    "resourcebinding.karmada.io/key": "675cb6b8b8",
                    "work.karmada.io/name": "dup-c4bfb655d", "work.karmada.io/namespace": "karmada-es-m1",
                },
                "annotations": {
                    "resourcebinding.karmada.io/name": "dup-deployment",
                    "resourcebinding.karmada.io/namespace": "default",
                    "resourcetemplate.karmada.io/uid": "39e3",
                    "resourcetemplate.karmada.io/managed-labels": "app,propagationpolicy.karmada.io/name,\
                        resourcebinding.karmada.io/key,work.karmada.io/name,work.karmada.io/namespace",
                    "resourcetemplate.karmada.io/managed-annotations": "resourcebinding.karmada.io/name,\
                        resourcebinding.karmada.io/namespace,resourcetemplate.karmada.io/managed-annotations,\
                        resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid",
                },
            },
            "spec": {"replicas": 5},
        });
        assert_eq!(Value::Object(made), expected);
    }

    #[test]
    fn what_has_no_namespace_leads_back_to_a_cluster_scoped_binding() {
        let template = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "web"}});
        let target = TargetCluster { name: "m1".into(), replicas: 0 };
        let made = manifest(&Reference, &template, ("", "web-thing"), &target, &[]).unwrap();
        assert_eq!(made["metadata"]["annotations"]["clusterresourcebinding.karmada.io/name"], "web-thing");
        assert!(made["metadata"]["labels"].get("resourcebinding.karmada.io/key").is_none());
        assert!(made["metadata"]["labels"].get("clusterresourcebinding.karmada.io/key").is_some());
    }

    #[test]
    fn overrides_have_the_last_word_but_on_the_marks() {
        let template =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {}});
        let target = TargetCluster { name: "m1".into(), replicas: 5 };
        let overriders: Overriders = serde_json::from_value(json!({
            "plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 1}],
            "labelsOverrider": [{"operator": "add", "value": {"work.karmada.io/name": "x", "a": "b"}}],
        }))
        .unwrap();
        let made =
            manifest(&Reference, &template, ("default", "web-deployment"), &target, &[&overriders]).unwrap();
        assert_eq!(made["spec"]["replicas"], 1);
        assert_eq!(made["metadata"]["labels"]["a"], "b");
        assert_ne!(made["metadata"]["labels"]["work.karmada.io/name"], "x");
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
    fn replicas_are_asked_for_by_workloads_only() {
        let cases = [
            ("Deployment", json!({"spec": {"replicas": 3}}), 3),
            ("Deployment", json!({"spec": {}}), 1),
            ("Job", json!({"spec": {"parallelism": 4}}), 4),
            ("ConfigMap", json!({"data": {}}), 0),
        ];
        for (kind, template, expected) in cases {
            assert_eq!(template_replicas(kind, &template), expected, "{kind} {template}");
        }
    }
}
