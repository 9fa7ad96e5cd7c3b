//! Checks that status reports keep the remedy actions that other writers set on a member: HEALTH.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::context::{Guarantee, JudgeContext, Violation, accessors};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact};

static HEALTH_07: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-07",
    sentence: "a status report on a member keeps the remedies that other writers have put into its status",
    features: &[Feature::HealthProbes],
    formula: "at every version",
    releases: "all; Karmada lost them until 1.11 (#5030)",
    source: "Karmada pkg/controllers/status/cluster_status_controller.go, updateStatusIfNeeded",
};

/// Requirement H3: a controller that reports on a member writes its own part of the status only.
#[derive(Default)]
pub(crate) struct RemediesAreKept {
    /// The time of the latest violation for each member, because one version leads to several facts.
    reported: BTreeMap<String, Duration>,
}

impl Guarantee for RemediesAreKept {
    accessors!(HEALTH_07, [Health, Conditions, MemberReported, MemberChanged, MemberGone]);

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
            "only the owner of the remedies removes them, and changes nothing else at that time".to_owned();
        let seen = format!("a version with another change of {name} has lost remedies");
        context.report_violation(Violation::by(fact, Subject::member(name), Bound::Never, because, seen));
    }
}
