//! Checks that the records of dependencies list the members of their workloads: DELIVERY.

use std::collections::{BTreeMap, BTreeSet};

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Workload, WorkloadKey, World};
use capsize_sorted::CollectSorted;

static DELIVERY_10: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-10",
    sentence: "the record of a dependency lists the members of the workloads that need it",
    features: &[Feature::PropagatesDependencies],
    formula: bounds::CHANGE_REPORTED,
    releases: "all; without KeepsDependencies, every release removes the dependency from a member before the workload has left the member",
    source: "Karmada pkg/dependenciesdistributor/dependencies_distributor.go",
};

/// Requirement S19: the record of a dependency lists the workloads that need it, with their members.
#[derive(Default)]
pub(crate) struct RecordListsDependents {
    /// The dependencies of each workload, by the name of the workload's record.
    needed: BTreeMap<String, BTreeSet<WorkloadKey>>,
    deadlines: Deadlines,
}

/// Returns what is wrong if the record lists other members than a workload that needs it is on.
/// The first such workload by the name of its record counts.
fn misplaced(workload: &Workload, world: &World, keeps: bool) -> Option<Expectation> {
    workload.required_by.iter().find_map(|(record, listed)| {
        let by = world.workloads.get(world.records.get(record)?)?;
        let stays = by.evictions.iter().filter(|task| keeps && !task.directly).map(|task| &task.member);
        let is: BTreeSet<_> = by.assignment.keys().chain(stays).collect_sorted();
        let list =
            |members: Vec<&String>| members.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        (!listed.iter().eq(is.iter().copied())).then(|| Expectation {
            because: format!("{record}, which needs it, is on [{}]", list(is.into_iter().collect())),
            observed: format!("its record lists [{}]", list(listed.iter().collect())),
        })
    })
}

impl Guarantee for RecordListsDependents {
    accessors!(DELIVERY_10, [Required, Assigned, EvictionBegan, EvictionEnded, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Required(key) => {
                let Some(workload) = context.workload(key) else { return };
                for record in workload.required_by.keys() {
                    self.needed.entry(record.clone()).or_default().insert(key.clone());
                }
                self.look(key, fact, context);
            }
            Change::Assigned { workload: key, .. }
            | Change::EvictionBegan { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. } => {
                let record = context.workload(key).and_then(|workload| workload.record.as_ref());
                let needed = record.and_then(|record| self.needed.get(record.name())).cloned();
                for key in needed.into_iter().flatten() {
                    self.look(&key, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.deadlines.cancel(&Subject::workload(key));
                let world = context.world;
                self.needed.retain(|record, _| world.records.contains_key(record));
                for needed in self.needed.values_mut() {
                    needed.remove(key);
                }
            }
            _ => {}
        }
    }
}

impl RecordListsDependents {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let wrong = misplaced(workload, context.world, context.profile.has(Feature::KeepsDependencies));
        self.deadlines.expect_correction(
            Subject::workload(key),
            fact,
            bounds::change_reported(context.timings()),
            wrong,
            context,
        );
    }
}
