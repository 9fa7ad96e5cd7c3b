//! Lease: a sign of life of its node, whenever it is renewed to a later time than ever before.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::facts::{News, World};

/// Where the Leases of nodes are.
pub(super) const NAMESPACE: &str = "kube-node-lease";

/// What is known of each Lease.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeMap<String, Renewed>);

/// The times that a Lease was renewed to.
#[derive(Debug)]
struct Renewed {
    /// The latest since the controllers began.
    latest: Timestamp,
    /// What it says now, which is earlier where a clock was turned back.
    last: Timestamp,
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

    /// What a version of the Lease called `name` tells, which was renewed then. The first that is seen may be old.
    pub(super) fn observe(&mut self, world: &mut World, name: &str, renewed: Timestamp) -> Option<News> {
        world.heartbeats_shown = true;
        let is_later = match self.0.get_mut(name) {
            Some(known) => {
                let is_later = renewed > known.latest;
                *known = Renewed { latest: renewed.max(known.latest), last: renewed };
                is_later
            }
            None => {
                self.0.insert(name.to_owned(), Renewed { latest: renewed, last: renewed });
                false
            }
        };
        if !is_later {
            return None;
        }
        let Some(member) = world.members.get_mut(name) else {
            world.strangers.insert(name.to_owned());
            return None;
        };
        member.sign_of_life = Some(world.now);
        Some(News::SignOfLife(name.to_owned()))
    }
}
