//! Computes the states of zones from their nodes, and the rates at which their nodes are tainted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_sorted::CollectSorted;

use super::check_node::{NodeInZone, conditions};
use super::context::{Memory, Zone};
use super::{NodeContext, taints};
use crate::rules::node::{Disruption, Limiter, NodeCounts, WaitingNodes, ZoneState, ready_of};

/// Adds a zone that is new or starts anew, with one token at the normal rate.
pub(super) fn ensure_zone(context: &NodeContext, name: &str) {
    let limiter = || Limiter::new(context.settings.rates.normal, context.clock.steady());
    let mut memory = context.memory();
    if memory.zones.get(name).is_none_or(|zone| zone.starts_anew) {
        context.metrics.add_zone(name);
        let waiting = WaitingNodes::new(limiter());
        memory.zones.insert(name.to_owned(), Zone { state: ZoneState::Initial, waiting, starts_anew: false });
    }
}

/// Updates the states and the rates of zones after a check of all nodes.
/// `zones` are the zones of `nodes`.
pub(super) async fn update_zones(
    context: &NodeContext,
    nodes: &[NodeInZone],
    zones: &BTreeSet<Arc<str>>,
    checked: &[NodeInZone],
) {
    let rules = &context.rules;
    let mut counted: BTreeMap<String, NodeCounts> = BTreeMap::new();
    for NodeInZone { node, zone, .. } in checked.iter().filter(|placed| placed.counts) {
        let ready = ready_of(conditions(node)).map(|ready| &*ready.status);
        if let Some(counts) = counted.get_mut(&**zone) {
            counts.count(ready);
        } else {
            counted.entry(zone.to_string()).or_default().count(ready);
        }
    }
    let state = |counts: &NodeCounts| rules.zone_state(*counts, context.settings.rates);
    let now: BTreeMap<String, ZoneState> =
        counted.iter().map(|(zone, counts)| (zone.clone(), state(counts))).collect_sorted();
    let disruption = {
        let mut memory = context.memory();
        let of_nodes: BTreeSet<String> = zones.iter().map(ToString::to_string).collect_sorted();
        let remembered = rules.remembered_zones(&of_nodes, &counted.keys().cloned().collect_sorted());
        memory.zones.retain(|zone, _| of_nodes.contains(zone));
        memory.zones.iter_mut().for_each(|(name, zone)| zone.starts_anew = !remembered.contains(name));
        let before = memory.zones.iter().filter(|(zone, _)| counted.contains_key(*zone));
        rules.disruption(&before.map(|(zone, known)| (zone.clone(), known.state)).collect_sorted(), &now)
    };
    // Also while the disruption lasts: a taint may have been under way when it began.
    if disruption == Disruption::Begins || (disruption == Disruption::Lasts && !now.is_empty()) {
        for placed in nodes {
            taints::clear(context, &placed.node).await;
        }
    }
    let mut memory = context.memory();
    if disruption == Disruption::Ends {
        let now = context.clock.steady();
        for health in memory.health.values_mut() {
            (health.probed, health.transition) = (now, now);
        }
    }
    let frozen = matches!(disruption, Disruption::Begins | Disruption::Lasts);
    set_rates(context, &mut memory, &counted, &now, frozen);
}

/// Sets the rates of the zones by their states.
fn set_rates(
    context: &NodeContext,
    memory: &mut Memory,
    counted: &BTreeMap<String, NodeCounts>,
    states: &BTreeMap<String, ZoneState>,
    frozen: bool,
) {
    let rules = &context.rules;
    for (name, zone) in &mut memory.zones {
        context.metrics.set_counts(name, counted.get(name).copied().unwrap_or_default());
        let (Some(counts), Some(state)) = (counted.get(name), states.get(name)) else { continue };
        zone.state = *state;
        let rate = if frozen { 0.0 } else { rules.zone_rate(*state, counts.size(), context.settings.rates) };
        let old = zone.waiting.limiter();
        if (old.rate() - rate).abs() > f64::EPSILON {
            zone.waiting.set_limiter(rules.limiter(old, rate, context.clock.steady()));
        }
    }
}
