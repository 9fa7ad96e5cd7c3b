//! Lease: a sign of life of its node, whenever it is renewed to a later time than ever before.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::facts::{News, World};

/// Where the Leases of nodes are.
pub(super) const NAMESPACE: &str = "kube-node-lease";

/// The latest time that each Lease has had.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeMap<String, Timestamp>);

impl Leases {
    /// Whether a version of the Lease was seen before.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What a version of the Lease called `name` tells, which was renewed then. The first that is seen may be old.
    pub(super) fn observe(&mut self, world: &mut World, name: &str, renewed: Timestamp) -> Option<News> {
        world.heartbeats_shown = true;
        let is_later = match self.0.get_mut(name) {
            Some(latest) => {
                let is_later = renewed > *latest;
                *latest = renewed.max(*latest);
                is_later
            }
            None => {
                self.0.insert(name.to_owned(), renewed);
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
