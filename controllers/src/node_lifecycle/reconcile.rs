//! Keeps the NoSchedule taints and the labels of each node in line with the node, at once.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::check_node::conditions;
use super::{NodeContext, taints};
use crate::machinery::{Action, Error, Queue, patch_guarded, refs, run_with};

/// How many nodes are reconciled at once (`nodeUpdateWorkerSize`).
const WORKERS: usize = 8;

/// Reconciles every node when a relevant part of it changes.
pub(super) async fn run(context: Arc<NodeContext>) {
    let nodes = &context.nodes;
    let changes = nodes.changes().filter(|change| std::future::ready(change.differs(relevant_parts)));
    let queue = Queue { name: "node", objects: nodes.clone(), triggers: refs(changes), unbounded: false };
    run_with(context, queue, WORKERS, reconcile).await;
}

/// The relevant parts of a node. Its frequent heartbeats are not among them.
fn relevant_parts(node: &Node) -> impl PartialEq + use<> {
    let statuses =
        conditions(node).iter().map(|condition| (condition.type_.clone(), condition.status.clone()));
    let unschedulable = node.spec.as_ref().and_then(|spec| spec.unschedulable);
    (statuses.collect::<Vec<_>>(), unschedulable, taints::of(node).to_vec(), node.labels().clone())
}

async fn reconcile(context: Arc<NodeContext>, node: Arc<Node>) -> Result<Action, Error> {
    let unschedulable = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    let wanted = |before: &[Taint]| {
        let now = context.clock.now_in_seconds();
        context.rules.condition_taints(conditions(&node), unschedulable, before, now)
    };
    taints::set(&context, &node, wanted).await?;
    let labels = context.rules.mirrored_labels(node.labels());
    if !labels.is_empty() {
        let api = Api::<Node>::all(context.client.clone());
        patch_guarded(&api, &*node, json!({ "metadata": { "labels": labels } }), false).await?;
    }
    Ok(Action::await_change())
}
