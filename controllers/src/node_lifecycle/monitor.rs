//! Looks at all nodes each monitor period: who is new, who is gone, who is well, and what that makes of their zones.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use super::look::look;
use super::zones::{ensure_zone, settle};
use super::{NodeContext, taints};
use crate::machinery::{Said, record};

/// Who the events of the node lifecycle are from.
pub(super) const COMPONENT: &str = "node-controller";

/// Looks, for ever.
pub(super) async fn run(context: Arc<NodeContext>) {
    let mut known = BTreeSet::new();
    loop {
        let start = context.clock.elapsed();
        look_at_all(&context, &mut known).await;
        context.metrics.looked_at_all(context.clock.elapsed().saturating_sub(start));
        context.clock.sleep(context.settings.monitor_period).await;
    }
}

async fn look_at_all(context: &NodeContext, known: &mut BTreeSet<String>) {
    let nodes = context.nodes.list();
    let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut zone = |node: &Arc<Node>| {
        let name = context.rules.zone_of(node.labels());
        if let Some(known) = names.get(name.as_str()) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        names.insert(Arc::clone(&name));
        name
    };
    let zones: Vec<Arc<str>> = nodes.iter().map(&mut zone).collect();
    names.iter().for_each(|name| ensure_zone(context, name));
    come_and_go(context, &nodes, known).await;
    let workers = context.rules.node_behaviour().workers;
    let placed = nodes.iter().cloned().zip(zones);
    let looks = stream::iter(placed).map(|(node, zone)| look(context, node, zone)).buffered(workers);
    // A node that cannot be written is left out for this time, as if it were not there.
    let seen: Vec<_> = looks.filter_map(std::future::ready).collect().await;
    settle(context, &nodes, &names, &seen).await;
}

async fn come_and_go(context: &NodeContext, nodes: &[Arc<Node>], known: &mut BTreeSet<String>) {
    let is_known = |node: &Arc<Node>| node.metadata.name.as_ref().is_some_and(|name| known.contains(name));
    if known.len() == nodes.len() && nodes.iter().all(is_known) {
        return;
    }
    let there: BTreeSet<String> = nodes.iter().map(|node| node.name_any()).collect();
    for node in nodes.iter().filter(|node| !known.contains(&node.name_any())) {
        tell(context, node, "RegisteredNode", |name| format!("Registered Node {name} in Controller")).await;
        if context.rules.clears_newcomers() {
            taints::clear(context, node).await;
        }
    }
    for name in known.difference(&there) {
        let mut gone = Node::default();
        gone.metadata.name = Some(name.clone());
        tell(context, &gone, "RemovingNode", |name| format!("Removing Node {name} from Controller")).await;
        let mut memory = context.memory();
        memory.health.remove(name);
        memory.unmarked.remove(name);
        memory.zones.values_mut().for_each(|zone| zone.waiting.remove(name));
    }
    *known = there;
}

async fn tell(context: &NodeContext, node: &Node, reason: &str, what: impl Fn(&str) -> String) {
    let name = node.name_any();
    let message = format!("Node {name} event: {}", what(&name));
    record(
        &context.client,
        &context.clock,
        node,
        Said { component: COMPONENT, warns: false, reason, message },
    )
    .await;
}
