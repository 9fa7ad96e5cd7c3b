//! One look at one node: is it well, what does it say, and what follows from that.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::monitor::COMPONENT;
use super::{NodeContext, drain, mark, taints};
use crate::machinery::{Said, patched_status, record};
use crate::rules::node::{NodeHealth, Tainting, ready_of};

/// How often a node is tried that cannot be written.
const TRIES: usize = 5;
/// From one try to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// What a look has found.
pub(super) struct Seen {
    pub zone: Arc<str>,
    /// Whether it counts for its zone.
    pub counts: bool,
    /// The status of `Ready` after the look; absent where it never said.
    pub ready: Option<String>,
}

/// Looks at a node of `zone`. Nothing is known of one that could not be written.
pub(super) async fn look(context: &NodeContext, node: Arc<Node>, zone: Arc<str>) -> Option<Seen> {
    let start = context.clock.elapsed();
    let heard = silence(context, node).await;
    context.metrics.looked(context.clock.elapsed().saturating_sub(start));
    let (node, read) = heard?;
    let ready = ready_of(conditions(&node)).map(|ready| ready.status.clone());
    if ready.is_some() {
        let decisive = context.rules.decisive(Some(&read), ready.as_deref()).map(str::to_owned);
        if context.rules.node_behaviour().evicts_by_taint {
            taint(context, &node, decisive.as_deref()).await;
        } else {
            drain::queue(context, &node, decisive.as_deref());
        }
        mark_pods(context, &node, &read, ready.as_deref()).await;
    }
    Some(Seen { zone, counts: context.rules.counts(&node), ready })
}

/// Listens for signs of life, and writes that there are none. Returns the node as it is then, and what `Ready` said before;
/// a node that never said anything counts as unknown.
async fn silence(context: &NodeContext, mut node: Arc<Node>) -> Option<(Arc<Node>, String)> {
    for attempt in 0..TRIES {
        let api = || Api::<Node>::all(context.client.clone());
        if attempt > 0 {
            context.clock.sleep(PAUSE).await;
            match api().get(&node.name_any()).await {
                Ok(fresh) => node = Arc::new(fresh),
                Err(_) => continue,
            }
        }
        let read = ready_of(conditions(&node)).map_or("Unknown", |ready| &ready.status).to_owned();
        let Some(silenced) = listen(context, &node) else { return Some((node, read)) };
        match patched_status(&api(), &*node, &json!({ "conditions": silenced })).await {
            Ok(written) => {
                let mut memory = context.memory();
                if let Some(health) = memory.health.get_mut(&node.name_any()) {
                    // Not a sign of life: it was said here.
                    health.ready = ready_of(conditions(&written)).cloned().map(Arc::new);
                    health.transition = context.clock.steady();
                }
                return Some((Arc::new(written), read));
            }
            Err(error) => {
                tracing::debug!(node = node.name_any(), %error, "a node's health could not be written");
            }
        }
    }
    None
}

/// What the conditions of the node have become, if it has been silent for too long. What is kept in memory is told apart by a
/// clock that nobody sets.
fn listen(context: &NodeContext, node: &Node) -> Option<Vec<NodeCondition>> {
    let (name, now) = (node.name_any(), context.clock.steady());
    let lease = context.leases.get(super::context::LEASE_NAMESPACE, &name);
    let renewed = lease.and_then(|lease| Some(lease.spec.as_ref()?.renew_time.as_ref()?.0));
    let created = node.creation_timestamp().map_or_else(|| context.clock.now(), |created| created.0);
    let mut memory = context.memory();
    let ready = ready_of(conditions(node));
    let known = context.clock.steady_at(created);
    let health = context.rules.node_health(memory.health.get(&name), ready, renewed, known, now);
    let settings = &context.settings;
    let graces = (settings.monitor_grace_period, settings.startup_grace_period);
    let shown = NodeHealth { probed: context.clock.shown_at(health.probed), ..health.clone() };
    let (said, shows) = (conditions(node), context.clock.now());
    let silenced = context.rules.silent_conditions(&shown, said, created, graces, shows);
    memory.health.insert(name, health);
    silenced
}

async fn taint(context: &NodeContext, node: &Node, decisive: Option<&str>) {
    let (Some(ready), Some(tainting)) = (decisive, context.rules.tainting(decisive, taints::of(node))) else {
        return;
    };
    match tainting {
        Tainting::Done => {}
        Tainting::Swap => taints::log(node, taints::evict(context, node, ready).await),
        Tainting::Clear => taints::clear(context, node).await,
        Tainting::Wait => {
            let mut memory = context.memory();
            if let Some(zone) = memory.zones.get_mut(&context.rules.zone_of(node.labels())) {
                zone.waiting.add(&node.name_any(), context.rules.place(), context.clock.steady());
                context.waiting.notify_one();
            }
        }
    }
}

async fn mark_pods(context: &NodeContext, node: &Node, read: &str, written: Option<&str>) {
    let name = node.name_any();
    let now = context.rules.marks_pods(Some(read), written);
    let failed = context.memory().unmarked.remove(&name);
    if now {
        let message = format!("Node {name} status is now: NodeNotReady");
        let said = Said { component: COMPONENT, warns: false, reason: "NodeNotReady", message };
        record(&context.client, &context.clock, node, said).await;
    }
    if now || context.rules.marks_again(failed, Some(read)) {
        mark::mark_all(context, &name).await;
    }
}

/// What a node says of itself.
pub(super) fn conditions(node: &Node) -> &[NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}
