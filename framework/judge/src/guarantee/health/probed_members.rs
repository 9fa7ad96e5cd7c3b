//! Checks that probed members are never Unknown, and that members become Ready in time: HEALTH.
//!
//! No member becomes Ready in an outage, and the status of a member that is not Ready does not change.

use std::collections::BTreeSet;
use std::time::Duration;

use super::agent_silence::is_one_way;
use super::not_ready::probe_succeeds_within;
use crate::guarantee::engine::bounds::{self, ProbeFailure};
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, NEVER, Violation, accessors,
};
use crate::guarantee::engine::faults_on_members::{in_force, is_hit};
use crate::guarantee::engine::suspected_violations::SuspectedViolations;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::{Feature, Timings};
use crate::time_format::{clock, span};
use capsize_history::FaultKind;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, FaultInForce, Health};

static HEALTH_03: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-03",
    sentence: "a probed member is Ready or NotReady, and never Unknown",
    features: &[Feature::HealthProbes],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, tryUpdateClusterHealth",
};

/// Requirements S13 and H8: a probe either gets an answer or fails.
/// HEALTH-02 checks that a pull member becomes Unknown only if its agent is cut off.
pub(crate) struct ProbedMemberIsNeverUnknown;

impl Guarantee for ProbedMemberIsNeverUnknown {
    accessors!(HEALTH_03, [Health]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Health { member, now: Some(now), .. } = &fact.change else { return };
        if context.member(member).is_none_or(|member| member.pulls) {
            return;
        }
        if *now != Health::Unknown {
            return context.tally.record_held();
        }
        let because = format!("the control plane probes {member}");
        let subject = Subject::member(member);
        context.report_violation(Violation::by(
            fact,
            subject,
            Bound::Never,
            because,
            format!("{member} is Unknown"),
        ));
    }
}

static HEALTH_04: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-04",
    sentence: "a member that answers again becomes Ready in time, and not before the success threshold has passed",
    features: &[Feature::HealthProbes],
    formula: bounds::READY,
    releases: "all",
    source: "Karmada pkg/controllers/status/cluster_condition_cache.go",
};

/// Checks that a member that answers again becomes Ready in time (requirement T15).
/// The lower bound counts from the end of the last fault that kept probes from succeeding. The upper bound counts from
/// the moment when no fault is in force any more. A new fault restarts both.
#[derive(Default)]
pub(crate) struct ReadyAfterSuccessThreshold {
    /// The time since which no fault keeps probes of a member from succeeding.
    /// The second value is how slow the probes may have been before.
    ended: Table<String, (Duration, ProbeFailure)>,
    /// The members whose probes a fault keeps from succeeding.
    failing: Table<String, FailurePeriod>,
    /// How slow the last probe of each member may be when the last fault ends.
    /// There is no entry if it is possible that no probe failed.
    failed: Table<String, ProbeFailure>,
    deadlines: Deadlines,
    /// The time when the controllers last returned; their first probe has no threshold.
    back: Option<Duration>,
    /// The members whose address or credentials have changed.
    /// Until such a member is reported as ready, it is not known whether it answers.
    access_changed: BTreeSet<String>,
    /// Reports of agents that are cut off.
    reports: SuspectedViolations,
}

/// A period in which faults keep probes from succeeding.
#[derive(Default)]
struct FailurePeriod {
    since: Duration,
    /// The end of the period before this one, and how slow probes may have been until then.
    before: Option<(Duration, ProbeFailure)>,
    /// Whether the member was reported as ready at the beginning.
    was_ready: bool,
    /// The time since which probes fail at once, if they do.
    refused_since: Option<Duration>,
    /// The total time for which probes failed at once before.
    refused: Duration,
    /// The time since which faults drop only requests, so that earlier requests may still be answered.
    answered: Option<Duration>,
}

impl FailurePeriod {
    /// Records whether probes fail at once from `now` on.
    fn turn(&mut self, refused: bool, now: Duration) {
        match (refused, self.refused_since) {
            (true, None) => self.refused_since = Some(now),
            (false, Some(since)) => {
                self.refused += now.saturating_sub(since);
                self.refused_since = None;
            }
            _ => {}
        }
    }

    /// Returns true if the period may end at `now` without a failed probe.
    /// No probe need have begun while probes fail at once, and a waiting probe gets its answer. The waiting probe may
    /// have begun one probe period late.
    fn may_be_unmet(&self, now: Duration, timings: &Timings) -> bool {
        let turn = timings.status_update_frequency;
        let longest_wait = timings.silent_probe.unwrap_or(NEVER).saturating_add(turn);
        self.refused < turn && now.saturating_sub(self.since) < longest_wait
    }
}

impl Guarantee for ReadyAfterSuccessThreshold {
    accessors!(HEALTH_04, [FaultBegan, FaultEnded, Health, Access, MemberLeaving, MemberGone], deadlines);

