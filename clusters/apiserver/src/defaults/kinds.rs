//! Defaults, kind by kind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngExt;
use serde_json::{Value, json};

use capsize_clock::Stream;

use super::pod;
use crate::kinds::Kind;
use crate::object::child;

/// Sets a field that is not set.
pub(super) fn default(object: &mut Value, field: &str, value: impl FnOnce() -> Value) {
    let Some(fields) = object.as_object_mut() else { return };
    if fields.get(field).is_none_or(Value::is_null) {
        fields.insert(field.to_owned(), value());
    }
}

/// The objects of the list that is the field `list`.
pub(super) fn objects<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = object.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter(|item| item.is_object())
}

/// Sets what decoding an object of a built-in kind sets.
pub(crate) fn set_defaults(kind: &Kind, object: &mut Value) {
    match (&*kind.group, &*kind.plural) {
        ("", "pods") => {
            default(child(object, "spec"), "enableServiceLinks", || true.into());
            pod::spec(child(object, "spec"));
            times(object, &["lastProbeTime", "lastTransitionTime"]);
        }
        ("apps", plural @ ("deployments" | "replicasets" | "statefulsets" | "daemonsets")) => {
            workload(plural, object);
        }
        ("batch", "jobs") => job(child(object, "spec")),
        ("batch", "cronjobs") => {
            let spec = child(object, "spec");
            default(spec, "concurrencyPolicy", || "Allow".into());
            default(spec, "suspend", || false.into());
            default(spec, "successfulJobsHistoryLimit", || 3.into());
            default(spec, "failedJobsHistoryLimit", || 1.into());
            default(object, "status", || json!({}));
        }
        ("", "namespaces") => {
            let name = crate::object::meta(object, "name").to_owned();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
        }
        ("", "services") => service(object),
        ("", "secrets") => secret(object),
        ("", "nodes") => node(object),
        ("", "events") => event(object, ["source", "firstTimestamp", "lastTimestamp"]),
        ("events.k8s.io", "events") => {
            event(object, ["deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"]);
        }
        ("discovery.k8s.io", _) => {
            objects(object, "endpoints").for_each(|endpoint| default(endpoint, "conditions", || json!({})));
            for port in objects(object, "ports") {
                default(port, "name", || "".into());
                default(port, "protocol", || "TCP".into());
            }
        }
        ("autoscaling", _) => {
            let target = json!({"type": "Utilization", "averageUtilization": 80});
            let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
            default(child(object, "spec"), "minReplicas", || 1.into());
            default(child(object, "spec"), "metrics", || metrics);
            default(object, "status", || json!({"desiredReplicas": 0}));
            default(child(object, "status"), "currentMetrics", || Value::Null);
        }
        ("apiextensions.k8s.io", _) => crate::crd::default_definition(object),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => default(object, "rules", || Value::Null),
        _ => {}
    }
}

/// A time of a condition that is not set is written as null.
fn times(object: &mut Value, fields: &[&str]) {
    let Some(status) = object.get_mut("status") else { return };
    for condition in objects(status, "conditions") {
        fields.iter().for_each(|field| default(condition, field, || Value::Null));
    }
}

fn workload(plural: &str, object: &mut Value) {
    let spec = child(object, "spec");
    if plural != "daemonsets" {
        default(spec, "replicas", || 1.into());
    }
    if plural != "replicasets" {
        default(spec, "revisionHistoryLimit", || 10.into());
    }
    let strategy = if plural == "deployments" { "strategy" } else { "updateStrategy" };
    if plural != "replicasets" {
        let strategy = child(spec, strategy);
        default(strategy, "type", || "RollingUpdate".into());
        if strategy["type"] == "RollingUpdate" {
            let rolling = child(strategy, "rollingUpdate");
            match plural {
                "deployments" => {
                    default(rolling, "maxUnavailable", || "25%".into());
                    default(rolling, "maxSurge", || "25%".into());
                }
                "statefulsets" => default(rolling, "partition", || 0.into()),
                _ => {
                    default(rolling, "maxUnavailable", || 1.into());
                    default(rolling, "maxSurge", || 0.into());
                }
            }
        }
    }
    match plural {
        "deployments" => default(spec, "progressDeadlineSeconds", || 600.into()),
        "statefulsets" => {
            default(spec, "podManagementPolicy", || "OrderedReady".into());
            default(spec, "serviceName", || "".into());
            default(
                spec,
                "persistentVolumeClaimRetentionPolicy",
                || json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            );
        }
        _ => {}
    }
    pod::spec(child(child(spec, "template"), "spec"));
    let status = child(object, "status");
    let counts: &[&str] = match plural {
        "deployments" => &[],
        "replicasets" => &["replicas"],
        "statefulsets" => &["replicas", "availableReplicas"],
        _ => &["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"],
    };
    counts.iter().for_each(|field| default(status, field, || 0.into()));
    let all: &[&str] = &["lastTransitionTime", "lastUpdateTime"];
    times(object, if plural == "deployments" { all } else { &all[..1] });
}

