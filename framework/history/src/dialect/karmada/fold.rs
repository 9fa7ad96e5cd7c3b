//! Takes entries one by one, and finds whose business each is.

use super::seen::{Seen, text};
use super::stamps::Stamps;
use super::{binding, cluster, copies, events, taint_policy, templates, wishes, works};
use crate::dialect::marks;
use crate::facts::{Change, Fact, World};
use crate::format::{CONTROL_PLANE, Entry, Kind};

/// Folds the entries of a history of Karmada, or of anything that speaks its API.
#[derive(Debug, Default)]
pub struct Karmada {
    world: World,
    stamps: Stamps,
    clusters: cluster::Clusters,
    bindings: binding::Bindings,
    works: works::Works,
    copies: copies::Copies,
    templates: templates::Templates,
}

impl Karmada {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The present state.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes the next entry, and answers with what it changed, in order.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        let (at, uncertainty) = self.world.observers.place(entry);
        self.world.now = at;
        let (changes, witness) = match &entry.kind {
            Kind::Mark(mark) => (vec![marks::observe(&mut self.world, mark)], None),
            Kind::Event { on, event, object } => {
                let seen = Seen::new(on, *event, object);
                if !self.world.stamps_are_off {
                    self.world.wall_start = self.world.wall_start.max(self.stamps.start(&seen, at));
                }
                (self.event(on, &seen), Some(seen.witness))
            }
        };
        changes.into_iter().map(|change| Fact { at, uncertainty, change, witness: witness.clone() }).collect()
    }

    fn event(&mut self, on: &str, seen: &Seen<'_>) -> Vec<Change> {
        let version = text(seen.object.whole("apiVersion"));
        let group = version.split('/').next().unwrap_or_default();
        let world = &mut self.world;
        match (on, group, seen.witness.kind()) {
            (CONTROL_PLANE, "cluster.karmada.io", "Cluster") => self.clusters.observe(world, seen),
            (CONTROL_PLANE, "work.karmada.io", "ResourceBinding" | "ClusterResourceBinding") => {
                self.bindings.observe(world, seen)
            }
            (CONTROL_PLANE, "policy.karmada.io", "ClusterTaintPolicy") => taint_policy::observe(world, seen),
            (CONTROL_PLANE, "policy.karmada.io", "PropagationPolicy" | "ClusterPropagationPolicy") => {
                wishes::policy(world, seen)
            }
            (CONTROL_PLANE, "policy.karmada.io", "OverridePolicy" | "ClusterOverridePolicy") => {
                wishes::override_policy(world, seen)
            }
            (CONTROL_PLANE, "work.karmada.io", "Work") => self.works.observe(world, seen),
            (CONTROL_PLANE, _, "Event") => events::observe(world, seen),
            (CONTROL_PLANE, ..) => self.templates.observe(world, seen),
            (member, ..) => self.copies.observe(world, member, seen),
        }
    }
}
