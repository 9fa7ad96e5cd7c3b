//! Deletes the pods of nodes that stay unhealthy, at the rate of their zone, where no taint does.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::NodeContext;
use super::context::{BY_NODE, Memory};
use super::monitor::COMPONENT;
use crate::machinery::{Error, delete_named, is_absent, patch_status};
use crate::rules::Event;
use crate::rules::node::{DrainAction, QueuePosition};

/// Queues a node that has been unhealthy for too long, once; removes a healthy node from the queue.
pub(super) fn update_queue(context: &NodeContext, node: &Node, ready: Option<&str>) {
    let (name, now) = (node.name_any(), context.clock.steady());
    let mut memory = context.memory();
    let Memory { health, zones, .. } = &mut *memory;
    let zone = zones.get_mut(&context.rules.zone_of(node.labels()));
    let (Some(health), Some(zone)) = (health.get(&name), zone) else { return };
    match context.rules.draining(ready, health, context.settings.pod_eviction_timeout, now) {
        Some(DrainAction::Due) => {
            zone.waiting.add(&name, QueuePosition::Once, now);
            context.waiting.notify_one();
        }
        Some(DrainAction::Over) => zone.waiting.remove(&name),
        None => {}
    }
}

/// Deletes the pods of a node. The status of each pod first gets the reason that its node is lost.
pub(super) async fn drain(context: &NodeContext, node: &Node) -> Result<(), Error> {
    let name = node.name_any();
    let pods = context.pods.by(BY_NODE, &name);
    if !pods.is_empty() {
        let message = format!("Node {name} event: Deleting all Pods from Node {name}.");
        context.publish(COMPONENT, node, Event { warns: false, reason: "DeletingAllPods", message });
    }
    // A pod that cannot be deleted does not hold up the others.
    let mut failed = None;
    for pod in pods {
        match drain_pod(context, &name, &pod).await {
            Err(Error::Request(error)) if is_absent(&error) => {}
            Err(error) => failed = Some(error),
            Ok(()) => {}
        }
    }
    failed.map_or(Ok(()), Err)
}

async fn drain_pod(context: &NodeContext, node: &str, pod: &Pod) -> Result<(), Error> {
    let api = Api::<Pod>::namespaced(context.client.clone(), &pod.namespace().unwrap_or_default());
    if let Some((reason, message)) = context.rules.lost(pod, node) {
        patch_status(&api, pod, &json!({ "reason": reason, "message": message })).await?;
    }
    if !context.rules.drained(pod) {
        return Ok(());
    }
    let name = pod.name_any();
    let message = format!("Marking for deletion Pod {name} from Node {node}");
    context.publish(COMPONENT, pod, Event { warns: false, reason: "NodeControllerEviction", message });
    let uid = pod.uid().filter(|_| context.rules.deletes_by_uid());
    let preconditions = uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None });
    Ok(delete_named(&api, &name, &DeleteParams { preconditions, ..DeleteParams::default() }).await?)
}
