//! Checks that probed members become NotReady in time: HEALTH.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::bounds::{self, ProbeFailure};
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, NEVER, Violation, accessors,
};
use crate::guarantee::engine::faults_on_members::{in_force, is_hit};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::{Feature, Timings};
use crate::time_format::{clock, span};
use capsize_history::FOREVER;
use capsize_history::facts::{Change, Fact, FaultInForce, Health};

/// Checks that a member that fails is reported as not ready in time (requirement T1).
/// The report does not come before the failure threshold has passed.
///
/// This concerns probed members. The agent of a pull member becomes silent instead, which `agent_silence.rs` checks. An
/// agent that reports its member as not ready also needs a fault.
///
/// The time counts from the beginning of a fault. If possibly no probe succeeded between two faults, they are one
/// outage for the lower bound. The upper bound starts again with each fault.
#[derive(Default)]
pub(crate) struct NotReadyAfterFailureThreshold {
    outages: BTreeMap<String, Outage>,
    /// The time after which the next outage is over.
    next_outage_over: Duration,
    deadlines: Deadlines,
    /// The time when the controllers last returned; their first probe has no threshold.
    back: Option<Duration>,
    /// The time when a fault of each member last ended.
    /// A connection that the fault damaged may still fail afterwards.
    mended: BTreeMap<String, Duration>,
}

/// A period in which probes may have failed.
#[derive(Default)]
struct Outage {
    began: Duration,
    /// The end of the last fault; `None` while one is in force.
    ended: Option<Duration>,
    /// The slowest way in which probes fail; `None` if they need not fail.
    failing: Option<ProbeFailure>,
    /// Whether the member was reported as not ready during the outage.
    reported: bool,
    /// Whether the address or credentials of the member have changed.
    /// Until the member is reported as ready, it is not known whether probes succeed.
    access_changed: bool,
    /// Whether the member was already slow when probes began to fail.
    slow: bool,
    /// The longest delay of its answers.
    late: Duration,
    /// The time from which the upper bound counts.
    anew: Duration,
    /// The time from `anew` to the first refusal in a silence; `None` without a refusal.
    /// It is [`FOREVER`] if a refusal is possible, but not certain.
    broken: Option<Duration>,
}

static HEALTH_01: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-01",
    sentence: "a member that fails becomes NotReady in time, and not before the failure threshold has passed",
    features: &[Feature::HealthProbes],
    formula: bounds::NOT_READY,
    releases: "all",
    source: "Karmada pkg/controllers/status/cluster_condition_cache.go",
};

impl Guarantee for NotReadyAfterFailureThreshold {
    accessors!(
        HEALTH_01,
        [FaultBegan, FaultEnded, Access, Health, TaintAdded, TaintRemoved, MemberLeaving, MemberGone],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => self.began(member, fact, context),
            Change::FaultEnded { member: Some(member), .. } => self.ended(member, fact, context),
            Change::FaultEnded { member: None, .. } => self.back = Some(fact.at),
            Change::Access(member) => self.access_changed(member, fact, context),
            Change::Health { member, was: Some(Health::Ready), now: Some(Health::NotReady), .. } => {
                self.became_not_ready(member, fact, context);
            }
            Change::Health { member, was: Some(_), now: Some(Health::Ready), .. } => {
                self.answers(member, fact, context);
            }
            Change::TaintAdded { member, .. } | Change::TaintRemoved { member, .. } => {
                // A change of the member may trigger a probe early, and shift the next ones.
                let subject = Subject::member(member);
                if let Some(outage) = self.outages.get_mut(member).filter(|_| self.deadlines.has(&subject)) {
                    (outage.anew, outage.broken) = (fact.at, broken_after(member, Duration::ZERO, context));
                    self.start_deadline(member, fact, context);
                }
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.outages.remove(member);
                self.deadlines.cancel(&Subject::member(member));
            }
            _ => {}
        }
        self.settle(context.timings());
    }

    fn due(&mut self) -> Duration {
        self.deadlines.due().min(self.next_outage_over)
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        self.deadlines.advance_to(now, context);
        let timings = context.timings();
        let over = |outage: &Outage| outage.over_after(timings).is_some_and(|over| now > over);
        let threshold = timings.failure_threshold;
        for (_, outage) in self.outages.extract_if(.., |_, outage| over(outage)) {
            let length = outage.ended.unwrap_or(now).saturating_sub(outage.began);
            if !outage.reported && outage.failing.is_some() && length < threshold {
                context.tally.record_held_by(threshold.saturating_sub(length));
            }
        }
        self.settle(timings);
    }
}

