//! Folds the entries of a Karmada history: passes each entry to the module of its kind.

use super::observed_object::{ObservedObject, text};
use super::stamps::Stamps;
use super::{binding, cluster, copies, events, policies, taint_policy, templates, works};
use crate::dialect::{Fold, marks};
use crate::facts::{Change, Fact, World};
use crate::format::{CONTROL_PLANE, Entry, EventType, Kind};

/// The domain of the labels, the finalizers and the groups of Karmada.
pub(super) const OWN: &str = "karmada.io";

/// Folds the entries of a history of Karmada, or of anything that serves the API of Karmada.
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

impl Fold for Karmada {
    fn world(&self) -> &World {
        &self.world
    }

    fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        let (at, uncertainty) = self.world.observers.place(entry);
        self.world.now = at;
        let (changes, witness) = match &entry.kind {
            Kind::Mark(mark) => (vec![marks::observe(&mut self.world, mark)], None),
            Kind::Event { on, event, object } => {
                let observed = ObservedObject::new(on, *event, object);
                if !self.world.stamps_are_off {
                    self.world.wall_start = self.world.wall_start.max(self.stamps.start(&observed, at));
                }
                // A watch from the beginning reports each existing cluster as added.
                self.world.begun_late |= *event == EventType::Modified
                    && at > marks::AT_ONCE
                    && observed.witness.kind() == "Cluster"
                    && !self.world.members.contains_key(&*observed.name);
                (self.event(on, &observed), Some(observed.witness))
            }
        };
        changes.into_iter().map(|change| Fact { at, uncertainty, change, witness: witness.clone() }).collect()
    }
}

impl Karmada {
    fn event(&mut self, on: &str, observed: &ObservedObject<'_>) -> Vec<Change> {
        let version = text(observed.object.whole("apiVersion"));
        let group = version.split('/').next().unwrap_or_default();
        let world = &mut self.world;
        if !world.annotations_shown && on == CONTROL_PLANE {
            world.annotations_shown = observed.metadata("annotations").is_some();
        }
        match (on, group, observed.witness.kind()) {
            (CONTROL_PLANE, "cluster.karmada.io", "Cluster") => self.clusters.observe(world, observed),
            (CONTROL_PLANE, "work.karmada.io", "ResourceBinding" | "ClusterResourceBinding") => {
                self.bindings.observe(world, observed)
            }
            (CONTROL_PLANE, "policy.karmada.io", "ClusterTaintPolicy") => {
                taint_policy::observe(world, observed)
            }
            (CONTROL_PLANE, "policy.karmada.io", "PropagationPolicy" | "ClusterPropagationPolicy") => {
                policies::policy(world, observed)
            }
            (CONTROL_PLANE, "policy.karmada.io", "OverridePolicy" | "ClusterOverridePolicy") => {
                policies::override_policy(world, observed)
            }
            (CONTROL_PLANE, "work.karmada.io", "Work") => self.works.observe(world, observed),
            (CONTROL_PLANE, _, "Event") => events::observe(world, observed),
            (CONTROL_PLANE, ..) => self.templates.observe(world, observed),
            (member, ..) => self.copies.observe(world, member, observed),
        }
    }
}