    fn due(&mut self) -> Duration {
        self.deadlines.due().min(self.reports.due())
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        self.deadlines.advance_to(now, context);
        // The end of the fault may be observed after the report.
        self.reports.advance_to(now, context, |subject, _, context| {
            subject.member.as_ref().is_none_or(|member| cut_off_since(member, context).is_none())
        });
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => self.began(member, fact, context),
            Change::FaultEnded { member: Some(member), fault } => self.ended(member, *fault, fact, context),
            Change::FaultEnded { member: None, .. } => self.back = Some(fact.at),
            Change::Health { member, was: Some(Health::NotReady), now: Some(Health::Ready), .. } => {
                let known = !self.access_changed.remove(member);
                self.became_ready(member, fact, context);
                self.ready_in_an_outage(member, known, fact, context);
            }
            Change::Health { member, was: Some(Health::Unknown), now: Some(now), .. } => {
                self.reported_in_an_outage(member, *now, fact, context);
            }
            Change::Access(member) => {
                self.access_changed.insert(member.clone());
                self.deadlines.cancel(&Subject::member(member));
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.ended.swap_remove(member);
                self.failing.swap_remove(member);
                self.deadlines.cancel(&Subject::member(member));
            }
            _ => {}
        }
    }
}

/// Returns true if a person has just written the object of `member`.
fn is_written_by_hand(member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let by_hand = context.member(member).and_then(|member| member.untainted_by_hand);
    by_hand.is_some_and(|by_hand| fact.at <= by_hand + context.timings().latency)
}

/// Returns the time since which the agent of `member` is surely cut off from the control plane.
/// Under other faults, the agent reports that its member does not work.
fn cut_off_since(member: &str, context: &JudgeContext<'_>) -> Option<Duration> {
    let cuts = |fault: &&FaultInForce| {
        let kinds = [FaultKind::Partition, FaultKind::Refuse, FaultKind::AgentDown];
        kinds.contains(&fault.fault) && !is_one_way(fault)
    };
    in_force(member, context).filter(cuts).map(|fault| fault.since).max()
}

impl ReadyAfterSuccessThreshold {
    fn began(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        self.deadlines.cancel(&Subject::member(member));
        let fails = self.turn(member, fact, context);
        let before = self.failed.get(member).copied();
        if fails || before.is_some() {
            // Faults that probes survive may make probes as slow as silence does.
            let slowness = |fault| bounds::failing(fault).unwrap_or(ProbeFailure::Silent);
            let slowest = in_force(member, context).map(slowness).max().max(before);
            self.failed.extend(slowest.map(|slowest| (member.to_owned(), slowest)));
        }
    }

    /// Records how the faults in force make probes of `member` fail, and returns true if any of them does.
    fn turn(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
        let how: Vec<_> = in_force(member, context).filter_map(bounds::failing).collect();
        if !how.is_empty() || self.failing.contains_key(member) {
            let before = self.ended.swap_remove(member);
            let was_ready = context.member(member).is_some_and(|known| known.health == Some(Health::Ready));
            let first = || FailurePeriod { since: fact.at, before, was_ready, ..FailurePeriod::default() };
            let period = self.failing.entry(member.to_owned()).or_insert_with(first);
            period.turn(how.contains(&ProbeFailure::Refused), fact.at);
            // A request from before the remaining faults may have reached the member.
            let mut failing = in_force(member, context).filter(|fault| bounds::failing(fault).is_some());
            let only_requests = failing.all(is_one_way);
            let ends = matches!(fact.change, Change::FaultEnded { .. });
            period.answered = period.answered.or(ends.then_some(fact.at)).filter(|_| only_requests);
        }
        !how.is_empty()
    }

    fn ended(&mut self, member: &str, fault: FaultKind, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(known) = context.member(member).filter(|known| !known.pulls) else { return };
        if fault.hits_probes().is_some() && !self.turn(member, fact, context) {
            let period = self.failing.swap_remove(member).unwrap_or_default();
            let slowness = self.failed.get(member).copied().unwrap_or(ProbeFailure::Silent);
            let counts_from = if period.may_be_unmet(fact.at, context.timings()) {
                // A member that becomes NotReady later has failed a probe since then. If it was not ready, and its probes
                // failed by chance, it may have answered all the time.
                period.before.or(period.was_ready.then_some((period.since, slowness)))
            } else {
                let wait = context.timings().silent_probe.unwrap_or(NEVER);
                let answered = period.answered.filter(|answered| fact.at.saturating_sub(*answered) < wait);
                Some((answered.unwrap_or(fact.at), slowness))
            };
            self.ended.extend(counts_from.map(|from| (member.to_owned(), from)));
        }
        if is_hit(member, context) {
            return;
        }
        let Some(failing) = self.failed.swap_remove(member).filter(|_| !self.access_changed.contains(member))
        else {
            return;
        };
        let limit =
            bounds::ready(context.timings(), failing).filter(|_| known.health == Some(Health::NotReady));
        if let Some(limit) = limit {
            let expectation = Expectation {
                because: format!(
                    "{member} has answered since {}, and must be Ready within {}",
                    clock(fact.at),
                    span(limit)
                ),
                observed: format!("{member} is not Ready"),
            };
            self.deadlines.start(Subject::member(member), fact, limit, expectation);
        }
    }

