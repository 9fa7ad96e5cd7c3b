//! Writes the taints of a node.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::NodeContext;
use super::check_node::name;
use crate::machinery::{Error, patch_guarded};

/// How often a write of taints is tried (`UpdateTaintBackoff`).
const TRIES: usize = 5;
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// The taints of a node.
pub(super) fn of(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

/// Writes the taints that `change` makes of the taints of a node, if they differ.
/// After a failed write, `change` is applied to the node as it is then.
pub(super) async fn set(
    context: &NodeContext,
    node: &Node,
    change: impl Fn(&[Taint]) -> Vec<Taint>,
) -> Result<(), Error> {
    // The client is made late, because nearly always nothing has to be written.
    let api = || Api::<Node>::all(context.client.clone());
    let mut fresh: Option<Node> = None;
    let mut attempt = 1;
    loop {
        let node = fresh.as_ref().unwrap_or(node);
        let taints = change(of(node));
        if taints == of(node) {
            return Ok(());
        }
        let taints = (!taints.is_empty()).then_some(taints);
        let written = json!({ "spec": { "taints": taints } });
        match patch_guarded(&api(), node, written, context.rules.guards_taints()).await {
            Ok(_) => return Ok(()),
            Err(error) if attempt == TRIES => return Err(error),
            Err(_) => {}
        }
        attempt += 1;
        context.clock.sleep(PAUSE).await;
        fresh = Some(api().get(&node.name_any()).await?);
    }
}

/// Gives a node the NoExecute taint for this readiness.
pub(super) async fn evict(context: &NodeContext, node: &Node, ready: &str) -> Result<(), Error> {
    let taints =
        |before: &[Taint]| context.rules.evicting_taints(ready, before, context.clock.now_in_seconds());
    set(context, node, taints).await
}

/// Removes the NoExecute taints of ill health from a node.
/// The function also removes the node from the queues of nodes to taint.
pub(super) async fn clear(context: &NodeContext, node: &Node) {
    let without = |before: &[Taint]| context.rules.without_evicting_taints(before);
    if without(of(node)) != of(node) {
        log(node, Box::pin(set(context, node, without)).await);
    }
    context.memory().zones.values_mut().for_each(|zone| zone.waiting.remove(name(node)));
}

/// Logs a failed write. The next check repeats it.
pub(super) fn log(node: &Node, outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        tracing::debug!(node = node.name_any(), %error, "a node could not be written, or not be drained");
    }
}
