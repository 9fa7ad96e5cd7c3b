//! How ill a zone is, by what its nodes say, and how fast they may be tainted for it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::facts::{Health, Member, Taint, TaintEffect, World};
use crate::target::Zones;

/// The label of a node that does not count.
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

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

/// Region and zone.
pub(super) type Zone = (Vec<String>, Vec<String>);

/// The zone that a member stands in.
pub(super) fn zone_of(member: &Member) -> Zone {
    (member.field("region").to_vec(), member.field("zone").to_vec())
}

/// What is made of each zone as all members are now. Nobody knows while there are some of which nothing is known.
pub(super) fn paces(world: &World, zones: &Zones) -> BTreeMap<Zone, Pace> {
    if !world.strangers.is_empty() {
        return BTreeMap::new();
    }
    let mut census: BTreeMap<Zone, (u64, u64)> = BTreeMap::new();
    for member in world.members.values() {
        let (size, away) = census.entry(zone_of(member)).or_default();
        let counts = !member.labels.contains_key(EXCLUDED);
        *size += u64::from(counts);
        *away += u64::from(counts && member.health != Some(Health::Ready));
    }
    let (size, away) = census.values().fold((0, 0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
    let cut = size > 0 && size == away;
    let pace = |(size, away): (u64, u64)| {
        let partly = away > 2 && away < size && away * 100 >= size * zones.unhealthy_percent;
        match partly {
            _ if cut => Pace::Cut,
            true if size > zones.large => Pace::Each(zones.secondary_eviction_pause),
            true => Pace::Frozen,
            false => Pace::Each(zones.eviction_pause),
        }
    };
    census.into_iter().map(|(zone, count)| (zone, pace(count))).collect()
}

/// Whether the taint is one of those that ill health brings in its turn.
pub(super) fn is_of_health(taint: &Taint) -> bool {
    taint.tells.is_some() && taint.effect == TaintEffect::NoExecute
}

/// Whether the member waits for the taint that belongs to what it says.
pub(super) fn waits(member: &Member) -> bool {
    let ill = member.health.filter(|health| *health != Health::Ready);
    ill.is_some_and(|health| member.health_taint(health, TaintEffect::NoExecute).is_none())
}
