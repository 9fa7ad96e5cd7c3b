//! Checks the health of one node, and taints, drains and marks by the result.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::monitor::COMPONENT;
use super::{NodeContext, drain, mark_pods, taints};
use crate::machinery::patched_status;
use crate::rules::Event;
use crate::rules::node::{NodeHealth, QueuePosition, TaintAction, ready_of};

/// How often the write of a node's status is tried.
const TRIES: usize = 5;
/// Puts a node that has its taint behind the nodes that have none.
/// The real controller checks nodes in a random order, so that every node gets its taint sooner or later.
const AFTER_OTHERS: Duration = Duration::from_nanos(1);
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// A version of a Node, with its zone and whether it counts.
#[derive(Clone)]
pub(super) struct NodeInZone {
    pub node: Arc<Node>,
    pub zone: Arc<str>,
    /// Whether the node counts for its zone.
    pub counts: bool,
}

impl NodeInZone {
    /// The same node in this newer version.
    fn with_version(self, context: &NodeContext, node: Arc<Node>) -> Self {
        Self { counts: context.rules.counts(&node), node, ..self }
    }
}

/// Checks a node, and returns it as it is afterwards; `None` where its status could not be written.
///
/// Few of thousands of nodes need a write at one check. The futures that write are boxed, so that the future of a check
/// stays small.
pub(super) async fn check(context: &NodeContext, placed: NodeInZone) -> Option<NodeInZone> {
    let start = context.clock.elapsed();
    let before = Arc::clone(&placed.node);
    let outcome = match update_health(context, &before) {
        None => Some((placed, before)),
        Some(silent_conditions) => Box::pin(write_silence(context, placed, silent_conditions)).await,
    };
    context.metrics.record_check(context.clock.elapsed().saturating_sub(start));
    let (placed, before) = outcome?;
    let (node, read) = (&*placed.node, ready_status(&before));
    let ready = ready_of(conditions(node)).map(|ready| &*ready.status);
    if ready.is_some() {
        let decisive = context.rules.decisive(Some(read), ready);
        if context.rules.node_behaviour().evicts_by_taint {
            taint(context, &placed, decisive).await;
        } else {
            drain::update_queue(context, node, decisive);
        }
        mark_if_not_ready(context, node, read, ready).await;
    }
    Some(placed)
}

/// The status of `Ready`; a node without that condition counts as unknown.
fn ready_status(node: &Node) -> &str {
    ready_of(conditions(node)).map_or("Unknown", |ready| &ready.status)
}

/// Writes that the node is silent, if it still is.
/// Returns the node after the write, and the node as it was read.
async fn write_silence(
    context: &NodeContext,
    placed: NodeInZone,
    mut silent_conditions: Vec<NodeCondition>,
) -> Option<(NodeInZone, Arc<Node>)> {
    let api = Api::<Node>::all(context.client.clone());
    let mut node = Arc::clone(&placed.node);
    for attempt in 0..TRIES {
        if attempt > 0 {
            context.clock.sleep(PAUSE).await;
            match api.get(name(&node)).await {
                Ok(fresh) => node = Arc::new(fresh),
                Err(_) => continue,
            }
            match update_health(context, &node) {
                None => return Some((placed.with_version(context, Arc::clone(&node)), node)),
                Some(anew) => silent_conditions = anew,
            }
        }
        match patched_status(&api, &*node, &json!({ "conditions": silent_conditions })).await {
            Ok(written) => {
                let mut memory = context.memory();
                if let Some(health) = memory.health.get_mut(name(&node)) {
                    // This controller wrote the condition, so the change is no sign of life.
                    health.ready = ready_of(conditions(&written)).cloned().map(Arc::new);
                    health.transition = context.clock.steady();
                }
                return Some((placed.with_version(context, Arc::new(written)), node));
            }
            Err(error) => {
                tracing::debug!(node = name(&node), %error, "a node's health could not be written");
            }
        }
    }
    None
}

/// Updates the health of a node, and returns its new conditions if it has been silent for too long.
/// The times in memory are those of the steady clock, which nobody sets.
fn update_health(context: &NodeContext, node: &Node) -> Option<Vec<NodeCondition>> {
    let (name, now) = (name(node), context.clock.steady());
    let lease = context.leases.get(super::context::LEASE_NAMESPACE, name);
    let renewed = lease.and_then(|lease| Some(lease.spec.as_ref()?.renew_time.as_ref()?.0));
    let created = node.creation_timestamp().map_or_else(|| context.clock.now(), |created| created.0);
    let mut memory = context.memory();
    let ready = ready_of(conditions(node));
    let known = context.clock.steady_at(created);
    let before = memory.health.get_mut(name);
    let health = context.rules.node_health(before.as_deref(), ready, renewed, known, now);
    let settings = &context.settings;
    let graces = (settings.monitor_grace_period, settings.startup_grace_period);
    let shown = NodeHealth { probed: context.clock.shown_at(health.probed), ..health.clone() };
    match before {
        Some(before) => *before = health,
        None => drop(memory.health.insert(name.to_owned(), health)),
    }
    let (reported, shown_now) = (conditions(node), context.clock.now());
    context.rules.silent_conditions(&shown, reported, created, graces, shown_now)
}

async fn taint(context: &NodeContext, placed: &NodeInZone, decisive: Option<&str>) {
    let node = &*placed.node;
    let (Some(ready), Some(tainting)) = (decisive, context.rules.tainting(decisive, taints::of(node))) else {
        return;
    };
    match tainting {
        TaintAction::Done => {}
        TaintAction::Swap => taints::log(node, Box::pin(taints::evict(context, node, ready)).await),
        TaintAction::Clear => taints::clear(context, node).await,
        TaintAction::Wait => wait(context, placed, context.rules.place(), Duration::ZERO),
        TaintAction::WaitAgain => wait(context, placed, QueuePosition::Once, AFTER_OTHERS),
    }
}

/// Adds a node to the queue of its zone. Its turn comes after this time.
fn wait(context: &NodeContext, placed: &NodeInZone, position: QueuePosition, after: Duration) {
    let turn = context.clock.steady().saturating_add(after).unwrap_or(jiff::Timestamp::MAX);
    let mut memory = context.memory();
    if let Some(zone) = memory.zones.get_mut(&*placed.zone) {
        zone.waiting.add(name(&placed.node), position, turn);
        context.waiting.notify_one();
    }
}

async fn mark_if_not_ready(context: &NodeContext, node: &Node, read: &str, written: Option<&str>) {
    let name = name(node);
    let now = context.rules.marks_pods(Some(read), written);
    let failed = context.memory().unmarked.remove(name);
    if now && read == "True" {
        let message = format!("Node {name} status is now: NodeNotReady");
        context.publish(COMPONENT, node, Event { warns: false, reason: "NodeNotReady", message });
    }
    if now || context.rules.marks_again(failed, Some(read)) {
        Box::pin(mark_pods::mark_all(context, name)).await;
    }
}

/// The name of a node.
pub(super) fn name(node: &Node) -> &str {
    node.metadata.name.as_deref().unwrap_or_default()
}

/// The conditions of a node.
pub(super) fn conditions(node: &Node) -> &[NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}
