//! What is told of members, and when they are ready again: HEALTH.

use std::collections::BTreeSet;
use std::time::Duration;

use super::not_ready::settled_after;
use crate::guarantee::engine::away::{in_force, is_hit};
use crate::guarantee::engine::bounds::{self, Failing};
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, NEVER, Topics, Violation, topics,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::{Feature, Timings};
use crate::text::{clock, span};
use capsize_history::FaultKind;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, Health};

static HEALTH_03: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-03",
    sentence: "a member that is probed is Ready or not, and never Unknown",
    features: &[Feature::HealthProbes],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/controllers/cluster/cluster_controller.go, tryUpdateClusterHealth",
};

/// S13 and H8: whoever asks knows the answer, or that there is none. That one that pulls becomes Unknown only when it is
/// cut off is HEALTH-02.
pub(crate) struct ProbedMemberIsNeverUnknown;

impl Guarantee for ProbedMemberIsNeverUnknown {
    fn spec(&self) -> &'static GuaranteeSpec {
        &HEALTH_03
    }

    fn topics(&self) -> Topics {
        topics![Health]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Change::Health { member, now: Some(now), .. } = &fact.change else { return };
        if context.member(member).is_none_or(|member| member.pulls) {
            return;
        }
        if *now != Health::Unknown {
            return context.tally.record_held();
        }
        let because = format!("{member} is probed by the control plane");
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

/// T15: not before, counted from the end of the last fault that kept probes from succeeding; in time, counted from when
/// nothing at all is wrong any more. A new fault begins it anew.
#[derive(Default)]
pub(crate) struct ReadyAfterSuccessThreshold {
    /// Since when no fault of a member keeps probes from succeeding, and how slow they may have been until then.
    ended: Table<String, (Duration, Failing)>,
    /// Where one does.
    failing: Table<String, Fails>,
    /// How slow a probe may be that is under way when the last fault ends; absent where none need have failed.
    failed: Table<String, Failing>,
    deadlines: Deadlines,
    /// When the controllers last came back, whose first probe has no threshold.
    back: Option<Duration>,
    /// Those that are reached otherwise than before: until one is told to be ready nobody knows whether it answers.
    otherwise: BTreeSet<String>,
}

/// A time in which faults keep probes from succeeding.
#[derive(Default)]
struct Fails {
    since: Duration,
    /// Since when none did before that, and how slow probes may have been until then.
    before: Option<(Duration, Failing)>,
    /// Since when probes fail at once, where they do.
    refused_since: Option<Duration>,
    /// For how long they did before.
    refused: Duration,
}

impl Fails {
    /// At `now`, probes fail at once, or do not.
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

    /// Whether it is over at `now` without any probe's having failed, perhaps: none need have begun while they fail at once,
    /// and one that waits gets its answer, which may have begun as late as it was its turn.
    fn may_be_unmet(&self, now: Duration, timings: &Timings) -> bool {
        let turn = timings.status_update_frequency;
        let longest_wait = timings.silent_probe.unwrap_or(NEVER).saturating_add(turn);
        self.refused < turn && now.saturating_sub(self.since) < longest_wait
    }
}

impl Guarantee for ReadyAfterSuccessThreshold {
    fn spec(&self) -> &'static GuaranteeSpec {
        &HEALTH_04
    }

    fn topics(&self) -> Topics {
        topics![FaultBegan, FaultEnded, Health, Access, MemberLeaving, MemberGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::FaultBegan { member: Some(member), .. } => self.began(member, fact, context),
            Change::FaultEnded { member: Some(member), fault } => self.ended(member, *fault, fact, context),
            Change::FaultEnded { member: None, .. } => self.back = Some(fact.at),
            Change::Health { member, was: Some(Health::NotReady), now: Some(Health::Ready), .. } => {
                self.otherwise.remove(member);
                self.became_ready(member, fact, context);
            }
            Change::Access(member) => {
                self.otherwise.insert(member.clone());
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

/// Whether a person has just written the object of `member`.
fn is_written_by_hand(member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let by_hand = context.member(member).and_then(|member| member.untainted_by_hand);
    by_hand.is_some_and(|by_hand| fact.at <= by_hand + context.timings().latency)
}

impl ReadyAfterSuccessThreshold {
    fn began(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        self.deadlines.cancel(&Subject::member(member));
        let fails = self.turn(member, fact, context);
        let before = self.failed.get(member).copied();
        if fails || before.is_some() {
            // What probes survive may make them as slow as silence does.
            let slowness = |fault| bounds::failing(fault).unwrap_or(Failing::Silent);
            let slowest = in_force(member, context).map(slowness).max().max(before);
            self.failed.extend(slowest.map(|slowest| (member.to_owned(), slowest)));
        }
    }

    /// Notes how the faults in force let probes of `member` fail. Answers whether any does.
    fn turn(&mut self, member: &str, fact: &Fact, context: &JudgeContext<'_>) -> bool {
        let how: Vec<_> = in_force(member, context).filter_map(bounds::failing).collect();
        if !how.is_empty() || self.failing.contains_key(member) {
            let before = self.ended.swap_remove(member);
            let first = || Fails { since: fact.at, before, ..Fails::default() };
            let fails = self.failing.entry(member.to_owned()).or_insert_with(first);
            fails.turn(how.contains(&Failing::Refused), fact.at);
        }
        !how.is_empty()
    }

    fn ended(&mut self, member: &str, fault: FaultKind, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(known) = context.member(member).filter(|known| !known.pulls) else { return };
        if fault.hits_probes().is_some() && !self.turn(member, fact, context) {
            let fails = self.failing.swap_remove(member).unwrap_or_default();
            let before = fails.before.filter(|_| fails.may_be_unmet(fact.at, context.timings()));
            let slowness = self.failed.get(member).copied().unwrap_or(Failing::Silent);
            self.ended.insert(member.to_owned(), before.unwrap_or((fact.at, slowness)));
        }
        if is_hit(member, context) {
            return;
        }
        let Some(failing) = self.failed.swap_remove(member).filter(|_| !self.otherwise.contains(member))
        else {
            return;
        };
        let limit =
            bounds::ready(context.timings(), failing).filter(|_| known.health == Some(Health::NotReady));
        if let Some(limit) = limit {
            let expectation = Expectation {
                because: format!(
                    "{member} answers since {}, and {} is the longest",
                    clock(fact.at),
                    span(limit)
                ),
                missing: format!("{member} is not Ready"),
            };
            self.deadlines.start(Subject::member(member), fact, limit, expectation);
        }
    }

    fn became_ready(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::member(member);
        let margin = self.deadlines.met(&subject, fact);
        let Some((ended, slowness)) = self.ended.swap_remove(member) else { return };
        let timings = context.timings();
        // The first probe may be under way for as long as it takes when a fault ends, and gets its answer then.
        let first_probe =
            settled_after(timings, Some(slowness)).map_or(NEVER, |first| first + timings.takeover);
        let unsettled = |back: Duration| back.saturating_add(first_probe) >= ended;
        if context.controllers_are_away()
            || self.back.is_some_and(unsettled)
            || is_written_by_hand(member, fact, context)
        {
            return;
        }
        let earliest = ended.saturating_add(timings.success_threshold).saturating_sub(timings.skew);
        context.check_arrival(subject, fact, earliest, margin, || {
            let (ended, threshold) = (clock(ended), span(timings.success_threshold));
            let because = format!("{member} answers since {ended}, success threshold {threshold}");
            (because, format!("{member} is Ready"))
        });
    }
}

static HEALTH_05: GuaranteeSpec = GuaranteeSpec {
    id: "HEALTH-05",
    sentence: "what is told of a member that is not ready stays as it was, but for its conditions",
    features: &[Feature::HealthProbes],
    formula: "at every version",
    releases: "all; Karmada loses the kinds that a member serves in an outage (#7373)",
    source: "Karmada pkg/controllers/status/cluster_status_controller.go, syncClusterStatus",
};

/// H3: of a member that does not answer nothing new is known.
pub(crate) struct StatusUnchangedWhileNotReady;

impl Guarantee for StatusUnchangedWhileNotReady {
    fn spec(&self) -> &'static GuaranteeSpec {
        &HEALTH_05
    }

    fn topics(&self) -> Topics {
        topics![Health, MemberReported]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let not_ready = |health: Option<Health>| health.is_some_and(|health| health != Health::Ready);
        match &fact.change {
            // An outage in which nothing else is told ends.
            Change::Health { was, now: Some(Health::Ready), .. } if not_ready(*was) => {
                context.tally.record_held()
            }
            Change::MemberReported { member, was } => {
                let now = context.member(member).and_then(|member| member.health);
                // The version that reports the outage changes nothing else either; a list after a gap may show two changes in one.
                let turns = *was == Some(Health::Ready) && context.disorder() <= context.timings().latency;
                if (not_ready(*was) || turns) && not_ready(now) {
                    let because = format!("{member} is not Ready");
                    let seen = "something else is told of it than before".to_owned();
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
