//! Translates the words of a scenario into Kubernetes objects, for clusters with nodes.

use capsize_sorted::CollectSorted;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Map, Value, json};

use crate::scenario::{PodOwner, PodToleration, Pods};

/// The API paths that contain the objects of the dialect.
pub const WATCHED: [&str; 3] =
    ["/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "/api/v1/pods"];

/// The namespace of every pod.
const NAMESPACE: &str = "default";

/// The kind of the object of a member.
#[must_use]
pub fn nodes() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"))
}

/// The full key of a taint: `not-ready` and `unreachable` are short for Kubernetes' own.
#[must_use]
pub fn taint_key(key: &str) -> String {
    match key {
        "not-ready" | "unreachable" => format!("node.kubernetes.io/{key}"),
        other => other.to_owned(),
    }
}

/// The objects to create so that `pods` run. Pods that are bound to nodes run one on each node of `on`.
#[must_use]
pub fn pods(pods: &Pods, on: &[String]) -> Vec<(ApiResource, Value)> {
    let of = |group: &str, kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let (kind, is_static) = match pods.kind.value {
        PodOwner::Deployment => (of("apps", "Deployment"), false),
        PodOwner::StatefulSet => (of("apps", "StatefulSet"), false),
        PodOwner::DaemonSet => (of("apps", "DaemonSet"), false),
        PodOwner::Pod => (of("", "Pod"), false),
        PodOwner::StaticPod => (of("", "Pod"), true),
    };
    let mut spec = spec(&pods.tolerations, is_static);
    if !pods.requests.is_empty() {
        let requests = pods.requests.iter().map(|(resource, amount)| (resource.clone(), json!(amount.value)));
        spec["containers"][0]["resources"] = json!({"requests": requests.collect_sorted::<Map<_, _>>()});
    }
    if kind.group.is_empty() {
        let bound = on.iter().enumerate().map(|(number, node)| {
            let name = format!("{}-{number}", pods.name.value);
            (kind.clone(), pod(&name, node, &spec, is_static))
        });
        return bound.collect();
    }
    let name = &pods.name.value;
    let labels = json!({"app": name});
    let mut object = json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    });
    if let Some(replicas) = &pods.replicas {
        object["spec"]["replicas"] = json!(replicas.value);
    }
    if pods.kind.value == PodOwner::StatefulSet {
        object["spec"]["serviceName"] = json!(name);
    }
    vec![(kind, object)]
}

fn pod(name: &str, node: &str, spec: &Value, is_static: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    });
    pod["spec"]["nodeName"] = json!(node);
    if is_static {
        // The annotations that the kubelet puts on mirror pods.
        pod["metadata"]["annotations"] =
            json!({"kubernetes.io/config.mirror": name, "kubernetes.io/config.source": "file"});
    }
    pod
}

fn spec(tolerations: &[PodToleration], is_static: bool) -> Value {
    let mut tolerated: Vec<Value> = tolerations.iter().map(toleration).collect();
    // The kubelet adds this toleration to its own pods.
    tolerated.extend(is_static.then(|| json!({"operator": "Exists", "effect": "NoExecute"})));
    let mut spec = json!({"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]});
    if !tolerated.is_empty() {
        spec["tolerations"] = json!(tolerated);
    }
    spec
}

fn toleration(toleration: &PodToleration) -> Value {
    let PodToleration { key, value, effect, seconds } = toleration;
    let operator = if value.is_some() { "Equal" } else { "Exists" };
    let mut object = [("operator".to_owned(), json!(operator))].collect_sorted::<Map<_, _>>();
    object.extend(key.as_deref().map(|key| ("key".to_owned(), json!(taint_key(key)))));
    object.extend(value.as_ref().map(|value| ("value".to_owned(), json!(value))));
    object.extend(effect.map(|effect| ("effect".to_owned(), json!(effect.to_string()))));
    object.extend(seconds.map(|seconds| ("tolerationSeconds".to_owned(), json!(seconds))));
    Value::Object(object)
}
