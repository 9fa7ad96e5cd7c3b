//! Checks that workloads use the next affinity group, and leave excluded members: PLACEMENT.

use std::collections::BTreeSet;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::eligible_members::{cannot_be_placed, expect_choice, is_free_choice};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Scheduling, Workload, WorkloadKey, World};

static PLACEMENT_14: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-14",
    sentence: "if no member of an affinity group is suitable, the next group with a suitable member is used",
    features: &[Feature::HealthProbes, Feature::AffinityGroups],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all",
    source: "Karmada pkg/scheduler/scheduler.go, scheduleResourceBindingWithClusterAffinities",
};

/// Checks that a workload uses an affinity group with a suitable member (requirements L12 and E2).
/// A duplicated workload without constraints has a member as long as one is suitable in the group in use or in a later
/// group. The condition of the scheduler does not matter.
#[derive(Default)]
pub(crate) struct NextAffinityGroupIsUsed {
    /// The workloads with several groups that have no member.
    nowhere: BTreeSet<WorkloadKey>,
    deadlines: Deadlines,
}

fn has_only_affinity_terms(workload: &Workload) -> bool {
    let placement = &workload.placement;
    let unlimited = placement.scheduling == Scheduling::Duplicated && placement.spread.is_empty();
    workload.placeable && unlimited && placement.is_grouped() && !placement.depends_on_other_workloads
}

/// Returns the first suitable member of the group in use, or of a later group.
fn fitting<'a>(workload: &Workload, world: &'a World) -> Option<&'a String> {
    let groups = &workload.placement.groups;
    let in_use = groups.iter().position(|group| group.name == workload.group).unwrap_or_default();
    let fits = |(name, member): &(&String, &capsize_history::facts::Member)| {
        let meant = groups[in_use..].iter().any(|group| group.affinity.surely_admits(name, member));
        meant && is_free_choice(workload, name, member)
    };
    world.members.iter().find(fits).map(|(name, _)| name)
}

impl Guarantee for NextAffinityGroupIsUsed {
    accessors!(
        PLACEMENT_14,
        [Wanted, Assigned, EvictionEnded, MemberChanged, MemberGone, WorkloadGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Wanted(key)
            | Change::Assigned { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. } => self.look(key, fact, context),
            Change::MemberChanged(_) | Change::MemberGone(_) => {
                for key in &std::mem::take(&mut self.nowhere) {
                    self.look(key, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.nowhere.remove(key);
                self.deadlines.cancel(&Subject::workload(key));
            }
            _ => {}
        }
    }
}

impl NextAffinityGroupIsUsed {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let nowhere = workload.assignment.is_empty() && has_only_affinity_terms(workload);
        if nowhere {
            self.nowhere.insert(key.clone());
        } else {
            self.nowhere.remove(key);
        }
        let wrong = fitting(workload, context.world).filter(|_| nowhere).map(|name| Expectation {
            because: format!("{name} is suitable, and its group may be used"),
            observed: format!("{key} is not assigned to any member"),
        });
        expect_choice(&mut self.deadlines, Subject::workload(key), fact, wrong, context);
    }
}

static PLACEMENT_15: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-15",
    sentence: "after a change of its placement, a workload leaves the members that the placement excludes",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all; Karmada counted replicas in such members until 1.9 (#4586)",
    source: "Karmada pkg/scheduler/scheduler.go, doScheduleBinding; core/assignment.go",
};

/// Checks that workloads leave members that their placement excludes (requirement L3).
/// PLACEMENT-07 checks duplicated workloads without constraints. Workloads with several groups are not checked, because
/// the first group may be usable again.
#[derive(Default)]
pub(crate) struct WorkloadLeavesExcludedMembers(Deadlines);

impl Guarantee for WorkloadLeavesExcludedMembers {
    accessors!(PLACEMENT_15, [Wanted, Assigned, Recorded, WorkloadGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Wanted(key) => {
                let Some(workload) = context.workload(key) else { return };
                if workload.placed_since == fact.at {
                    self.look(key, workload, fact, context);
                }
            }
            Change::Assigned { workload: key, .. } | Change::Recorded(key) => {
                let Some(workload) = context.workload(key) else { return };
                if self.0.has(&Subject::workload(key)) {
                    self.look(key, workload, fact, context);
                }
            }
            Change::WorkloadGone(key) => self.0.cancel(&Subject::workload(key)),
            _ => {}
        }
    }
}

impl WorkloadLeavesExcludedMembers {
    fn look(&mut self, key: &WorkloadKey, workload: &Workload, fact: &Fact, context: &mut JudgeContext<'_>) {
        let placement = &workload.placement;
        let unlimited = placement.scheduling == Scheduling::Duplicated && placement.spread.is_empty();
        let asked = workload.placeable && !unlimited && !placement.is_grouped();
        if !asked || cannot_be_placed(workload) {
            return self.0.cancel(&Subject::workload(key));
        }
        let world = context.world;
        let excluded =
            |name: &&String| world.members.get(*name).is_some_and(|member| !placement.admits(name, member));
        let wrong = workload.assignment.keys().find(excluded).map(|name| Expectation {
            because: format!("its placement no longer admits {name}"),
            observed: format!("{key} is still assigned to {name}"),
        });
        if wrong.is_none() && !self.0.has(&Subject::workload(key)) {
            return context.tally.record_held();
        }
        self.0.expect_correction(
            Subject::workload(key),
            fact,
            bounds::members_chosen(context.timings()),
            wrong,
            context,
        );
    }
}
