//! Checks that suspended scheduling stays suspended: POLICY.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact, WorkloadKey};

static POLICY_04: GuaranteeSpec = GuaranteeSpec {
    id: "POLICY-04",
    sentence: "scheduling that a person has suspended stays suspended until a person resumes it",
    features: &[],
    formula: "at every version, if the history records the actions of persons",
    releases: "all; Karmada lost it until 1.13 (#6062)",
    source: "Karmada pkg/detector/detector.go, ApplyPolicy",
};

/// Requirement P6: the detector must not remove fields that a queue or a person writes into a record.
#[derive(Default)]
pub(crate) struct SuspensionIsKept {
    /// The workloads that a person has suspended.
    /// The values are the time, and the number of acts of persons until then.
    by_hand: BTreeMap<WorkloadKey, (Duration, u64)>,
}

impl Guarantee for SuspensionIsKept {
    accessors!(POLICY_04, [Recorded, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let key = match &fact.change {
            Change::Recorded(key) => key,
            Change::WorkloadGone(key) => {
                self.by_hand.remove(key);
                return;
            }
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        let acted = context.may_be_by_a_person(fact.at);
        match (workload.suspended, self.by_hand.get(key).copied()) {
            (true, None) if acted => drop(self.by_hand.insert(key.clone(), (fact.at, context.world.acts))),
            (true, Some(_)) => context.tally.record_held(),
            (false, Some((since, acts))) => {
                self.by_hand.remove(key);
                // Another act may have resumed it.
                if acted && context.world.acts > acts {
                    return;
                }
                let because = format!("a person suspended it at {}, and has not resumed it", clock(since));
                let seen = format!("the scheduling of {key} is no longer suspended");
                context.report_violation(Violation::by(
                    fact,
                    Subject::workload(key),
                    Bound::Never,
                    because,
                    seen,
                ));
            }
            _ => {}
        }
    }
}
