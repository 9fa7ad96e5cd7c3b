//! Checks that a member that never reports becomes Unknown: HEALTH.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::facts::{Change, Fact, Health};

static HEALTH_06: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-06",
    sentence: "a pull member whose agent never reports becomes Unknown",
    features: &[Feature::HealthProbes, Feature::PullMembers],
    formula: bounds::NEVER_REPORTED,
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, tryUpdateClusterHealth",
};

/// Requirement T2'': a member that has never reported has its own grace period.
/// A hub that reads Leases begins to count when it accepts the member, which is not observed.
#[derive(Default)]
pub(crate) struct UnknownAfterStartupGrace(Deadlines);

impl Guarantee for UnknownAfterStartupGrace {
    accessors!(HEALTH_06, [Health, MemberLeaving, MemberGone], 0);

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now: None, first: true, .. }
                if context.member(member).is_some_and(|member| member.pulls)
                    && !context.profile.has(Feature::LeaseHeartbeats) =>
            {
                let expectation = Expectation {
                    because: format!("{member} has been registered since {}", clock(fact.at)),
                    observed: format!("{member} has no condition"),
                };
                let limit = bounds::never_reported(context.timings());
                self.0.start(Subject::member(member), fact, limit, expectation);
            }
            Change::Health { member, now, .. } => {
                let margin = self.0.close_as_met(&Subject::member(member), fact);
                if let Some(margin) = margin.filter(|_| *now == Some(Health::Unknown)) {
                    context.tally.record_held_by(margin);
                }
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.0.cancel(&Subject::member(member));
            }
            _ => {}
        }
    }
}
