//! The defaults of each built-in kind.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{batch, pod, workload};
use crate::kind::kinds::Kind;
use crate::kind::object::child;

/// Sets a field if it is not set.
pub(crate) fn default(object: &mut Value, field: &str, value: impl FnOnce() -> Value) {
    let Some(fields) = object.as_object_mut() else { return };
    if fields.get(field).is_none_or(Value::is_null) {
        fields.insert(field.to_owned(), value());
    }
}

/// The objects in the list `list`.
pub(super) fn objects<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = object.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter(|item| item.is_object())
}

/// Sets the defaults that Go sets when it decodes an object of a built-in kind.
pub(crate) fn set_defaults(kind: &Kind, object: &mut Value) {
    match (&*kind.group, &*kind.plural) {
        ("", "pods") => {
            pod::of_pod(child(object, "spec"));
            times(object, &["lastProbeTime", "lastTransitionTime"]);
        }
        ("", "podtemplates") => pod::spec(child(child(object, "template"), "spec")),
        ("", "replicationcontrollers") => workload::replication_controller(object),
        ("apps", plural @ ("deployments" | "replicasets" | "statefulsets" | "daemonsets")) => {
            workload::set_defaults(plural, object);
        }
        ("batch", "jobs") => batch::job(object),
        ("batch", "cronjobs") => batch::cron_job(object),
        ("", "namespaces") => {
            let name = crate::kind::object::meta(object, "name").to_owned();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
        }
        ("", "services") => service(object),
        ("", "endpoints") => {
            for subset in objects(object, "subsets") {
                objects(subset, "ports").for_each(|port| default(port, "protocol", || "TCP".into()));
            }
        }
        ("", "secrets") => secret(object),
        ("", "nodes") => node(object),
        ("", "events") => event(object, ["source", "firstTimestamp", "lastTimestamp"]),
        ("events.k8s.io", "events") => {
            event(object, ["deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"]);
        }
        ("", "persistentvolumeclaims") => batch::claim(object),
        ("", "persistentvolumes") => {
            let spec = child(object, "spec");
            default(spec, "persistentVolumeReclaimPolicy", || "Retain".into());
            default(spec, "volumeMode", || "Filesystem".into());
            pod::host_path(spec);
        }
        ("discovery.k8s.io", _) => {
            objects(object, "endpoints").for_each(|endpoint| default(endpoint, "conditions", || json!({})));
            for port in objects(object, "ports") {
                default(port, "name", || "".into());
                default(port, "protocol", || "TCP".into());
            }
        }
        ("autoscaling", _) => batch::scaler(object),
        ("admissionregistration.k8s.io", _) => crate::write::webhook::default_configuration(kind, object),
        ("apiextensions.k8s.io", _) => crate::kind::custom::default_definition(object),
        ("networking.k8s.io", "networkpolicies") => policy(child(object, "spec")),
        ("rbac.authorization.k8s.io", plural) => access(plural, object),
        ("scheduling.k8s.io", "priorityclasses") => {
            default(object, "value", || 0.into());
            default(object, "preemptionPolicy", || "PreemptLowerPriority".into());
        }
        ("storage.k8s.io", "storageclasses") => {
            default(object, "reclaimPolicy", || "Delete".into());
            default(object, "volumeBindingMode", || "Immediate".into());
        }
        _ => {}
    }
}

/// Sets unset times of conditions to null, as Go writes them.
pub(super) fn times(object: &mut Value, fields: &[&str]) {
    let Some(status) = object.get_mut("status") else { return };
    for condition in objects(status, "conditions") {
        fields.iter().for_each(|field| default(condition, field, || Value::Null));
    }
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
        // Clients in Go send the zero value of a field that is not set.
        if port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = Value::Null;
        }
        default(port, "targetPort", || number);
    }
    let balanced = spec["type"] == "LoadBalancer";
    if balanced {
        default(spec, "allocateLoadBalancerNodePorts", || true.into());
    }
    if balanced || spec["type"] == "NodePort" {
        default(spec, "externalTrafficPolicy", || "Cluster".into());
    }
    if spec["sessionAffinity"] == "ClientIP" {
        let lasting = child(child(spec, "sessionAffinityConfig"), "clientIP");
        default(lasting, "timeoutSeconds", || 10_800.into());
    }
    default(child(object, "status"), "loadBalancer", || json!({}));
}

/// A network policy without policy types applies to ingress, and also to egress if it has egress rules.
fn policy(spec: &mut Value) {
    let outward = spec["egress"].as_array().is_some_and(|rules| !rules.is_empty());
    default(spec, "policyTypes", || if outward { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
    default(spec, "podSelector", || json!({}));
    for rules in ["ingress", "egress"] {
        for rule in objects(spec, rules) {
            objects(rule, "ports").for_each(|port| default(port, "protocol", || "TCP".into()));
        }
    }
}

fn access(plural: &str, object: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    if matches!(plural, "roles" | "clusterroles") {
        return default(object, "rules", || Value::Null);
    }
    default(child(object, "roleRef"), "apiGroup", || GROUP.into());
    for subject in objects(object, "subjects") {
        if matches!(subject["kind"].as_str(), Some("User" | "Group")) {
            default(subject, "apiGroup", || GROUP.into());
        }
    }
}

/// Moves `stringData` into `data`, encoded as base64.
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
    let spec = child(object, "spec");
    // The first range is in two fields; the older field has precedence.
    match spec["podCIDR"].as_str().filter(|range| !range.is_empty()).map(str::to_owned) {
        Some(range) if spec["podCIDRs"][0] != range.as_str() => spec["podCIDRs"] = json!([range]),
        Some(_) => {}
        None => {
            let range = spec["podCIDRs"][0].clone();
            if range.is_string() {
                spec["podCIDR"] = range;
            }
        }
    }
    let status = child(object, "status");
    if status["allocatable"].is_null() && status["capacity"].is_object() {
        status["allocatable"] = status["capacity"].clone();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;

    #[test]
    fn a_target_port_that_go_leaves_empty_is_the_port() {
        for given in [Value::Null, json!(0), json!(""), json!(8080), json!("http")] {
            let mut object = json!({"spec": {"ports": [{"port": 80, "targetPort": given}]}});
            service(&mut object);
            let expected = if given == 8080 || given == "http" { given } else { json!(80) };
            assert_eq!(object["spec"]["ports"][0]["targetPort"], expected);
        }
    }

    #[test]
    fn a_node_can_allocate_its_whole_capacity_and_has_its_range_in_two_fields() {
        let defaulted = |mut node: Value| {
            set_defaults(builtin("", "v1", "nodes"), &mut node);
            node
        };
        let node = defaulted(json!({"status": {"capacity": {"cpu": "4"}}}));
        assert_eq!(node["status"]["allocatable"], json!({"cpu": "4"}));
        let node = defaulted(json!({"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}}));
        assert_eq!(node["status"]["allocatable"], json!({"cpu": "3"}));
        assert!(defaulted(json!({}))["status"].get("allocatable").is_none());
        let both = json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]});
        for spec in [json!({"podCIDR": "10.0.0.0/24"}), json!({"podCIDRs": ["10.0.0.0/24"]})] {
            assert_eq!(defaulted(json!({"spec": spec}))["spec"], both);
        }
        let moved = defaulted(json!({"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.1.0/24"]}}));
        assert_eq!(moved["spec"], both);
    }
}
