//! How ill a zone is, by what its nodes say, and how fast they may be tainted for it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::profile::Zones;
use capsize_history::facts::{Census, Health, Member, Taint, TaintEffect, World, Zone};

/// What is made of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// One node each so long.
    Each(Duration),
    /// None: the zone is small and partly gone.
    Frozen,
    /// None anywhere: no node that counts is ready.
    Cut,
}

/// What is made of each zone as all members are now. Nobody knows while there are some of which nothing is known.
pub(super) fn paces(world: &World, zones: &Zones) -> BTreeMap<Zone, Pace> {
    if world.has_strangers() {
        return BTreeMap::new();
    }
    let cut = is_cut(world);
    let pace = |Census { size, away }: Census| {
        let partly = away > 2 && away < size && away * 100 >= size * zones.unhealthy_percent;
        match partly {
            _ if cut => Pace::Cut,
            true if size > zones.large => Pace::Each(zones.secondary_eviction_pause),
            true => Pace::Frozen,
            false => Pace::Each(zones.eviction_pause),
        }
    };
    world.census.iter().map(|(zone, census)| (zone.clone(), pace(*census))).collect()
}

/// Whether no node that counts is ready.
fn is_cut(world: &World) -> bool {
    let sum = |sum: (u64, u64), zone: &Census| (sum.0 + zone.size, sum.1 + zone.away);
    let (size, away) = world.census.values().fold((0, 0), sum);
    size > 0 && size == away
}

/// Whether no node that counts was ready: once that is over, the silence of every node is counted anew.
#[derive(Default)]
pub(crate) struct AllNodesNotReady(bool);

impl AllNodesNotReady {
    /// To be told every change of health, and every node that is gone. Answers whether it is over just now.
    pub(crate) fn is_over(&mut self, world: &World) -> bool {
        let was = std::mem::replace(&mut self.0, is_cut(world));
        was && !self.0
    }
}

/// Whether the taint is one of those that ill health brings in its turn.
pub(super) fn is_of_health(taint: &Taint) -> bool {
    taint.health.is_some() && taint.effect == TaintEffect::NoExecute
}

/// Whether the member waits for the taint that belongs to what it says.
pub(super) fn awaits_taint(member: &Member) -> bool {
    let ill = member.health.filter(|health| *health != Health::Ready);
    ill.is_some_and(|health| member.health_taint(health, TaintEffect::NoExecute).is_none())
}