fn job(spec: &mut Value) {
    default(spec, "completions", || 1.into());
    default(spec, "parallelism", || 1.into());
    default(spec, "backoffLimit", || 6.into());
    default(spec, "completionMode", || "NonIndexed".into());
    default(spec, "suspend", || false.into());
    default(spec, "podReplacementPolicy", || "TerminatingOrFailed".into());
    pod::spec(child(child(spec, "template"), "spec"));
}

fn service(object: &mut Value) {
    let spec = child(object, "spec");
    default(spec, "type", || "ClusterIP".into());
    default(spec, "sessionAffinity", || "None".into());
    if spec["type"] != "ExternalName" {
        default(spec, "internalTrafficPolicy", || "Cluster".into());
    }
    for port in objects(spec, "ports") {
        default(port, "protocol", || "TCP".into());
        let number = port["port"].clone();
        default(port, "targetPort", || number);
    }
    default(child(object, "status"), "loadBalancer", || json!({}));
}

/// Text that is to be encoded is, and is not kept.
fn secret(object: &mut Value) {
    default(object, "type", || "Opaque".into());
    let text = object.as_object_mut().and_then(|fields| fields.remove("stringData"));
    for (key, value) in text.as_ref().and_then(Value::as_object).into_iter().flatten() {
        object["data"][key] = STANDARD.encode(value.as_str().unwrap_or_default()).into();
    }
}

fn node(object: &mut Value) {
    const INFO: [&str; 10] = [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ];
    default(object, "spec", || json!({}));
    let status = child(object, "status");
    default(status, "daemonEndpoints", || json!({"kubeletEndpoint": {"Port": 0}}));
    INFO.iter().for_each(|field| default(child(status, "nodeInfo"), field, || "".into()));
    times(object, &["lastHeartbeatTime", "lastTransitionTime"]);
}

fn event(object: &mut Value, fields: [&str; 3]) {
    default(object, fields[0], || json!({}));
    default(object, fields[1], || Value::Null);
    default(object, fields[2], || Value::Null);
    default(object, "eventTime", || Value::Null);
    if fields[0] == "source" {
        default(object, "reportingComponent", || "".into());
        default(object, "reportingInstance", || "".into());
    }
}

/// What the strategy of a kind and the default admission plugins set on a create, beyond the defaults.
pub(crate) fn prepare_create(kind: &Kind, object: &mut Value, chance: &mut Stream) {
    match (&*kind.group, &*kind.plural) {
        ("", "namespaces") => {
            default(child(object, "spec"), "finalizers", || json!(["kubernetes"]));
            object["status"] = json!({"phase": "Active"});
        }
        ("", "pods") => {
            pod::admit(object);
            object["status"] =
                json!({"phase": "Pending", "qosClass": pod::quality_of_service(&object["spec"])});
        }
        ("", "nodes") => {
            // A node takes no pods before it is known to be ready.
            let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
            let mut taints = object["spec"]["taints"].as_array().cloned().unwrap_or_default();
            if !taints
                .iter()
                .any(|present| present["key"] == taint["key"] && present["effect"] == taint["effect"])
            {
                taints.push(taint);
            }
            object["spec"]["taints"] = Value::Array(taints);
        }
        ("", "services") if object["spec"]["type"] != "ExternalName" => {
            let [third, fourth] = [chance.random_range(0..=255_u8), chance.random_range(1..=254_u8)];
            default(child(object, "spec"), "clusterIP", || format!("10.96.{third}.{fourth}").into());
            let address = object["spec"]["clusterIP"].clone();
            default(child(object, "spec"), "clusterIPs", || json!([address]));
            default(child(object, "spec"), "ipFamilies", || json!(["IPv4"]));
            default(child(object, "spec"), "ipFamilyPolicy", || "SingleStack".into());
        }
        ("apiextensions.k8s.io", _) => {
            let versions = object["spec"]["versions"].as_array().into_iter().flatten();
            let stored =
                versions.filter(|version| version["storage"] == true).map(|version| version["name"].clone());
            object["status"] = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""},
                "storedVersions": stored.collect::<Vec<_>>()});
        }
        ("", "persistentvolumeclaims") => object["status"] = json!({"phase": "Pending"}),
        _ => {}
    }
}
