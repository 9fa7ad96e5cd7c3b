//! Checks that all suitable members are chosen, also after an eviction from one of them: PLACEMENT.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::eligible_members::{cannot_be_placed, expect_choice, is_free_choice, may_stay};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Member, Scheduling, Workload, WorkloadKey, World};

static PLACEMENT_07: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-07",
    sentence: "a duplicated workload without a spread constraint is on every suitable member, and on no member that the policy excludes",
    features: &[Feature::HealthProbes],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "1.5 and newer (#2912); a member that joins counts from its next change",
    source: "Karmada pkg/scheduler/event_handler.go, core/spreadconstraint/select_clusters.go",
};

/// Requirements L9 and L11: without a constraint on their number, all suitable members are chosen.
/// A workload leaves a member that the policy excludes, even if it is the last one.
#[derive(Default)]
pub(crate) struct AllFittingMembersAreChosen {
    /// The workloads without a constraint.
    unlimited: BTreeSet<WorkloadKey>,
    deadlines: Deadlines,
}

/// Returns true if no constraint limits the number of members.
/// The choice depends on the members alone.
fn is_unlimited(workload: &Workload) -> bool {
    let placement = &workload.placement;
    let all = placement.scheduling == Scheduling::Duplicated && placement.spread.is_empty();
    workload.placeable && all && !placement.is_grouped() && !placement.depends_on_other_workloads
}

/// Returns what is wrong with the workload on `name`.
fn wrong(key: &WorkloadKey, workload: &Workload, name: &str, member: &Member) -> Option<Expectation> {
    let assigned = workload.assignment.contains_key(name);
    if assigned && !workload.placement.admits(name, member) {
        let because = format!("the policy excludes {name}");
        return Some(Expectation { because, observed: format!("{key} is still assigned to {name}") });
    }
    let missing = !assigned && is_free_choice(workload, name, member);
    missing.then(|| Expectation {
        because: format!("{name} is suitable"),
        observed: format!("{key} is not assigned to {name}"),
    })
}

impl Guarantee for AllFittingMembersAreChosen {
    accessors!(
        PLACEMENT_07,
        [Wanted, Assigned, EvictionEnded, MemberChanged, MemberGone, WorkloadGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Wanted(key)
            | Change::Assigned { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. } => {
                let Some(workload) = context.workload(key) else { return };
                if is_unlimited(workload) {
                    self.unlimited.insert(key.clone());
                    for (name, member) in &context.world.members {
                        self.look(key, workload, name, member, fact, context);
                    }
                } else if self.unlimited.remove(key) {
                    self.deadlines.cancel_all(|subject| subject.is_of(key));
                }
            }
            Change::MemberChanged(name) => {
                let Some(member) = context.member(name) else { return };
                let unlimited = std::mem::take(&mut self.unlimited);
                for key in &unlimited {
                    let Some(workload) = context.workload(key) else { continue };
                    self.look(key, workload, name, member, fact, context);
                }
                self.unlimited = unlimited;
            }
            Change::MemberGone(name) => self.deadlines.cancel_all(|subject| subject.is_on(name)),
            Change::WorkloadGone(key) => {
                self.unlimited.remove(key);
                self.deadlines.cancel_all(|subject| subject.is_of(key));
            }
            _ => {}
        }
    }
}

impl AllFittingMembersAreChosen {
    fn look(
        &mut self,
        key: &WorkloadKey,
        workload: &Workload,
        name: &str,
        member: &Member,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let wrong = wrong(key, workload, name, member);
        expect_choice(&mut self.deadlines, Subject::on(key, name), fact, wrong, context);
    }
}

static PLACEMENT_08: GuaranteeSpec = GuaranteeSpec {
    id: "PLACEMENT-08",
    sentence: "a member that a workload was evicted from is replaced by another suitable member, if there is one",
    features: &[Feature::HealthProbes, Feature::SpreadConstraints],
    formula: bounds::MEMBERS_CHOSEN,
    releases: "all",
    source: "Karmada pkg/scheduler/scheduler.go, core/spreadconstraint/select_clusters_by_cluster.go",
};

/// Checks that duplicated workloads get other members after an eviction (requirement T8).
/// The workloads have a constraint on the number of members. There are as many members as the constraint allows, and as
/// are suitable. REPLICAS-03 checks divided workloads.
#[derive(Default)]
pub(crate) struct MembersLostByEvictionAreReplaced {
    /// The workloads that have fewer members than they may have.
    short: BTreeSet<WorkloadKey>,
    deadlines: Deadlines,
}

/// Returns what is missing if the workload should have more members.
fn lacking(key: &WorkloadKey, workload: &Workload, world: &World) -> Option<Expectation> {
    let spread = workload.placement.spread_over_members()?;
    let staying = workload.assignment.keys().filter(|name| may_stay(workload, name, world)).count();
    let free = |(name, member): &(&String, &Member)| {
        !workload.assignment.contains_key(*name) && is_free_choice(workload, name, member)
    };
    let free = world.members.iter().filter(free).count();
    let fits = (staying + free) as u64;
    let wanted = fits.min(spread.max.unwrap_or(u64::MAX));
    let count = workload.assignment.len() as u64;
    (fits >= spread.min && count < wanted && free > 0).then(|| Expectation {
        because: format!("{fits} members are suitable, and up to {wanted} may be chosen"),
        observed: format!("{key} is assigned to {count}"),
    })
}

/// Returns true if only the number of members is constrained.
fn is_counted(workload: &Workload) -> bool {
    let placement = &workload.placement;
    let only_members = placement.scheduling == Scheduling::Duplicated && !placement.spreads_over_groups();
    workload.placeable && only_members && !placement.is_grouped() && !placement.depends_on_other_workloads
}

impl Guarantee for MembersLostByEvictionAreReplaced {
    accessors!(PLACEMENT_08, [Wanted, Assigned, EvictionEnded, MemberChanged, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Wanted(key)
            | Change::Assigned { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. } => self.look(key, fact, context),
            Change::MemberChanged(_) => {
                for key in &std::mem::take(&mut self.short) {
                    self.look(key, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.short.remove(key);
                self.deadlines.cancel(&Subject::workload(key));
            }
            _ => {}
        }
    }
}

impl MembersLostByEvictionAreReplaced {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let most = workload.placement.spread_over_members().map(|spread| spread.max.unwrap_or(u64::MAX));
        let short = most.is_some_and(|most| (workload.assignment.len() as u64) < most);
        let subject = Subject::workload(key);
        if !short || !is_counted(workload) {
            self.short.remove(key);
            return self.deadlines.expect_correction(subject, fact, Duration::ZERO, None, context);
        }
        self.short.insert(key.clone());
        let wrong = lacking(key, workload, context.world).filter(|_| !cannot_be_placed(workload));
        expect_choice(&mut self.deadlines, subject, fact, wrong, context);
    }
}
