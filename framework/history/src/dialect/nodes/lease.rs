//! Lease: a sign of life of its node, whenever it is renewed to a later time than ever before.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::facts::{Change, World};

/// Where the Leases of nodes are.
pub(super) const NAMESPACE: &str = "kube-node-lease";

/// What is known of each Lease.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeMap<String, LeaseRenewal>);

/// The times that a Lease was renewed to.
#[derive(Clone, Copy, Debug)]
struct LeaseRenewal {
    /// The latest since the controllers began.
    latest: Timestamp,
    /// What it says now, which is earlier where a clock was turned back.
    last: Timestamp,
    /// Whether its Node was made anew since the latest: who forgets a node that is deleted knows of no renewal but the last. Real ones
    /// never forget.
    may_be_forgotten: bool,
}

impl Leases {
    /// Whether a version of the Lease was seen before.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The controllers begin anew: they know of no renewal but the last.
    pub(super) fn begin_anew(&mut self) {
        self.0.values_mut().for_each(|known| known.latest = known.last);
    }

    /// The Node called `name` is made, perhaps anew.
    pub(super) fn made_anew(&mut self, name: &str) {
        if let Some(known) = self.0.get_mut(name) {
            known.may_be_forgotten = true;
        }
    }

    /// What a version of the Lease called `name` tells, which was renewed then. The first that is seen may be old.
    pub(super) fn observe(&mut self, world: &mut World, name: &str, renewed: Timestamp) -> Option<Change> {
        world.heartbeats_shown = true;
        let fresh = LeaseRenewal { latest: renewed, last: renewed, may_be_forgotten: false };
        let Some(known) = self.0.get_mut(name) else {
            self.0.insert(name.to_owned(), fresh);
            return None;
        };
        let is_later = renewed > known.latest;
        let is_a_sign = is_later || known.may_be_forgotten && renewed > known.last;
        *known = if is_later { fresh } else { LeaseRenewal { last: renewed, ..*known } };
        if !is_a_sign {
            return None;
        }
        let Some(member) = world.members.get_mut(name) else {
            world.strangers.insert(name.to_owned());
            return None;
        };
        // What only some take for one is none to count from.
        member.sign_of_life = is_later.then_some(world.now);
        Some(Change::SignOfLife(name.to_owned()))
    }
}
