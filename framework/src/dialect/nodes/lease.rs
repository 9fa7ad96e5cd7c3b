//! Lease: a sign of life of its node, whenever it is renewed to a later time than ever before.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::fold::{Seen, time};
use crate::facts::{News, World};

const NAMESPACE: &str = "kube-node-lease";

/// The latest time that each Lease has had.
#[derive(Debug, Default)]
pub(super) struct Leases(BTreeMap<String, Timestamp>);

impl Leases {
    /// What this version of a Lease tells. The first that is seen may be old.
    pub(super) fn observe(&mut self, world: &mut World, seen: &Seen<'_>) -> Option<News> {
        if seen.text("/metadata/namespace") != NAMESPACE || seen.gone {
            return None;
        }
        let renewed = time(seen.object.pointer("/spec/renewTime")?)?;
        world.heartbeats_shown = true;
        let is_later = self.0.get(seen.name).is_some_and(|latest| renewed > *latest);
        let latest = self.0.entry(seen.name.to_owned()).or_insert(renewed);
        *latest = renewed.max(*latest);
        if !world.members.contains_key(seen.name) && is_later {
            world.strangers.insert(seen.name.to_owned());
        }
        let member = world.members.get_mut(seen.name).filter(|_| is_later)?;
        member.sign_of_life = Some(world.now);
        Some(News::SignOfLife(seen.name.to_owned()))
    }
}
