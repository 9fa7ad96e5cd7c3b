//! Checks that a member that stays Unknown gets its NoExecute taint in time and not earlier: TAINT.

use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::faults_on_members::is_hit;
use crate::guarantee::health::{ClocksSetBack, is_cut};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::clock;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, Health, Member, Taint, TaintEffect};

static TAINT_07: GuaranteeSpec = GuaranteeSpec {
    id: "TAINT-07",
    sentence: "a member that stays Unknown gets a NoExecute taint when the eviction timeout has passed, and not before",
    features: &[Feature::HealthProbes, Feature::AutomaticNoExecute, Feature::PullMembers],
    formula: bounds::UNREACHABLE_TAINT,
    releases: "1.13 and older",
    source: "Karmada 1.5 pkg/controllers/cluster/cluster_controller.go, processTaintBaseEviction",
};

/// Checks that a silent member gets its taint in time, and not too early (requirement T4b).
/// The time counts from the last report of the member, which is not long before it was cut off.
#[derive(Default)]
pub(crate) struct NoExecuteTaintAfterSilence {
    cut: Table<String, FaultPeriod>,
    clocks: ClocksSetBack,
    deadlines: Deadlines,
}

/// A period in which faults hit a member.
struct FaultPeriod {
    /// The last report of the member was not later.
    since: Duration,
    /// The time since which no fault is in force any more.
    ended: Option<Duration>,
}

impl Guarantee for NoExecuteTaintAfterSilence {
    accessors!(
        TAINT_07,
        [FaultBegan, FaultEnded, ClockWrong, ClockRight, Health, MemberLeaving, MemberGone, TaintAdded],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.clocks.observe(fact, context);
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => {
                let again = self.began(member, fact, context);
                let unknown = |it: &Member| it.health == Some(Health::Unknown) && !it.leaving;
                if again && is_cut(member, context) && context.member(member).is_some_and(unknown) {
                    let because =
                        format!("{member} is Unknown, and has been cut off since {}", clock(fact.at));
                    self.expect(member, because, fact, context);
                }
            }
            Change::FaultEnded { member: Some(member), .. } => {
                if !is_hit(member, context)
                    && let Some(cut) = self.cut.get_mut(member)
                {
                    cut.ended = Some(fact.at);
                }
                // The member may report again, although not for long enough to be Ready.
                if !is_cut(member, context) {
                    self.deadlines.cancel(&Subject::member(member));
                }
            }
            Change::Health { member, now: Some(Health::Unknown), was: Some(_), .. } => {
                // Some of its reports may arrive, and each of them restarts the time.
                if is_hit(member, context) && !is_cut(member, context) {
                    return;
                }
                let because = format!("{member} has been Unknown since {}", clock(fact.at));
                self.expect(member, because, fact, context);
            }
            Change::Health { member, .. } | Change::MemberLeaving(member) => {
                self.deadlines.cancel(&Subject::member(member));
            }
            Change::MemberGone(member) => {
                self.cut.swap_remove(member);
                self.deadlines.cancel(&Subject::member(member));
            }
            Change::TaintAdded { member, taint, .. }
                if taint.health == Some(Health::Unknown) && taint.effect == TaintEffect::NoExecute =>
            {
                let subject = Subject::member(member);
                let Some(margin) = self.deadlines.close_as_met(&subject, fact) else { return };
                let by_hand = context.member(member).is_some_and(|it| it.tainted_by_hand.is_some());
                let cut = self.cut.get(member).filter(|cut| cut.ended.is_none() && !by_hand);
                let Some(FaultPeriod { since: cut, .. }) = cut else {
                    return context.tally.record_held_by(margin);
                };
                let timings = context.timings();
                let lasts = timings.failover_eviction_timeout.saturating_sub(timings.monitor_grace_period);
                let earliest = cut.saturating_add(lasts).saturating_sub(timings.skew);
                context.check_arrival(subject, fact, earliest, Some(margin), || {
                    let because = format!("{member} has been cut off since {}", clock(*cut));
                    (because, format!("{member} has the NoExecute taint"))
                });
            }
            _ => {}
        }
    }
}

impl NoExecuteTaintAfterSilence {
    /// Records the beginning of a fault.
    /// Returns true if no fault was in force just before. A reachable period that is shorter than the heartbeat period
    /// of an agent does not count, because the agent need not have reported in it.
    fn began(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
        // Hindered controllers need not have observed a report either. If the member is already Unknown, the time of
        // its last report is not known.
        let is_unknown = context.member(member).is_some_and(|it| it.health == Some(Health::Unknown));
        let since = match is_unknown {
            true if context.controllers_are_hindered(fact.at) => Duration::ZERO,
            _ if context.world.is_hindered(fact.at) => context.world.blind_since.min(fact.at),
            _ => fact.at,
        };
        // The last report that was news may be older than the fault.
        let since = self.clocks.since(member, fact.at).map_or(since, |set_back| set_back.min(since));
        let fresh = FaultPeriod { since, ended: None };
        let Some(cut) = self.cut.get_mut(member) else {
            self.cut.insert(member.to_owned(), fresh);
            return true;
        };
        let Some(ended) = cut.ended.take() else { return false };
        let timings = context.timings();
        if fact.at.saturating_sub(ended) > timings.status_update_frequency + timings.latency {
            *cut = fresh;
        }
        true
    }

    fn expect(&mut self, member: &str, because: String, fact: &Fact, context: &JudgeContext<'_>) {
        let is_unreachable_taint = |taint: &Taint| taint.health == Some(Health::Unknown);
        // The taint of an earlier silence stays until the member is Ready, and the removal of a member forgets its health.
        let needs_none = |it: &Member| it.leaving || it.evicting_taints().any(is_unreachable_taint);
        if context.member(member).is_some_and(needs_none) {
            return;
        }
        let observed = format!("{member} has no NoExecute taint for its condition");
        let limit = bounds::no_execute(context.timings());
        self.deadlines.start(Subject::member(member), fact, limit, Expectation { because, observed });
    }
}
