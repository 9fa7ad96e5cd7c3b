//! Checks that no workload is assigned to a member from which it is being evicted: EVICTION.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact};

static EVICTION_04: GuaranteeSpec = GuaranteeSpec {
    id: "EVICTION-04",
    sentence: "a workload is not assigned to a member from which it is being evicted",
    features: &[Feature::GracefulEviction, Feature::EvictedNotRechosen],
    formula: bounds::ASSIGNED_AND_EVICTED,
    releases: "1.6 and newer",
    source: "Karmada pkg/scheduler/framework/plugins/clustereviction (karmada-io/karmada#3469)",
};

/// Checks that assigned and evicted members are disjoint (requirement S1).
/// An exception is a race of two writers that the next recheck corrects.
#[derive(Default)]
pub(crate) struct AssignedAndEvictedMembersAreDisjoint(Deadlines);

impl Guarantee for AssignedAndEvictedMembersAreDisjoint {
    accessors!(EVICTION_04, [EvictionBegan, Assigned, EvictionEnded, WorkloadGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (key, is_exercise) = match &fact.change {
            Change::EvictionBegan { workload, .. } | Change::Assigned { workload, .. } => (workload, true),
            Change::EvictionEnded { workload, .. } => (workload, false),
            Change::WorkloadGone(key) => return self.0.cancel_of(key, |_| true),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        let limit = bounds::assigned_and_evicted(context.timings());
        let both =
            |member: &str| workload.assignment.contains_key(member) && workload.eviction(member).is_some();
        for member in workload.evictions.iter().map(|task| &task.member) {
            let subject = Subject::on(key, member);
            if both(member) {
                let expectation = Expectation {
                    because: format!(
                        "{member} has been both assigned and evicted from since {}",
                        clock(fact.at)
                    ),
                    observed: format!("{member} is still both assigned and evicted from"),
                };
                self.0.start(subject, fact, limit, expectation);
            } else if let Some(margin) = self.0.close_as_met(&subject, fact) {
                context.tally.record_held_by(margin);
            } else if is_exercise {
                context.tally.record_held();
            }
        }
        self.0.cancel_of(key, |subject| !subject.member.as_deref().is_some_and(both));
    }
}
