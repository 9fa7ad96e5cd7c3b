//! Checks that remedies in a member's status are kept: HEALTH.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Topics, Violation, topics};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact};

static HEALTH_07: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-07",
    sentence: "whoever reports on a member leaves the remedies as they are that others have written into its status",
    features: &[Feature::HealthProbes],
    formula: "at every version",
    releases: "all; Karmada lost them until 1.11 (#5030)",
    source: "Karmada pkg/controllers/status/cluster_status_controller.go, updateStatusIfNeeded",
};

/// H3: whoever reports on a member writes its own part of the status.
#[derive(Default)]
pub(crate) struct RemediesAreKept {
    /// When the latest violation of each member was, as one version is several facts.
    reported: BTreeMap<String, Duration>,
}

impl Guarantee for RemediesAreKept {
    fn spec(&self) -> &'static GuaranteeSpec {
        &HEALTH_07
    }

    fn topics(&self) -> Topics {
        topics![Health, Conditions, MemberReported, MemberChanged, MemberGone]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let name = match &fact.change {
            Change::Health { member, first: false, .. }
            | Change::Conditions(member)
            | Change::MemberChanged(member)
            | Change::MemberReported { member, .. } => member,
            Change::MemberGone(member) => {
                self.reported.remove(member);
                return;
            }
            _ => return,
        };
        let Some(member) = context.member(name) else { return };
        if member.remedies_lost != Some(fact.at) {
            if !member.remedies.is_empty() {
                context.tally.record_held();
            }
            return;
        }
        let by_hand = member.untainted_by_hand.is_some_and(|act| fact.at <= act + context.timings().latency);
        if by_hand || self.reported.insert(name.clone(), fact.at) == Some(fact.at) {
            return;
        }
        let because =
            "only who decides on remedies takes them away, and changes nothing else then".to_owned();
        let seen = format!("a version that says something else of {name} has lost remedies");
        context.report_violation(Violation::by(fact, Subject::member(name), Bound::Never, because, seen));
    }
}