impl Outage {
    /// Creates an outage that was not known before `fact`.
    /// It began with the first fault in force. A fault outlasts the member that it hit, and a probe of a new member
    /// with the same name may have failed since it joined.
    fn first(member: &str, fact: &Fact, context: &JudgeContext<'_>) -> Self {
        let since = in_force(member, context).map(|fault| fault.since).min();
        let began = since.map_or(fact.at, |since| since.min(fact.at));
        Self { began, ..Self::default() }
    }

    /// Returns the time after which the outage is over, if it has ended.
    fn over_after(&self, timings: &Timings) -> Option<Duration> {
        Some(self.ended? + probe_succeeds_within(timings, self.failing)?)
    }
}

/// Returns the time after the end of a fault within which a probe surely succeeds.
/// Returns `None` if a probe may hang for ever.
pub(crate) fn probe_succeeds_within(timings: &Timings, failing: Option<ProbeFailure>) -> Option<Duration> {
    let probe = bounds::probe(timings, failing.unwrap_or(ProbeFailure::Refused))?;
    Some(timings.status_update_frequency + probe + timings.latency)
}

/// Returns how probes of the member fail under the faults in force.
fn failing_now(member: &str, context: &JudgeContext<'_>) -> Option<ProbeFailure> {
    in_force(member, context).filter_map(bounds::failing).max()
}

/// Returns the time after which a probe of the member fails at once, if one may fail in this way.
/// Refusals began `after` the beginning of the outage.
fn broken_after(member: &str, after: Duration, context: &JudgeContext<'_>) -> Option<Duration> {
    let refuses = |fault: &FaultInForce| bounds::failing(fault) == Some(ProbeFailure::Refused);
    let may_break = |fault: &FaultInForce| fault.fault.may_break_probes();
    let surely = in_force(member, context).any(refuses).then_some(after);
    surely.or_else(|| in_force(member, context).any(may_break).then_some(FOREVER))
}

impl NotReadyAfterFailureThreshold {
    /// Computes the time when the next outage is over.
    fn settle(&mut self, timings: &Timings) {
        let over = self.outages.values().filter_map(|outage| outage.over_after(timings));
        self.next_outage_over = over.min().unwrap_or(NEVER);
    }

    fn began(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        if context.member(member).is_some_and(|member| member.pulls) {
            return;
        }
        let outage =
            self.outages.entry(member.to_owned()).or_insert_with(|| Outage::first(member, fact, context));
        let anew = outage.ended.take().is_some() || outage.began == fact.at;
        let before = outage.failing;
        outage.slow |= in_force(member, context).any(|fault| bounds::failing(fault).is_none());
        let late = in_force(member, context).map(|fault| fault.late).max();
        outage.late = outage.late.max(late.unwrap_or_default());
        let failing = failing_now(member, context);
        outage.failing = failing.max(before);
        // A slower way of failing may be detected later. Something else may have continued while probes succeeded.
        let waited = self.deadlines.has(&Subject::member(member));
        let anew = failing.is_some() && (anew || outage.failing != before || !waited);
        if anew {
            (outage.anew, outage.broken) = (fact.at, None);
        }
        let broken = broken_after(member, fact.at.saturating_sub(outage.anew), context)
            .filter(|_| outage.failing == Some(ProbeFailure::Silent));
        let breaks = broken.is_some_and(|after| outage.broken.is_none_or(|earlier| after < earlier));
        if breaks {
            outage.broken = broken;
        }
        let ready = context.member(member).is_some_and(|member| member.health == Some(Health::Ready));
        // A fault that fails no probe does not continue the outage before it.
        if (anew || breaks) && failing.is_some() && ready {
            self.start_deadline(member, fact, context);
        }
    }

