//! Copies of workloads, as the APIs of the members show them.

use std::sync::Arc;
use std::time::Duration;

use super::fold::OWN;
use super::observed_object::{LastDigest, ObservedObject, value};
use crate::dialect::changes;
use crate::dialect::content::{self, PARTS};
use crate::facts::{Change, Content, Running, WorkloadKey, World};
use crate::format::Field;
use crate::format::digest::Table;

/// The latest version of each object in a member.
#[derive(Debug, Default)]
pub(super) struct Copies(Table<String, Table<WorkloadKey, CopyFields>>);

#[derive(Debug, Default)]
struct CopyFields {
    annotations: LastDigest,
    labels: LastDigest,
    marked: [Option<String>; 2],
    is_managed: bool,
    asked: [LastDigest; 4],
    asks: Arc<Content>,
}

impl Copies {
    /// Returns the changes that this version of an object in a member makes, if it is a copy of a workload.
    pub(super) fn observe(
        &mut self,
        world: &mut World,
        member: &str,
        observed: &ObservedObject<'_>,
    ) -> Vec<Change> {
        let workload = WorkloadKey::new(observed.witness.kind(), &*observed.namespace, &*observed.name);
        if !self.0.contains_key(member) {
            self.0.insert(member.to_owned(), Table::default());
        }
        let Some(of_member) = self.0.get_mut(member) else { return Vec::new() };
        let fields = of_member.entry(workload.clone()).or_default();
        let by = fields.carried_by(observed);
        let was = world.workloads.get(&workload).and_then(|known| known.running.get(member));
        let leaving = observed.leaving.then(|| was.and_then(|was| was.leaving).unwrap_or(world.now));
        let mut asks = fields.asks(observed);
        content::hide_missing_data(&mut asks, &mut world.data_shown[2]);
        let now = running(asks, by, leaving, observed);
        if observed.gone {
            of_member.swap_remove(&workload);
            if of_member.is_empty() {
                self.0.swap_remove(member);
            }
        }
        changes::ran(world, workload, member, now, observed.gone).into_iter().collect()
    }
}

impl CopyFields {
    /// The name of the Work that the control plane has marked on the copy.
    /// It is empty if only the label of managed objects is there.
    fn carried_by(&mut self, observed: &ObservedObject<'_>) -> Option<String> {
        let places = [&mut self.annotations, &mut self.labels].into_iter().zip(["annotations", "labels"]);
        for ((last, name), marked) in places.zip(&mut self.marked) {
            let field = observed.metadata(name);
            if last.differs(field) {
                let marks = value(field);
                *marked = marks["work.karmada.io/name"].as_str().map(str::to_owned);
                if name == "labels" {
                    self.is_managed = marks["karmada.io/managed"] == "true";
                }
            }
        }
        let named = self.marked.iter().flatten().next_back().cloned();
        named.or_else(|| self.is_managed.then(String::new))
    }

    /// The content of the object.
    fn asks(&mut self, observed: &ObservedObject<'_>) -> Arc<Content> {
        let labels = observed.metadata("labels");
        let parts = PARTS.map(|part| observed.object.whole(part)).into_iter().chain([labels]);
        // Every part has to be compared, so that every digest is stored.
        let differs =
            self.asked.iter_mut().zip(parts).fold(false, |any, (last, part)| last.differs(part) || any);
        if differs {
            self.asks = Arc::new(content::object(observed.object, OWN));
        }
        Arc::clone(&self.asks)
    }
}

fn running(
    asks: Arc<Content>,
    by: Option<String>,
    leaving: Option<Duration>,
    observed: &ObservedObject<'_>,
) -> Running {
    let number = |field: Option<Field<'_>>| field.and_then(Field::number);
    let replicas = number(observed.spec("replicas"));
    let generation = number(observed.metadata("generation")).unwrap_or_default();
    let observed_generation = number(observed.status("observedGeneration")).unwrap_or_default();
    // A count of zero is omitted.
    let count = |name| number(observed.status(name)).unwrap_or_default();
    let (updated, available) = (count("updatedReplicas"), count("availableReplicas"));
    Running {
        replicas: replicas.unwrap_or_default(),
        ready: number(observed.status("readyReplicas")).unwrap_or_default(),
        current: replicas.is_none() || observed_generation >= generation,
        rolled_out: updated >= replicas.unwrap_or_default() && available >= updated,
        reports: observed.object.whole("status").is_some(),
        leaving,
        asks,
        managed: by.is_some(),
        by: by.unwrap_or_default(),
    }
}
