//! Replays the kubelets and people of a history, and observes the result.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use capsize_clock::Clock;
use futures::StreamExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, WatchEvent};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinSet;

fn kind(name: &str) -> ApiResource {
    let group = if name == "Lease" { "coordination.k8s.io" } else { "" };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", name))
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Taints as `key:effect`: those that controllers set, or those that people set.
pub(crate) fn taints(node: &Value, of_controllers: bool) -> Vec<String> {
    let taints = taint_list(node, of_controllers).into_iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    taints.map(|taint| format!("{}:{}", text(&taint["key"]), text(&taint["effect"]))).collect()
}

fn taint_list(node: &Value, of_controllers: bool) -> Vec<Value> {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_theirs =
        |taint: &Value| taint["key"].as_str().unwrap_or_default().starts_with("node.kubernetes.io/");
    taints.into_iter().filter(|taint| is_theirs(taint) == of_controllers).collect()
}

/// The last version of each object of a history.
#[derive(Default)]
pub(crate) struct Versions(BTreeMap<(String, String), Value>);

/// Performs the action of a kubelet or a person that led to this version of `object`.
pub(crate) async fn act(client: &Client, clock: Clock, seen: &mut Versions, event: &str, object: &Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind_name, name, namespace) = (text("/kind"), text("/metadata/name"), text("/metadata/namespace"));
    let before = seen.0.insert((kind_name.clone(), name.clone()), object.clone());
    let api: Api<DynamicObject> = match namespace.as_str() {
        "" => Api::all_with(client.clone(), &kind(&kind_name)),
        namespace => Api::namespaced_with(client.clone(), namespace, &kind(&kind_name)),
    };
    if event == "DELETED" {
        let _ = api
            .delete(&name, &DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() })
            .await;
        return;
    }
    let Some(before) = before else {
        let metadata = json!({"name": name, "namespace": object["metadata"].get("namespace"), "labels": object["metadata"].get("labels")});
        let mut spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("taints");
        }
        let new = json!({"apiVersion": object["apiVersion"], "kind": kind_name, "metadata": metadata, "spec": spec});
        let new: DynamicObject = serde_json::from_value(new).unwrap();
        api.create(&PostParams::default(), &new).await.unwrap();
        return;
    };
    match kind_name.as_str() {
        "Node" => act_on_node(&api, clock, &name, &before, object).await,
        "Pod" => act_on_pod(&api, &name, &before, object).await,
        _ => merge(&api, &name, json!({"spec": object["spec"]})).await,
    }
}

async fn merge(api: &Api<DynamicObject>, name: &str, change: Value) {
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

async fn post(api: &Api<DynamicObject>, name: &str, object: &Value) {
    let status = json!({"status": {"conditions": object["status"]["conditions"], "phase": object["status"].get("phase")}});
    // The object may be gone here, although it was there in the history.
    let _ = api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await;
}

async fn act_on_node(api: &Api<DynamicObject>, clock: Clock, name: &str, before: &Value, after: &Value) {
    let heartbeat = |node| condition(node, "Ready").map(|ready| ready["lastHeartbeatTime"].clone());
    let is_silenced = condition(after, "Ready").is_some_and(|ready| ready["status"] == "Unknown");
    if heartbeat(before) != heartbeat(after) && !is_silenced {
        post(api, name, after).await;
    }
    let cordoned = |node: &Value| node.pointer("/spec/unschedulable").cloned();
    if cordoned(before) != cordoned(after) {
        merge(api, name, json!({"spec": {"unschedulable": cordoned(after)}})).await;
    }
    if taints(before, false) != taints(after, false) {
        let now = api.get(name).await.unwrap();
        let mut taints = taint_list(&serde_json::to_value(now).unwrap(), true);
        // The stamp of a person's taint is from the time of the recording.
        let now = clock.now_in_seconds().to_string();
        let mut theirs = taint_list(after, false);
        for taint in theirs.iter_mut().filter(|taint| !taint["timeAdded"].is_null()) {
            taint["timeAdded"] = json!(now);
        }
        taints.extend(theirs);
        merge(api, name, json!({"spec": {"taints": taints}})).await;
    }
}

async fn act_on_pod(api: &Api<DynamicObject>, name: &str, before: &Value, after: &Value) {
    let ready = |pod| condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True");
    if after["metadata"]["deletionGracePeriodSeconds"] == 0 {
        let _ = api
            .delete(name, &DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() })
            .await;
    } else if ready(after) && !ready(before) {
        post(api, name, after).await;
    }
}

/// Records every version of every Node and Pod.
pub(crate) struct Observer {
    seen: Arc<Mutex<Vec<(f64, Value)>>>,
    _tasks: JoinSet<()>,
}

impl Observer {
    /// The versions so far, with their times.
    pub(crate) fn seen(&self) -> Vec<(f64, Value)> {
        self.seen.lock().unwrap().clone()
    }
}

/// Begins to observe.
pub(crate) async fn watch(client: &Client, clock: Clock) -> Observer {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for name in ["Node", "Pod"] {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind(name));
        let events = api.watch(&WatchParams::default(), "0").await.unwrap();
        let seen = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut events = events.boxed();
            while let Some(event) = events.next().await {
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event.unwrap() {
                    let mut value = serde_json::to_value(&object).unwrap();
                    value["kind"] = name.into();
                    seen.lock().unwrap().push((clock.elapsed().as_secs_f64(), value));
                    assert!(!object.name_any().is_empty());
                }
            }
        });
    }
    Observer { seen, _tasks: tasks }
}
