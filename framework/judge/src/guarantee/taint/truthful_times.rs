//! Checks that the time on a health taint is the time at which it was set: TAINT.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

use crate::guarantee::engine::bounds::STAMP;
use crate::guarantee::engine::context::{Guarantee, JudgeContext, Topics, Violation, topics};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Taint};

static TAINT_11: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-11",
    sentence: "the time on a new health taint is the time at which the taint was set",
    features: &[Feature::TruthfulTaintTimes],
    formula: "at most 1 s + latency before the observation; at most 1 s + latency after it, if the header states the start; a taint that replaces another one may keep its time",
    releases: "all",
    source: "Open Cluster Management pkg/registration/webhook/v1/managedcluster_mutating.go",
};

/// Tolerations count from the time on the taint. A wrong time ends them early or late. A health taint that replaces another
/// one keeps its time, so that tolerations do not begin again.
#[derive(Default)]
pub(crate) struct TaintTimesAreTruthful {
    /// The health taint that each member lost last, and when.
    lost: BTreeMap<String, (Duration, Taint)>,
}

impl TaintTimesAreTruthful {
    /// Returns true if `taint` replaces another health taint, and has its time.
    fn replaces(&self, member: &str, taint: &Taint, fact: &Fact) -> bool {
        let lost = self.lost.get(member).filter(|(at, _)| *at == fact.at);
        lost.is_some_and(|(_, lost)| lost.effect == taint.effect && lost.time_added == taint.time_added)
    }
}

impl Guarantee for TaintTimesAreTruthful {
    fn spec(&self) -> &'static GuaranteeSpec {
        &TAINT_11
    }

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn topics(&self) -> Topics {
        topics![TaintAdded, TaintRemoved, MemberGone]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (member, taint) = match &fact.change {
            Change::TaintAdded { member, taint, first: false } => (member, taint),
            Change::TaintRemoved { member, taint } if taint.health.is_some() => {
                self.lost.insert(member.clone(), (fact.at, taint.clone()));
                return;
            }
            Change::MemberGone(member) => return drop(self.lost.remove(member)),
            _ => return,
        };
        if self.replaces(member, taint, fact) {
            return;
        }
        let stated = context.world.stated_start;
        let start = stated.or(context.world.wall_start);
        let (Some(start), Some(added)) = (start, taint.time_added) else { return };
        // A controller that waits for its requests writes the time at which it decided.
        if taint.health.is_none() || context.world.stamps_are_off || context.world.was_hindered(fact.at) {
            return;
        }
        let signed = |length| SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
        let slack = signed(context.timings().latency + STAMP);
        let since = added.duration_since(start);
        let earliest = signed(fact.at.saturating_sub(fact.uncertainty.early)).saturating_sub(slack);
        // Stamps of objects bound the start of the history from below only.
        let latest = signed(fact.at.saturating_add(fact.uncertainty.late)).saturating_add(slack);
        let is_early = since < earliest;
        if !is_early && (stated.is_none() || since <= latest) {
            return context.tally.record_held();
        }
        let observed = start.saturating_add(signed(fact.at)).map_or(String::new(), |time| time.to_string());
        let because = format!("{taint} was set at about {observed}");
        let seen = format!("the time on {taint} is {added}");
        let subject = Subject::member(member);
        context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
    }
}
