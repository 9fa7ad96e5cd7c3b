//! The values that a copy keeps when it is updated, because the member or other writers set them.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/objectwatcher/objectwatcher.go`, `pkg/util/{label,annotation}.go`,
//! `pkg/resourceinterpreter/default/native/retain.go`, `pkg/util/lifted/retain.go`.

use serde_json::{Map, Value, json};

use crate::api::{ANNOTATION_MANAGED_ANNOTATIONS, ANNOTATION_MANAGED_LABELS, LABEL_RETAIN_REPLICAS};

/// Returns the manifest with the values that the present copy keeps.
/// The copy keeps finalizers, owners, and the labels and annotations that did not come from the control plane. The copy
/// also keeps the fields that the member sets, depending on the kind.
#[must_use]
pub fn retained(wanted: &Map<String, Value>, present: &Value) -> Map<String, Value> {
    let mut kept = wanted.clone();
    for field in ["/metadata/finalizers", "/metadata/ownerReferences"] {
        keep(&mut kept, present, field);
    }
    keep_others(&mut kept, present, "labels", ANNOTATION_MANAGED_LABELS);
    keep_others(&mut kept, present, "annotations", ANNOTATION_MANAGED_ANNOTATIONS);
    let kind = wanted.get("kind").and_then(Value::as_str).unwrap_or_default();
    for field in fields_of(kind) {
        keep(&mut kept, present, field);
    }
    match kind {
        "Deployment" if label(wanted, LABEL_RETAIN_REPLICAS) == Some("true") => {
            keep(&mut kept, present, "/spec/replicas");
        }
        "Pod" => {
            for containers in ["containers", "initContainers"] {
                keep_mounts(&mut kept, present, containers);
            }
        }
        "ServiceAccount" => {
            for secrets in ["secrets", "imagePullSecrets"] {
                merge_by_name(&mut kept, present, secrets);
            }
        }
        "Secret" if wanted.get("type").is_some_and(|kind| kind == "kubernetes.io/service-account-token") => {
            keep(&mut kept, present, "/data");
        }
        _ => {}
    }
    kept
}

/// The fields that the member sets, kept if they have a value.
fn fields_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["/spec/nodeName", "/spec/serviceAccountName", "/spec/volumes"],
        "Service" => &["/spec/clusterIP", "/spec/clusterIPs", "/spec/healthCheckNodePort"],
        "PersistentVolumeClaim" => &["/spec/volumeName"],
        "PersistentVolume" => &["/spec/claimRef"],
        "Job" => &["/spec/selector/matchLabels", "/spec/template/metadata/labels"],
        _ => &[],
    }
}