    /// Adds a suspected violation if the agent of a member reports although it is cut off.
    /// NODE-10 checks nodes, whose reports have times of their own.
    fn reported_in_an_outage(&mut self, member: &str, now: Health, fact: &Fact, context: &JudgeContext<'_>) {
        let pulls = context.member(member).is_some_and(|known| known.pulls);
        if !pulls || context.profile.zones.is_some() || now == Health::Unknown {
            return;
        }
        let Some(since) = cut_off_since(member, context) else { return };
        // A report from before the fault may still be under way.
        let under_way = context.timings().latency.saturating_add(context.disorder());
        if fact.at > since.saturating_add(under_way) && !context.controllers_are_hindered(fact.at) {
            let because = format!("its agent has been cut off since {}", clock(since));
            self.reports.add(Subject::member(member), fact, because, format!("{member} is {now}"));
        }
    }

    /// Checks that a member did not become ready while a fault keeps all of its probes from succeeding.
    /// A member that was not ready before the fault may still become ready by the probes before the fault.
    fn ready_in_an_outage(
        &mut self,
        member: &str,
        is_access_known: bool,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let timings = context.timings();
        let Some(period) = self.failing.get(member).filter(|_| is_access_known) else { return };
        let Some(away) = context.member(member).filter(|known| !known.pulls).map(|known| known.away) else {
            return;
        };
        let began = fact.at.saturating_sub(away) > period.since.saturating_add(timings.latency);
        let excused = context.controllers_are_hindered(fact.at)
            || context.controllers_are_away()
            || timings.success_threshold <= timings.skew
            || is_written_by_hand(member, fact, context);
        if began && !excused {
            let because = format!("its probes have failed since {}", clock(period.since));
            let seen = format!("{member} is Ready");
            let subject = Subject::member(member);
            context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
        }
    }

    fn became_ready(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(member);
        let margin = self.deadlines.close_as_met(&subject, fact);
        let Some((ended, slowness)) = self.ended.swap_remove(member) else { return };
        let timings = context.timings();
        // The first probe may be under way when the fault ends, and gets its answer then.
        let first_probe =
            probe_succeeds_within(timings, Some(slowness)).map_or(NEVER, |first| first + timings.takeover);
        let may_be_failing = |back: Duration| back.saturating_add(first_probe) >= ended;
        // A probe that began without knowledge of the outage seems to change nothing, so that no threshold applies.
        let outage_unobserved = context.world.was_hindered(ended.saturating_sub(first_probe));
        if context.controllers_are_away()
            || self.back.is_some_and(may_be_failing)
            || outage_unobserved
            || is_written_by_hand(member, fact, context)
        {
            return;
        }
        let earliest = ended.saturating_add(timings.success_threshold).saturating_sub(timings.skew);
        context.check_arrival(subject, fact, earliest, margin, || {
            let (ended, threshold) = (clock(ended), span(timings.success_threshold));
            let because =
                format!("{member} has answered since {ended}, and the success threshold is {threshold}");
            (because, format!("{member} is Ready"))
        });
    }
}

static HEALTH_05: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-05",
    sentence: "the status of a member that is not Ready does not change, except for its conditions",
    features: &[Feature::HealthProbes],
    formula: "at every version",
    releases: "all; Karmada loses the API resources of a member during an outage (#7373)",
    source: "Karmada pkg/controllers/status/cluster_status_controller.go, syncClusterStatus",
};

/// Requirement H3: nothing new is known about a member that does not answer.
pub(crate) struct StatusUnchangedWhileNotReady;

impl Guarantee for StatusUnchangedWhileNotReady {
    accessors!(HEALTH_05, [Health, MemberReported]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let not_ready = |health: Option<Health>| health.is_some_and(|health| health != Health::Ready);
        match &fact.change {
            // The end of an outage without other changes.
            Change::Health { was, now: Some(Health::Ready), .. } if not_ready(*was) => {
                context.tally.record_held();
            }
            Change::MemberReported { member, was } => {
                let now = context.member(member).and_then(|member| member.health);
                // The version that reports the outage changes nothing else either. A list after a gap may contain two
                // changes.
                let turns = *was == Some(Health::Ready) && context.disorder() <= context.timings().latency;
                if (not_ready(*was) || turns) && not_ready(now) {
                    let because = format!("{member} is not Ready");
                    let seen = "its status has changed".to_owned();
                    context.report_violation(Violation::by(
                        fact,
                        Subject::member(member),
                        Bound::Never,
                        because,
                        seen,
                    ));
                }
            }
            _ => {}
        }
    }
}
