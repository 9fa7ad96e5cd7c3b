//! Checks all nodes each monitor period: new nodes, removed nodes, health, and the states of zones.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_sorted::CollectSorted;
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use super::check_node::{NodeInZone, check, name};
use super::zones::{ensure_zone, update_zones};
use super::{NodeContext, taints};
use crate::rules::Event;

/// The component of the events of the node lifecycle.
pub(super) const COMPONENT: &str = "node-controller";

/// Checks all nodes, for ever.
pub(super) async fn run(context: Arc<NodeContext>) {
    let (mut known, mut placed) = (BTreeSet::new(), Vec::new());
    loop {
        let start = context.clock.elapsed();
        placed = nodes_with_zones(&context, &placed);
        check_all(&context, &mut known, &placed).await;
        context.metrics.record_check_of_all(context.clock.elapsed().saturating_sub(start));
        context.clock.sleep(context.settings.monitor_period).await;
    }
}

/// All nodes with their zones, by name.
/// The entries `before` are reused for nodes that have not changed.
fn nodes_with_zones(context: &NodeContext, before: &[NodeInZone]) -> Vec<NodeInZone> {
    let nodes = context.nodes.list();
    let mut before = before.iter().peekable();
    let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut zone = |node: &Node| {
        let name = context.rules.zone_of(node.labels());
        if let Some(known) = names.get(name.as_str()) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        names.insert(Arc::clone(&name));
        name
    };
    let place = |node: Arc<Node>| {
        while before.next_if(|placed| name(&placed.node) < name(&node)).is_some() {}
        match before.peek() {
            Some(placed) if Arc::ptr_eq(&placed.node, &node) => (*placed).clone(),
            _ => NodeInZone { zone: zone(&node), counts: context.rules.counts(&node), node },
        }
    };
    nodes.into_iter().map(place).collect()
}

async fn check_all(context: &NodeContext, known: &mut BTreeSet<String>, placed: &[NodeInZone]) {
    let mut zones: BTreeSet<Arc<str>> = BTreeSet::new();
    for node in placed {
        if !zones.contains(&node.zone) {
            zones.insert(Arc::clone(&node.zone));
        }
    }
    zones.iter().for_each(|name| ensure_zone(context, name));
    handle_new_and_removed(context, placed, known).await;
    let workers = context.rules.node_behaviour().workers;
    let checks = stream::iter(placed.iter().cloned()).map(|node| check(context, node)).buffered(workers);
    // A node that cannot be written is left out of this check, as if it did not exist.
    let checked: Vec<NodeInZone> = checks.filter_map(std::future::ready).collect().await;
    update_zones(context, placed, &zones, &checked).await;
}

async fn handle_new_and_removed(context: &NodeContext, nodes: &[NodeInZone], known: &mut BTreeSet<String>) {
    let names = || nodes.iter().map(|placed| name(&placed.node));
    // Both are sorted by name.
    if names().eq(known.iter().map(String::as_str)) {
        return;
    }
    let present: BTreeSet<String> = names().map(str::to_owned).collect_sorted();
    let nodes = nodes.iter().map(|placed| &*placed.node);
    for node in nodes.filter(|node| !known.contains(name(node))) {
        publish(context, node, "RegisteredNode", |name| format!("Registered Node {name} in Controller"));
        if context.rules.clears_newcomers() {
            taints::clear(context, node).await;
        }
    }
    for name in known.difference(&present) {
        let mut gone = Node::default();
        gone.metadata.name = Some(name.clone());
        publish(context, &gone, "RemovingNode", |name| format!("Removing Node {name} from Controller"));
        let mut memory = context.memory();
        memory.health.swap_remove(name);
        memory.unmarked.remove(name);
        memory.zones.values_mut().for_each(|zone| zone.waiting.remove(name));
    }
    *known = present;
}

fn publish(context: &NodeContext, node: &Node, reason: &'static str, what: impl Fn(&str) -> String) {
    let name = node.name_any();
    let message = format!("Node {name} event: {}", what(&name));
    context.publish(COMPONENT, node, Event { warns: false, reason, message });
}