fn label<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// Copies the field at `path`, if `present` has one.
fn keep(kept: &mut Map<String, Value>, present: &Value, path: &str) {
    let Some(value) = present.pointer(path).filter(|value| !is_nothing(value)) else { return };
    let Some((parents, field)) = path.rsplit_once('/') else { return };
    let mut place = Some(kept);
    for part in parents.split('/').skip(1) {
        place = place.and_then(|map| map.entry(part).or_insert_with(|| json!({})).as_object_mut());
    }
    if let Some(place) = place {
        place.insert(field.into(), value.clone());
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value == "" || value == 0
}

/// Keeps the labels (or annotations) that did not come from the control plane.
/// An annotation lists those that did; they are removed when the manifest no longer has them.
fn keep_others(kept: &mut Map<String, Value>, present: &Value, field: &str, list: &str) {
    let metadata = present.get("metadata");
    let Some(there) = metadata.and_then(|metadata| metadata.get(field)).and_then(Value::as_object) else {
        return;
    };
    let managed = metadata.and_then(|metadata| metadata.get("annotations")?.get(list)?.as_str());
    let managed: Vec<&str> = managed.unwrap_or_default().split(',').collect();
    let metadata = kept.entry("metadata").or_insert_with(|| json!({})).as_object_mut();
    let wanted =
        metadata.and_then(|metadata| metadata.entry(field).or_insert_with(|| json!({})).as_object_mut());
    let Some(wanted) = wanted else { return };
    for (key, value) in there.iter().filter(|(key, _)| !managed.contains(&key.as_str())) {
        wanted.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

/// Containers keep their mounts: the member mounts its own tokens.
fn keep_mounts(kept: &mut Map<String, Value>, present: &Value, containers: &str) {
    let there = present.pointer(&format!("/spec/{containers}")).and_then(Value::as_array);
    let wanted = kept.get_mut("spec").and_then(|spec| spec.get_mut(containers)).and_then(Value::as_array_mut);
    for container in wanted.into_iter().flatten() {
        let same = there.and_then(|there| there.iter().find(|other| other["name"] == container["name"]));
        if let (Some(same), Some(container)) = (same, container.as_object_mut()) {
            match same.get("volumeMounts") {
                Some(mounts) => drop(container.insert("volumeMounts".into(), mounts.clone())),
                None => drop(container.remove("volumeMounts")),
            }
        }
    }
}

/// Adds the entries of the present copy with other names.
/// A member's controllers create tokens, and would create the tokens again after each update.
fn merge_by_name(kept: &mut Map<String, Value>, present: &Value, field: &str) {
    let Some(there) = present.get(field).and_then(Value::as_array) else { return };
    let wanted = kept.entry(field).or_insert_with(|| json!([])).as_array_mut();
    let Some(wanted) = wanted else { return };
    for secret in there {
        if !wanted.iter().any(|other| other["name"] == secret["name"]) {
            wanted.push(secret.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(wanted: &Value, present: &Value) -> Value {
        Value::Object(retained(wanted.as_object().unwrap(), present))
    }

    #[test]
    fn others_keep_their_marks_and_the_control_plane_takes_back_its_own() {
        let wanted = json!({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"new": "1"}}});
        let present = json!({"kind": "ConfigMap", "metadata": {
            "name": "a", "uid": "u", "finalizers": ["theirs"], "ownerReferences": [{"uid": "o"}],
            "labels": {"old": "1", "theirs": "2"},
            "annotations": {"resourcetemplate.karmada.io/managed-labels": "old",
                "resourcetemplate.karmada.io/managed-annotations": "resourcetemplate.karmada.io/managed-labels,\
                    resourcetemplate.karmada.io/managed-annotations", "note": "3"},
        }});
        let expected = json!({"kind": "ConfigMap", "metadata": {
            "name": "a", "finalizers": ["theirs"], "ownerReferences": [{"uid": "o"}],
            "labels": {"new": "1", "theirs": "2"}, "annotations": {"note": "3"},
        }});
        assert_eq!(after(&wanted, &present), expected);
    }

    #[test]
    fn what_the_member_says_by_kind_is_kept() {
        let hpa = json!({"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}});
        let cases = [
            (
                json!({"kind": "Deployment", "metadata": hpa, "spec": {"replicas": 1}}),
                json!({"spec": {"replicas": 7}}),
                json!({"kind": "Deployment", "metadata": hpa, "spec": {"replicas": 7}}),
            ),
            (
                json!({"kind": "Deployment", "metadata": {}, "spec": {"replicas": 1}}),
                json!({"spec": {"replicas": 7}}),
                json!({"kind": "Deployment", "metadata": {}, "spec": {"replicas": 1}}),
            ),
            (
                json!({"kind": "Service", "spec": {"ports": [{"port": 80}]}}),
                json!({"spec": {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "healthCheckNodePort": 0}}),
                json!({"kind": "Service", "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.9",
                    "clusterIPs": ["10.0.0.9"]}}),
            ),
            (
                json!({"kind": "PersistentVolumeClaim", "spec": {}}),
                json!({"spec": {"volumeName": "pv-1"}}),
                json!({"kind": "PersistentVolumeClaim", "spec": {"volumeName": "pv-1"}}),
            ),
            (
                json!({"kind": "PersistentVolume", "spec": {}}),
                json!({"spec": {"claimRef": {"name": "c"}}}),
                json!({"kind": "PersistentVolume", "spec": {"claimRef": {"name": "c"}}}),
            ),
            (
                json!({"kind": "Job", "spec": {"parallelism": 2}}),
                json!({"spec": {"selector": {"matchLabels": {"controller-uid": "u"}}}}),
                json!({"kind": "Job", "spec": {"parallelism": 2, "selector": {"matchLabels": {"controller-uid": "u"}}}}),
            ),
            (
                json!({"kind": "Pod", "spec": {"containers": [{"name": "main", "image": "b"}]}}),
                json!({"spec": {"nodeName": "n", "containers": [{"name": "main", "image": "a", "volumeMounts": [{"name": "t"}]}]}}),
                json!({"kind": "Pod", "spec": {"nodeName": "n", "containers": [
                    {"name": "main", "image": "b", "volumeMounts": [{"name": "t"}]}]}}),
            ),
            (
                json!({"kind": "Service", "spec": {"clusterIP": "10.0.0.1"}}),
                json!({"spec": {"clusterIP": ""}}),
                json!({"kind": "Service", "spec": {"clusterIP": "10.0.0.1"}}),
            ),
            (
                json!({"kind": "Secret", "type": "kubernetes.io/service-account-token"}),
                json!({"data": {"token": "x"}}),
                json!({"kind": "Secret", "type": "kubernetes.io/service-account-token", "data": {"token": "x"}}),
            ),
            (
                json!({"kind": "Secret", "type": "Opaque", "data": {"a": "1"}}),
                json!({"data": {"a": "2"}}),
                json!({"kind": "Secret", "type": "Opaque", "data": {"a": "1"}}),
            ),
            (
                json!({"kind": "ServiceAccount", "secrets": [{"name": "own"}]}),
                json!({"secrets": [{"name": "token"}, {"name": "own"}]}),
                json!({"kind": "ServiceAccount", "secrets": [{"name": "own"}, {"name": "token"}]}),
            ),
        ];
        for (wanted, present, expected) in cases {
            assert_eq!(after(&wanted, &present), expected, "{wanted}");
        }
    }
}
