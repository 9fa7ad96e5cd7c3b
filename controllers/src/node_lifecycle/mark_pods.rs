//! Marks the pods of silent nodes as not ready: present pods, and pods that come later.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::check_node::conditions;
use super::context::node_of;
use super::monitor::COMPONENT;
use super::{BY_NODE, NodeContext};
use crate::machinery::{Error, is_absent, patch_status};
use crate::rules::Event;
use crate::rules::node::ready_of;

/// Marks pods that come to nodes that are not ready, for ever.
pub(super) async fn run(context: Arc<NodeContext>) {
    let mut changes = Box::pin(context.pods.changes());
    while let Some(change) = changes.next().await {
        let Some(pod) =
            change.after.as_ref().filter(|_| change.differs(|pod| node_of(pod).map(str::to_owned)))
        else {
            continue;
        };
        if let Some(name) = node_of(pod).filter(|name| marks_newcomer(&context, name)) {
            mark(&context, name, pod).await;
        }
    }
}

fn marks_newcomer(context: &NodeContext, name: &str) -> bool {
    let node = context.nodes.get("", name);
    let reported =
        node.as_deref().and_then(|node| ready_of(conditions(node))).map(|ready| ready.status.as_str());
    let memory = context.memory();
    let remembered = memory.health.get(name);
    let remembered = remembered.map(|health| health.ready.as_ref().map(|ready| ready.status.as_str()));
    context.rules.marks_newcomer(remembered, reported)
}

/// Marks all pods of a node.
pub(super) async fn mark_all(context: &NodeContext, node: &str) {
    for pod in context.pods.by(BY_NODE, node) {
        mark(context, node, &pod).await;
    }
}

/// Marks a pod; a failed write is repeated at the next check of the node.
async fn mark(context: &NodeContext, node: &str, pod: &Pod) {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let Some(marked) = context.rules.marked_conditions(conditions, context.clock.now_in_seconds()) else {
        return;
    };
    let api = Api::<Pod>::namespaced(context.client.clone(), &pod.namespace().unwrap_or_default());
    match patch_status(&api, pod, &json!({ "conditions": marked })).await {
        Ok(_) => {
            let message = "Node is not ready".to_owned();
            context.publish(COMPONENT, pod, Event { warns: true, reason: "NodeNotReady", message });
        }
        Err(Error::Request(error)) if is_absent(&error) => {}
        Err(error) => {
            tracing::debug!(pod = pod.name_any(), %error, "a pod could not be marked");
            context.memory().unmarked.insert(node.to_owned());
        }
    }
}
