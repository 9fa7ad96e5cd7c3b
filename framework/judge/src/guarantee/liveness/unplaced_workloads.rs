//! Checks that a workload that was evicted from its last member is assigned again: LIVENESS.

use std::collections::BTreeSet;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::eligible_members::{expect_choice, is_free_choice};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Health, Member, Scheduling, Workload, WorkloadKey, World};

static LIVENESS_08: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-08",
    sentence: "a workload that was evicted from its last member gets another suitable member that is ready, if there is one",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "the target for all; Karmada leaves a workload nowhere if the others of its affinity group stay (#7479)",
    source: "Karmada pkg/scheduler/framework/plugins/workloadaffinity",
};

/// Checks that a workload without a member gets one (requirement E2).
/// Availability comes before the affinity of a group.
/// The others of the group may be on members that the workload is evicted from, and then no member has all of them.
///
/// PLACEMENT-14 checks workloads with several groups of members, and REPLICAS-03 checks divided workloads.
#[derive(Default)]
pub(crate) struct EvictedWorkloadIsAssignedAgain {
    /// The workloads that were evicted, and have had no member since.
    nowhere: BTreeSet<WorkloadKey>,
    deadlines: Deadlines,
}

/// Returns true if the members alone limit the choice.
/// A workload that keeps apart from others may have no place.
fn is_free(workload: &Workload) -> bool {
    let placement = &workload.placement;
    workload.placeable
        && !workload.suspended
        && placement.scheduling == Scheduling::Duplicated
        && !placement.spreads_over_groups()
        && !placement.is_grouped()
        && !placement.keeps_apart
}

/// Returns the first suitable member, if there are as many as the placement needs.
fn suitable<'a>(workload: &Workload, world: &'a World) -> Option<&'a String> {
    let least = workload.placement.spread_over_members().map_or(1, |spread| spread.min.max(1));
    let fits = |(name, member): &(&String, &Member)| {
        member.health == Some(Health::Ready) && is_free_choice(workload, name, member)
    };
    let mut suitable = world.members.iter().filter(fits).map(|(name, _)| name);
    let first = suitable.next()?;
    (suitable.count() as u64 + 1 >= least).then_some(first)
}

impl Guarantee for EvictedWorkloadIsAssignedAgain {
    accessors!(
        LIVENESS_08,
        [Wanted, Assigned, EvictionBegan, EvictionEnded, MemberChanged, Health, MemberGone, WorkloadGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::EvictionBegan { workload: key, .. } => {
                self.nowhere.insert(key.clone());
                self.look(key, fact, context);
            }
            Change::Wanted(key)
            | Change::Assigned { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. } => self.look(key, fact, context),
            Change::MemberChanged(_) | Change::Health { .. } | Change::MemberGone(_) => {
                for key in &self.nowhere.clone() {
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

impl EvictedWorkloadIsAssignedAgain {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        if !self.nowhere.contains(key) {
            return;
        }
        let Some(workload) = context.workload(key) else { return };
        if !workload.assignment.is_empty() {
            self.nowhere.remove(key);
        }
        let nowhere = workload.assignment.is_empty() && is_free(workload);
        let wrong = suitable(workload, context.world).filter(|_| nowhere).map(|name| Expectation {
            because: format!("{key} was evicted from its last member, and {name} is suitable and ready"),
            observed: format!("{key} is not assigned to any member"),
        });
        expect_choice(&mut self.deadlines, Subject::workload(key), fact, wrong, context);
    }
}
