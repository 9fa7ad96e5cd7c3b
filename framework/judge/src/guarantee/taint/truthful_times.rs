//! Checks that the time on a health taint is the time at which it was set: TAINT.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

use crate::guarantee::engine::bounds::STAMP;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Change, Fact, Taint};

static TAINT_11: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-11",
    sentence: "the time on a new health taint is the time at which the taint was set",
    features: &[Feature::TruthfulTaintTimes],
    formula: "at most 1 s + latency before the observation; at most 1 s + latency after it, if the header states the start; a taint that replaces another one, or is restored for at most latency, may keep its time",
    releases: "all",
    source: "Open Cluster Management pkg/registration/webhook/v1/managedcluster_mutating.go",
};

/// Checks that a new health taint has the time at which it was set.
/// Tolerations count from the time on the taint, and a wrong time ends them early or late. A health taint that replaces
/// another one keeps its time, so that tolerations do not begin again. A write of an older state restores a taint with
/// its time: the policy controller of Karmada 1.16 writes the taints that it has read, without their version.
#[derive(Default)]
pub(crate) struct TaintTimesAreTruthful {
    /// The health taints of each member that are gone or restored.
    members: BTreeMap<String, EarlierTaints>,
    /// The deadlines for the removal of restored taints.
    deadlines: Deadlines,
}

#[derive(Default)]
struct EarlierTaints {
    /// The health taints that the member lost within `latency`, and when.
    lost: Vec<(Duration, Taint)>,
    /// The taints that were restored and must go again.
    restored: Vec<Taint>,
}

impl TaintTimesAreTruthful {
    /// Returns true if `taint` replaces another health taint, and has its time.
    fn replaces(&self, member: &str, taint: &Taint, fact: &Fact) -> bool {
        let lost = self.members.get(member).into_iter().flat_map(|earlier| &earlier.lost);
        lost.filter(|(at, _)| *at == fact.at)
            .any(|(_, lost)| lost.effect == taint.effect && lost.time_added == taint.time_added)
    }

    /// Notes that `member` loses the health taint `taint`.
    fn lose(&mut self, member: &str, taint: &Taint, fact: &Fact, context: &mut JudgeContext<'_>) {
        let earlier = self.members.entry(member.to_owned()).or_default();
        earlier.lost.retain(|(at, _)| fact.at.saturating_sub(*at) <= context.timings().latency);
        earlier.lost.push((fact.at, taint.clone()));
        earlier.restored.retain(|restored| !is_same(restored, taint));
        if earlier.restored.is_empty()
            && let Some(margin) = self.deadlines.close_as_met(&Subject::member(member), fact)
        {
            context.tally.record_held_by(margin);
        }
    }

    /// Expects that `taint` goes again, if the member lost the same taint within `latency`.
    /// Returns true if so.
    fn is_restored(&mut self, member: &str, taint: &Taint, fact: &Fact, context: &JudgeContext<'_>) -> bool {
        let latency = context.timings().latency;
        let Some(earlier) = self.members.get_mut(member) else { return false };
        let is_recent = |at: Duration| fact.at.saturating_sub(at) <= latency;
        if !earlier.lost.iter().any(|(at, lost)| is_recent(*at) && is_same(lost, taint)) {
            return false;
        }
        earlier.restored.push(taint.clone());
        let expectation = Expectation {
            because: format!("{taint} was restored with the time that it had before"),
            observed: format!("{taint} stays with a time before the one at which it was set"),
        };
        self.deadlines.start(Subject::member(member), fact, latency, expectation);
        true
    }
}

/// Whether the taints have the same key, effect and time.
fn is_same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect && one.time_added == other.time_added
}

impl Guarantee for TaintTimesAreTruthful {
    accessors!(TAINT_11, [TaintAdded, TaintRemoved, MemberGone], deadlines);

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (member, taint) = match &fact.change {
            Change::TaintAdded { member, taint, first: false } => (member, taint),
            Change::TaintRemoved { member, taint } if taint.health.is_some() => {
                return self.lose(member, taint, fact, context);
            }
            Change::MemberGone(member) => {
                self.deadlines.cancel(&Subject::member(member));
                return drop(self.members.remove(member));
            }
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
        if self.is_restored(member, taint, fact, context) {
            return;
        }
        let observed = start.saturating_add(signed(fact.at)).map_or(String::new(), |time| time.to_string());
        let because = format!("{taint} was set at about {observed}");
        let seen = format!("the time on {taint} is {added}");
        let subject = Subject::member(member);
        context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
    }
}
