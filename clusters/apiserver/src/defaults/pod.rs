//! Pods, and the pod templates of workloads.

use serde_json::{Value, json};

use super::kinds::{default, objects};

/// Defaults of a pod spec, be it of a pod or of a template.
pub(super) fn spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    default(spec, "restartPolicy", || "Always".into());
    default(spec, "terminationGracePeriodSeconds", || 30.into());
    default(spec, "dnsPolicy", || "ClusterFirst".into());
    default(spec, "securityContext", || json!({}));
    default(spec, "schedulerName", || "default-scheduler".into());
    for list in ["containers", "initContainers"] {
        objects(spec, list).for_each(container);
    }
    objects(spec, "volumes").for_each(volume);
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let latest = name.ends_with(":latest") || !name.contains([':', '@']);
    default(container, "imagePullPolicy", || if latest { "Always" } else { "IfNotPresent" }.into());
    default(container, "resources", || json!({}));
    default(container, "terminationMessagePath", || "/dev/termination-log".into());
    default(container, "terminationMessagePolicy", || "File".into());
    objects(container, "ports").for_each(|port| default(port, "protocol", || "TCP".into()));
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[probe].is_object() {
            let probe = &mut container[probe];
            for (field, value) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                default(probe, field, || value.into());
            }
            if probe["httpGet"].is_object() {
                default(&mut probe["httpGet"], "scheme", || "HTTP".into());
                default(&mut probe["httpGet"], "path", || "/".into());
            }
        }
    }
}

fn volume(volume: &mut Value) {
    if volume.as_object().is_some_and(|fields| fields.keys().all(|field| field == "name")) {
        volume["emptyDir"] = json!({});
    }
    for source in ["secret", "configMap", "projected", "downwardAPI"] {
        if volume[source].is_object() {
            default(&mut volume[source], "defaultMode", || 420.into());
        }
    }
}

/// What admission adds to a new pod: how long it tolerates a node that is gone, and its priority.
pub(super) fn admit(pod: &mut Value) {
    let spec = &mut pod["spec"];
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            let any = |field: &str| toleration[field].as_str().unwrap_or_default().is_empty();
            (toleration["key"] == key || any("key")) && (toleration["effect"] == "NoExecute" || any("effect"))
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
    spec["tolerations"] = Value::Array(tolerations);
    default(spec, "priority", || 0.into());
    default(spec, "preemptionPolicy", || "PreemptLowerPriority".into());
}

/// The quality of service that a pod's requests and limits make.
pub(super) fn quality_of_service(spec: &Value) -> &'static str {
    let containers: Vec<_> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| spec[*list].as_array().into_iter().flatten())
        .map(|container| &container["resources"])
        .collect();
    let amount = |resources: &Value, side: &str, name: &str| resources[side].get(name).cloned();
    let names = ["cpu", "memory"];
    let any = |resources: &&Value| {
        names
            .iter()
            .any(|name| ["limits", "requests"].iter().any(|side| amount(resources, side, name).is_some()))
    };
    let full = |resources: &&Value| {
        names.iter().all(|name| {
            let limit = amount(resources, "limits", name);
            let request = amount(resources, "requests", name);
            limit.is_some() && (request.is_none() || request == limit)
        })
    };
    if !containers.iter().any(any) {
        "BestEffort"
    } else if containers.iter().all(full) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
