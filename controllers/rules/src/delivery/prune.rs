//! Removal of template parts that belong to the control plane and must not reach a member.
//!
//! karmada-io/karmada v1.18.2 `pkg/resourceinterpreter/default/native/prune/prune.go`.

use serde_json::{Map, Value};

/// Labels that tie the pods of a Job to it, under their old and new names.
/// Without `manualSelector` the API server of each member generates them again.
const JOB_LABELS: [&str; 4] =
    ["controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"];

/// Removes the parts of a template that are meaningful only in the control plane.
/// These parts are the status, and all metadata except name, namespace, labels and annotations. Values that were
/// allocated or generated are also removed, depending on the kind.
pub fn prune(manifest: &mut Map<String, Value>) {
    manifest.remove("status");
    if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "labels" | "annotations"));
    }
    forget(manifest, "/metadata/annotations", &["kubectl.kubernetes.io/last-applied-configuration"]);
    match manifest.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "Deployment" => {
            let annotations =
                ["deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"];
            forget(manifest, "/metadata/annotations", &annotations);
        }
        "Job" => prune_job(manifest),
        // `None` is not allocated: the user wants a headless Service.
        "Service" if at(manifest, "/spec/clusterIP").is_some_and(|address| address != "None") => {
            forget(manifest, "/spec", &["clusterIP", "clusterIPs"]);
        }
        "ServiceAccount" => prune_tokens(manifest),
        "Secret"
            if manifest.get("type").is_some_and(|kind| kind == "kubernetes.io/service-account-token") =>
        {
            forget(manifest, "/metadata/annotations", &["kubernetes.io/service-account.uid"]);
            manifest.remove("data");
        }
        "PersistentVolumeClaim" => {
            forget(manifest, "/metadata/annotations", &["volume.kubernetes.io/selected-node"]);
        }
        _ => {}
    }
}

/// Removes the time to live, too: a Job that expires in a member would be created there again (#2197).
fn prune_job(manifest: &mut Map<String, Value>) {
    forget(manifest, "/spec", &["ttlSecondsAfterFinished"]);
    if at(manifest, "/spec/manualSelector").is_none_or(|manual| manual != true) {
        forget(manifest, "/spec/selector/matchLabels", &JOB_LABELS[..2]);
        forget(manifest, "/spec/template/metadata/labels", &JOB_LABELS);
    }
}

/// Removes the generated tokens of a `ServiceAccount`.
fn prune_tokens(manifest: &mut Map<String, Value>) {
    let prefix =
        format!("{}-token-", at(manifest, "/metadata/name").and_then(Value::as_str).unwrap_or_default());
    if let Some(secrets) = manifest.get_mut("secrets").and_then(Value::as_array_mut) {
        secrets.retain(|secret| !secret["name"].as_str().is_some_and(|name| name.starts_with(&prefix)));
    }
}

fn at<'a>(map: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
    map.get(first)?.pointer(&format!("/{rest}"))
}

fn forget(map: &mut Map<String, Value>, path: &str, fields: &[&str]) {
    let mut place = Some(map);
    for part in path.split('/').skip(1) {
        place = place.and_then(|map| map.get_mut(part)).and_then(Value::as_object_mut);
    }
    if let Some(place) = place {
        place.retain(|field, _| !fields.contains(&field.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_the_control_plane_can_mean_goes() {
        let cases = [
            (
                json!({"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "finalizers": ["f"],
                    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "b": "c"}}, "status": {}}),
                json!({"kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"b": "c"}}}),
            ),
            (
                json!({"kind": "Service", "metadata": {}, "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": []}}),
                json!({"kind": "Service", "metadata": {}, "spec": {"ports": []}}),
            ),
            (
                json!({"kind": "Service", "metadata": {}, "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
                json!({"kind": "Service", "metadata": {}, "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
            ),
            (
                json!({"kind": "Job", "metadata": {}, "spec": {"ttlSecondsAfterFinished": 5,
                    "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
                    "template": {"metadata": {"labels": {"job-name": "a", "app": "a"}}}}}),
                json!({"kind": "Job", "metadata": {}, "spec": {"selector": {"matchLabels": {}},
                    "template": {"metadata": {"labels": {"app": "a"}}}}}),
            ),
            (
                json!({"kind": "Job", "metadata": {}, "spec": {"manualSelector": true,
                    "selector": {"matchLabels": {"controller-uid": "mine"}}}}),
                json!({"kind": "Job", "metadata": {}, "spec": {"manualSelector": true,
                    "selector": {"matchLabels": {"controller-uid": "mine"}}}}),
            ),
            (
                json!({"kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{"name": "a-token-x"}, {"name": "own"}]}),
                json!({"kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{"name": "own"}]}),
            ),
            (
                json!({"kind": "Secret", "metadata": {"annotations": {"kubernetes.io/service-account.uid": "u"}},
                    "type": "kubernetes.io/service-account-token", "data": {"token": "x"}}),
                json!({"kind": "Secret", "metadata": {"annotations": {}}, "type": "kubernetes.io/service-account-token"}),
            ),
            (
                json!({"kind": "Secret", "metadata": {}, "type": "Opaque", "data": {"key": "x"}}),
                json!({"kind": "Secret", "metadata": {}, "type": "Opaque", "data": {"key": "x"}}),
            ),
            (
                json!({"kind": "Deployment", "metadata": {"annotations": {"deployment.kubernetes.io/revision": "3", "a": "b"}}}),
                json!({"kind": "Deployment", "metadata": {"annotations": {"a": "b"}}}),
            ),
            (
                json!({"kind": "PersistentVolumeClaim", "metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}}),
                json!({"kind": "PersistentVolumeClaim", "metadata": {"annotations": {}}}),
            ),
        ];
        for (template, expected) in cases {
            let mut manifest = template.as_object().cloned().unwrap();
            prune(&mut manifest);
            assert_eq!(Value::Object(manifest), expected, "{template}");
        }
    }
}
