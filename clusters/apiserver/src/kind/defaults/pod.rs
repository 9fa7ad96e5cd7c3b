//! The defaults of pods, and of the pod templates of workloads.

use serde_json::{Value, json};

use super::kinds::{default, objects};
use capsize_cel::Quantity;

/// Defaults of a pod spec in a pod or in a template.
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
    objects(spec, "ephemeralContainers").for_each(container);
    objects(spec, "volumes").for_each(volume);
    // The deprecated field is a copy of the current one.
    let account = spec["serviceAccountName"].as_str().or(spec["serviceAccount"].as_str()).map(str::to_owned);
    if let Some(account) = account.filter(|account| !account.is_empty()) {
        spec["serviceAccountName"] = account.as_str().into();
        spec["serviceAccount"] = account.into();
    }
}

/// Defaults of the spec of a pod itself.
/// Beyond those of a template, limits become requests, and containers in the host network get host ports.
pub(super) fn of_pod(pod_spec: &mut Value) {
    default(pod_spec, "enableServiceLinks", || true.into());
    spec(pod_spec);
    let on_host = pod_spec["hostNetwork"] == true;
    for list in ["containers", "initContainers"] {
        for container in objects(pod_spec, list) {
            if container["resources"]["limits"].is_object() {
                let limits = container["resources"]["limits"].clone();
                let requests = crate::kind::object::child(&mut container["resources"], "requests");
                for (name, amount) in limits.as_object().into_iter().flatten() {
                    default(requests, name, || amount.clone());
                }
            }
            for port in objects(container, "ports").filter(|_| on_host) {
                let number = port["containerPort"].clone();
                default(port, "hostPort", || number);
            }
        }
    }
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
    for variable in objects(container, "env") {
        if variable["valueFrom"]["fieldRef"].is_object() {
            default(&mut variable["valueFrom"]["fieldRef"], "apiVersion", || "v1".into());
        }
    }
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
            if probe["grpc"].is_object() {
                default(&mut probe["grpc"], "service", || "".into());
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
    host_path(volume);
    if volume["downwardAPI"].is_object() {
        downward(&mut volume["downwardAPI"]);
    }
    if volume["projected"].is_object() {
        for source in objects(&mut volume["projected"], "sources") {
            if source["serviceAccountToken"].is_object() {
                default(&mut source["serviceAccountToken"], "expirationSeconds", || 3600.into());
            }
            if source["downwardAPI"].is_object() {
                downward(&mut source["downwardAPI"]);
            }
        }
    }
}

/// A host path without a type gets the empty type, which means no check.
pub(super) fn host_path(volume: &mut Value) {
    if volume["hostPath"].is_object() {
        default(&mut volume["hostPath"], "type", || "".into());
    }
}

fn downward(volume: &mut Value) {
    for item in objects(volume, "items") {
        if item["fieldRef"].is_object() {
            default(&mut item["fieldRef"], "apiVersion", || "v1".into());
        }
    }
}

/// The number of seconds for which a pod without tolerations of its own tolerates a failed node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultTolerations {
    /// A node that is not ready.
    pub not_ready: u64,
    /// A node that is unreachable.
    pub unreachable: u64,
}

impl Default for DefaultTolerations {
    fn default() -> Self {
        Self { not_ready: 300, unreachable: 300 }
    }
}

/// Adds the default tolerations for nodes that are not ready or unreachable.
pub(crate) fn tolerate_lost_nodes(pod: &mut Value, tolerated: DefaultTolerations) {
    let spec = &mut pod["spec"];
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for (key, seconds) in [
        ("node.kubernetes.io/not-ready", tolerated.not_ready),
        ("node.kubernetes.io/unreachable", tolerated.unreachable),
    ] {
        let covers = |toleration: &Value| {
            let any = |field: &str| toleration[field].as_str().unwrap_or_default().is_empty();
            (toleration["key"] == key || any("key")) && (toleration["effect"] == "NoExecute" || any("effect"))
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}),
            );
        }
    }
    spec["tolerations"] = Value::Array(tolerations);
}

/// The quality of service class of a pod, from its requests and limits.
pub(crate) fn quality_of_service(spec: &Value) -> &'static str {
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().flat_map(|list| spec[*list].as_array().into_iter().flatten());
    let resources: Vec<_> = containers.map(|container| &container["resources"]).collect();
    let names = ["cpu", "memory"];
    let amount = |resources: &Value, side: &str, name: &str| {
        Quantity::of(&resources[side][name]).map(Quantity::amount).filter(|amount| *amount > 0)
    };
    let asked =
        |side: &str, name: &str| resources.iter().any(|resources| amount(resources, side, name).is_some());
    let full = |resources: &&Value| {
        names.iter().all(|name| {
            let limit = amount(resources, "limits", name);
            let request = amount(resources, "requests", name);
            limit.is_some() && (request.is_none() || request == limit)
        })
    };
    if !names.iter().any(|name| asked("limits", name) || asked("requests", name)) {
        "BestEffort"
    } else if resources.iter().all(full) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
