//! The state of a zone by the conditions of its nodes, and the pace of taints and pod deletions in it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::profile::Zones;
use capsize_history::facts::{Health, Member, MemberCounts, Taint, TaintEffect, World, Zone};
use capsize_sorted::CollectSorted;

/// The pace of evictions in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// One node after each pause.
    Each(Duration),
    /// No node of this zone, because it is small and partly disrupted.
    ZoneHalted,
    /// No node of any zone, because no node that the zones count is ready.
    AllHalted,
}

/// Returns the pace of each zone for the present members.
/// The result is empty while the state of some members is unknown.
pub(super) fn paces(world: &World, zones: &Zones) -> BTreeMap<Zone, Pace> {
    if world.may_have_unobserved_members() {
        return BTreeMap::new();
    }
    let all_halted = no_node_is_ready(world);
    let pace = |MemberCounts { size, away }: MemberCounts| {
        let partly = away > 2 && away < size && away * 100 >= size * zones.unhealthy_percent;
        match partly {
            _ if all_halted => Pace::AllHalted,
            true if size > zones.large => Pace::Each(zones.secondary_eviction_pause),
            true => Pace::ZoneHalted,
            false => Pace::Each(zones.eviction_pause),
        }
    };
    world.zone_counts.iter().map(|(zone, zone_counts)| (zone.clone(), pace(*zone_counts))).collect_sorted()
}

/// Returns the pace of each zone, or nothing while no node counts.
/// Without a node that counts, controllers keep the pace of the time before.
pub(super) fn certain_paces(world: &World, zones: &Zones) -> BTreeMap<Zone, Pace> {
    let counts = world.zone_counts.values().any(|zone| zone.size > 0);
    if counts { paces(world, zones) } else { BTreeMap::new() }
}

/// Returns true if no node that the zones count is ready.
fn no_node_is_ready(world: &World) -> bool {
    let sum = |sum: (u64, u64), zone: &MemberCounts| (sum.0 + zone.size, sum.1 + zone.away);
    let (size, away) = world.zone_counts.values().fold((0, 0), sum);
    size > 0 && size == away
}

/// Whether no node that the zones count was ready.
/// When that is over, the silence of every node counts from the start.
#[derive(Default)]
pub(crate) struct AllNodesNotReady(bool);

impl AllNodesNotReady {
    /// Must be called for every change of health, and for every node that is gone.
    /// Returns true if a counting node is ready for the first time after none was.
    pub(crate) fn update(&mut self, world: &World) -> bool {
        let was = std::mem::replace(&mut self.0, no_node_is_ready(world));
        was && !self.0
    }
}

/// Returns true if the taint is a `NoExecute` health taint.
pub(super) fn is_of_health(taint: &Taint) -> bool {
    taint.health.is_some() && taint.effect == TaintEffect::NoExecute
}

/// Returns true if the member waits for the `NoExecute` taint for its condition.
pub(super) fn awaits_taint(member: &Member) -> bool {
    let not_ready = member.health.filter(|health| *health != Health::Ready);
    not_ready.is_some_and(|health| member.health_taint(health, TaintEffect::NoExecute).is_none())
}
