//! Gives waiting nodes their NoExecute taint, zone by zone, as fast as the zone's rate allows.
//!
//! Where no taint evicts, the pods of the node are deleted instead.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;

use super::check_node::conditions;
use super::{NodeContext, drain, taints};
use crate::machinery::Error;
use crate::rules::node::ready_of;

/// The time between two passes over the queues (`NodeEvictionPeriod`).
const PERIOD: Duration = Duration::from_millis(100);
/// How long a node without a `Ready` condition is postponed when its turn comes.
const POSTPONED: Duration = Duration::from_millis(50);

/// Passes over the queues for ever, but not while no node waits.
/// A node that begins to wait is not tainted before the next pass, so that a check of all nodes comes to its
/// conclusions first.
pub(super) async fn run(context: Arc<NodeContext>) {
    loop {
        if context.memory().zones.values().all(|zone| zone.waiting.is_empty()) {
            context.waiting.notified().await;
        }
        context.clock.sleep(PERIOD).await;
        let zones: Vec<String> = context.memory().zones.keys().cloned().collect();
        for zone in zones {
            taint_zone(&context, &zone).await;
        }
    }
}

async fn taint_zone(context: &NodeContext, zone: &str) {
    while let Some(name) = next_in_zone(context, zone) {
        let again = process(context, zone, &name).await;
        let mut memory = context.memory();
        let Some(zone) = memory.zones.get_mut(zone) else { return };
        match again {
            None => zone.waiting.done(&name),
            Some(pause) => {
                let at = context.clock.steady().saturating_add(pause);
                zone.waiting.again(&name, at.unwrap_or(jiff::Timestamp::MAX));
            }
        }
    }
}

fn next_in_zone(context: &NodeContext, zone: &str) -> Option<String> {
    context.memory().zones.get_mut(zone)?.waiting.head(context.clock.steady())
}

/// Taints a node that still exists and is not ready, or drains it.
/// Returns how long the node has to wait until it is tried again, if it has to.
async fn process(context: &NodeContext, zone: &str, name: &str) -> Option<Duration> {
    let node = context.nodes.get("", name)?;
    if !context.rules.node_behaviour().evicts_by_taint {
        return retry_pause(context, zone, &node, drain::drain(context, &node).await);
    }
    let Some(ready) = ready_of(conditions(&node)) else { return Some(POSTPONED) };
    if ready.status == "True" {
        return None;
    }
    retry_pause(context, zone, &node, taints::evict(context, &node, &ready.status).await)
}

/// A failure is retried at once.
fn retry_pause(
    context: &NodeContext,
    zone: &str,
    node: &Node,
    outcome: Result<(), Error>,
) -> Option<Duration> {
    let failed = outcome.is_err();
    if !failed {
        context.metrics.count_eviction(zone);
    }
    taints::log(node, outcome);
    failed.then_some(Duration::ZERO)
}