    /// Records that the access to the member has changed.
    /// It is not known whether probes succeed from now on.
    fn access_changed(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        if context.member(member).is_some_and(|member| !member.pulls) {
            let outage =
                self.outages.entry(member.to_owned()).or_insert_with(|| Outage::first(member, fact, context));
            (outage.access_changed, outage.ended) = (true, None);
        }
    }

    /// Ends an outage that began with a change of access, unless a fault still makes probes fail.
    /// Probes succeed with the new access.
    fn answers(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(outage) = self.outages.get_mut(member).filter(|outage| outage.access_changed) else {
            return;
        };
        outage.access_changed = false;
        if failing_now(member, context).is_none() {
            outage.ended = Some(fact.at);
        }
    }

    fn start_deadline(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(outage) = self.outages.get(member) else { return };
        let silent = outage.failing == Some(ProbeFailure::Silent);
        let limit = match outage.broken.filter(|_| silent) {
            Some(after) => bounds::not_ready_mixed(context.timings(), after),
            None => bounds::not_ready(context.timings(), silent).filter(|_| outage.failing.is_some()),
        };
        // Other requests to a slow member may be cut off as well, and its earlier answers may still be under way.
        let asked = context.timings().silent_probe.filter(|_| silent && outage.slow).unwrap_or(outage.late);
        let Some(limit) = limit.map(|limit| limit + asked) else { return };
        let expectation = Expectation {
            because: format!(
                "{member} failed at {}, and may be Ready for {} after that",
                clock(outage.anew),
                span(limit)
            ),
            observed: format!("{member} is still Ready"),
        };
        self.deadlines.restart(Subject::member(member), fact, outage.anew + limit, limit, expectation);
    }

    fn ended(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        if failing_now(member, context).is_none() {
            self.deadlines.cancel(&Subject::member(member));
        }
        self.mended.insert(member.to_owned(), fact.at);
        if let (false, Some(outage)) = (is_hit(member, context), self.outages.get_mut(member)) {
            outage.ended = (!outage.access_changed).then_some(fact.at);
        }
    }

    /// Reports that a member became NotReady without a fault, unless there is an excuse.
    fn failed_without_fault(&self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let (timings, world) = (context.timings(), context.world);
        let known = context.member(member);
        let by_hand = known.and_then(|known| known.untainted_by_hand);
        // A kubelet has reasons of its own.
        if context.profile.zones.is_some()
            || !world.faults_are_marked
            || world.access_touched
            || known.is_none_or(|known| known.leaving)
            || is_hit(member, context)
            || context.controllers_are_hindered(fact.at)
        {
            return;
        }
        // A probe that began under a fault may end after it, and its failure counts for the length of the threshold.
        let success = probe_succeeds_within(timings, Some(ProbeFailure::Silent)).unwrap_or(NEVER)
            + timings.failure_threshold;
        let lately = [self.mended.get(member).copied(), self.back, by_hand];
        if lately.into_iter().flatten().any(|then| fact.at <= then + success + timings.takeover) {
            return;
        }
        let because =
            format!("no fault has hit {member}, and NotReady needs failures for the whole failure threshold");
        let seen = format!("{member} is NotReady");
        context.report_violation(Violation::by(fact, Subject::member(member), Bound::Never, because, seen));
    }

    fn became_not_ready(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let Some(outage) = self.outages.get_mut(member) else {
            return self.failed_without_fault(member, fact, context);
        };
        outage.reported = true;
        let timings = context.timings();
        let success = probe_succeeds_within(timings, outage.failing).unwrap_or(NEVER);
        let first_probe = |back: Duration| back.saturating_add(success).saturating_add(timings.takeover);
        if context.controllers_are_away() || self.back.is_some_and(|back| first_probe(back) >= outage.began) {
            return;
        }
        let earliest = (outage.began + timings.failure_threshold).saturating_sub(timings.skew);
        context.check_arrival(subject, fact, earliest, margin, || {
            let (began, threshold) = (clock(outage.began), span(timings.failure_threshold));
            let because = format!("{member} failed at {began}, and the failure threshold is {threshold}");
            (because, format!("{member} is NotReady"))
        });
    }
}
