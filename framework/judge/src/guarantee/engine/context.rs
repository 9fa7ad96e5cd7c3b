//! The trait of guarantees, and the context through which a guarantee reads and reports.
//!
//! Times of observations are inexact. A bound is violated only if the whole interval is beyond it, and held only if
//! the whole interval is within it. Otherwise the result is undecided.

use std::time::Duration;

use super::bounds;
pub(crate) use super::deadlines::{Deadlines, Expectation, Margin};
use super::tally::Tally;
use super::timeline::RecentFacts;
use crate::guarantee::{Ambiguity, Bound, Evidence, GuaranteeSpec, Subject};
use crate::profile::{Profile, Timings};
pub(crate) use capsize_history::facts::Topics;
use capsize_history::facts::{
    Change, Fact, Member, ObjectVersion, Uncertainty, Workload, WorkloadKey, World,
};
use capsize_history::{CONTROL_PLANE, FOREVER};

/// A state machine over facts.
pub(crate) trait Guarantee: Send {
    /// The static description of the guarantee.
    fn spec(&self) -> &'static GuaranteeSpec;

    /// The topics of the facts that the guarantee reads. It gets no other facts.
    fn topics(&self) -> Topics;

    /// Returns true if the guarantee judges by time stamps of the control plane.
    /// Such a guarantee depends on the control plane's clock. A wait that a controller measures itself does not.
    fn counts_from_stamps(&self) -> bool {
        false
    }

    /// The open deadlines. The catalogue extends them when controllers return.
    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        None
    }

    /// Takes the next fact. The world of `context` is the state after it.
    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>);

    /// The next time at which `advance_to` must be called. It is queried after every `observe`.
    fn due(&mut self) -> Duration {
        self.deadlines().map_or(NEVER, |deadlines| deadlines.due())
    }

    /// Advances to `now`. Nothing has happened since the last fact.
    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        if let Some(deadlines) = self.deadlines() {
            deadlines.advance_to(now, context);
        }
    }
}

/// A time that is never reached.
pub(crate) const NEVER: Duration = FOREVER;

/// Builds the set of the topics with these names.
macro_rules! topics {
    ($($name:ident),*) => {
        capsize_history::facts::Topics::of(&[$(capsize_history::facts::Topic::$name),*])
    };
}
pub(crate) use topics;

/// Writes the accessors of a guarantee.
/// These are its specification, its topics, and the field of its deadlines, if it has one.
macro_rules! accessors {
    (self.$spec:ident, $($rest:tt)*) => {
        fn spec(&self) -> &'static $crate::guarantee::GuaranteeSpec {
            self.$spec
        }

        $crate::guarantee::engine::context::accessors!($($rest)*);
    };
    ($spec:ident, $($rest:tt)*) => {
        fn spec(&self) -> &'static $crate::guarantee::GuaranteeSpec {
            &$spec
        }

        $crate::guarantee::engine::context::accessors!($($rest)*);
    };
    ([$($topic:ident),* $(,)?] $(, $deadlines:tt)?) => {
        fn topics(&self) -> capsize_history::facts::Topics {
            $crate::guarantee::engine::context::topics![$($topic),*]
        }

        $(
            fn deadlines(&mut self) -> Option<&mut $crate::guarantee::engine::context::Deadlines> {
                Some(&mut self.$deadlines)
            }
        )?
    };
}
pub(crate) use accessors;

/// Everything that a guarantee reads and writes.
pub(crate) struct JudgeContext<'a> {
    pub(crate) world: &'a World,
    /// The error of times that follow from time stamps, for a guarantee that counts from them.
    pub(crate) stamp_error: Duration,
    pub(crate) profile: &'a Profile,
    pub(crate) log: &'a RecentFacts,
    pub(crate) tally: &'a mut Tally,
    pub(crate) about: FactSubject<'a>,
}

/// The workload and the member of a fact, looked up once for all guarantees.
#[derive(Clone, Copy, Default)]
pub(crate) struct FactSubject<'a> {
    workload: Option<(&'a WorkloadKey, Option<&'a Workload>)>,
    member: Option<(&'a str, Option<&'a Member>)>,
}

impl<'a> FactSubject<'a> {
    /// Looks the workload and the member of `change` up in `world`.
    pub(crate) fn of(change: &'a Change, world: &'a World) -> Self {
        Self {
            workload: change.workload().map(|key| (key, world.workloads.get(key))),
            member: change.member().map(|name| (name, world.members.get(name))),
        }
    }
}

/// An observation that a bound does not allow.
pub(crate) struct Violation {
    pub(crate) subject: Subject,
    pub(crate) bound: Bound,
    pub(crate) because: String,
    pub(crate) at: Duration,
    /// The uncertainty of `at`.
    pub(crate) uncertainty: Uncertainty,
    /// The uncertainty of the moment from which the bound counts.
    /// It is `None` if that moment itself is not known.
    pub(crate) cause: Option<Uncertainty>,
    pub(crate) seen: String,
    pub(crate) witness: Option<ObjectVersion>,
    /// The beginning of the timeline, if it is earlier than the observation.
    pub(crate) since: Option<Duration>,
}

impl Violation {
    /// The violation of `bound` that `fact` shows for `subject`.
    pub(crate) fn by(fact: &Fact, subject: Subject, bound: Bound, because: String, seen: String) -> Self {
        let (at, uncertainty, witness) = (fact.at, fact.uncertainty, fact.witness.clone());
        Self { subject, bound, because, at, uncertainty, cause: None, seen, witness, since: None }
    }
}

impl<'a> JudgeContext<'a> {
    /// The state of a workload.
    pub(crate) fn workload(&self, key: &WorkloadKey) -> Option<&'a Workload> {
        match self.about.workload {
            Some((about, workload)) if about == key => workload,
            _ => self.world.workloads.get(key),
        }
    }

    /// The state of a member.
    pub(crate) fn member(&self, name: &str) -> Option<&'a Member> {
        match self.about.member {
            Some((about, member)) if about == name => member,
            _ => self.world.members.get(name),
        }
    }

    /// The timings of the profile.
    pub(crate) fn timings(&self) -> &'a Timings {
        &self.profile.timings
    }

    /// Records a violation, or an undecided case if the uncertainty is too large.
    pub(crate) fn report_violation(&mut self, violation: Violation) {
        let Violation { subject, bound, because, at, uncertainty, cause, seen, witness, since } = violation;
        let uncertainty = uncertainty.and(cause.unwrap_or_else(|| self.uncertainty_of(&subject)));
        if self.past_may_explain(at) {
            let because = format!("{because}; what was under way when the history began may explain it");
            return self.report_undecided(subject, bound, because, at);
        }
        let uncertainty = uncertainty.or(self.uncertainty_after_gap(at));
        let is_in_gap = self.world.observers.is_in_gap(CONTROL_PLANE, at);
        let may_join_changes = is_in_gap || self.has_missed_versions(&subject, at);
        if is_ambiguous(bound, at, uncertainty) || bound == Bound::Never && may_join_changes {
            return self.tally.record_undecided(Ambiguity::new(subject, bound, because, at, uncertainty));
        }
        let short_by = match bound {
            Bound::NotBefore(time) => Some(time.saturating_sub(at)),
            Bound::NotAfter(time) => Some(at.saturating_sub(time)),
            Bound::Never => None,
        };
        let timeline = self.log.about(&subject, since);
        let faults = self.world.faults.clone();
        self.tally.record_violation(Evidence {
            subject,
            since,
            bound,
            because,
            at,
            seen,
            witness,
            short_by,
            timeline,
            faults,
        });
    }

    /// Records an undecided case, whose uncertainty is not known.
    pub(crate) fn report_undecided(&mut self, subject: Subject, bound: Bound, because: String, at: Duration) {
        self.tally.record_undecided(Ambiguity::new(subject, bound, because, at, Uncertainty::UNKNOWN));
    }

    /// Checks something that arrived with `fact` against the `earliest` allowed time.
    /// It arrived `margin` before its latest allowed time. `describe` returns the reason for the lower bound and the
    /// observation.
    pub(crate) fn check_arrival(
        &mut self,
        subject: Subject,
        fact: &Fact,
        earliest: Duration,
        margin: Option<Margin>,
        describe: impl FnOnce() -> (String, String),
    ) {
        let (bound, uncertainty) =
            (Bound::NotBefore(earliest), fact.uncertainty.and(self.uncertainty_of(&subject)));
        if fact.at < earliest {
            let (because, seen) = describe();
            return self.report_violation(Violation::by(fact, subject, bound, because, seen));
        }
        if is_ambiguous(bound, fact.at, uncertainty) {
            let (because, _) = describe();
            return self.tally.record_undecided(Ambiguity::new(
                subject,
                bound,
                because,
                fact.at,
                uncertainty,
            ));
        }
        let late = fact.at.saturating_sub(earliest).saturating_sub(uncertainty.early);
        let margin = margin.map_or(late.into(), |margin| margin.or_less(late));
        self.tally.record_held_by(margin.with_earliest(earliest, subject, fact.at));
    }

    /// Returns true if the history lacks versions of the record just before the version at `at`.
    /// The version at `at` may show several changes.
    pub(crate) fn has_missed_versions(&self, subject: &Subject, at: Duration) -> bool {
        let workload = subject.workload.as_ref().and_then(|key| self.workload(key));
        workload.is_some_and(|workload| workload.missed == Some(at))
    }

    /// Returns how much earlier the cause of a lower bound may have been.
    /// The control plane may not have been observed for a while, and the cause may be an observation after that.
    fn uncertainty_after_gap(&self, at: Duration) -> Uncertainty {
        let from = at.saturating_sub(bounds::longest_under_way(self.timings()));
        let gaps = self.world.observers.gaps(CONTROL_PLANE).filter(|gap| gap.end >= from);
        let late = gaps.map(|gap| gap.silence).max().unwrap_or_default();
        Uncertainty { early: Duration::ZERO, late }
    }

    /// Returns true if something that was under way before the history began may explain an observation.
    fn past_may_explain(&self, at: Duration) -> bool {
        let began = self.world.unknown_past;
        began.is_some_and(|began| at <= began + bounds::longest_under_way(self.timings()))
    }

    /// Returns the uncertainty of moments that concern `subject`.
    /// It depends on the observed clusters that report the moments.
    pub(crate) fn uncertainty_of(&self, subject: &Subject) -> Uncertainty {
        let observers = &self.world.observers;
        let member = subject.member.as_ref().map(|name| observers.of(name)).unwrap_or_default();
        observers.of(CONTROL_PLANE).or(member).wider(self.stamp_error)
    }

    /// The longest time by which facts may be out of order.
    /// A fact that excuses another one may come so much later.
    pub(crate) fn disorder(&self) -> Duration {
        self.timings().skew.max(self.world.observers.widest().early)
    }

    /// The latest version of the record for `subject`.
    pub(crate) fn latest_version_of(&self, subject: &Subject) -> Option<ObjectVersion> {
        match (&subject.workload, &subject.member) {
            (Some(workload), _) => self.world.workloads.get(workload)?.record.clone(),
            (None, Some(member)) => self.world.members.get(member)?.record.clone(),
            (None, None) => None,
        }
    }

    /// Returns true if controllers may not observe or act as usual.
    /// The cause is a fault of the control plane that is in force or that ended recently.
    pub(crate) fn controllers_are_hindered(&self, now: Duration) -> bool {
        self.controllers_are_away() || self.world.is_hindered(now)
    }

    /// Returns true if a person acted so recently that a change at `at` may be the act.
    pub(crate) fn may_be_by_a_person(&self, at: Duration) -> bool {
        let acted = self.world.acted;
        !acted.is_zero() && at <= acted.saturating_add(self.timings().latency)
    }

    /// A controller that acts at `now` has surely observed every change before the returned time.
    ///
    /// Controllers that return observe the changes of their absence during the takeover. An absence may begin during the takeover
    /// after an earlier one. Both then count as one absence.
    pub(crate) fn latest_surely_observed(&self, now: Duration) -> Duration {
        let Timings { latency, takeover, .. } = *self.timings();
        let usual = now.saturating_sub(latency);
        let running = if self.world.is_hindered(now) { usual.min(self.world.blind_since) } else { usual };
        let (mut acts, mut observed) = (now, running);
        for (since, back) in self.world.absences.iter().rev() {
            if acts > back.saturating_add(takeover).saturating_add(latency) {
                break;
            }
            acts = acts.min(*since);
            observed = observed.min(since.saturating_sub(latency));
        }
        observed
    }

    /// Returns true if a controller that acts at `now` may not have observed what happened at `change`.
    pub(crate) fn may_have_missed(&self, change: Duration, now: Duration) -> bool {
        change >= self.latest_surely_observed(now)
    }

    /// Returns true if a fault of the control plane is in force, so that its controllers may not act.
    pub(crate) fn controllers_are_away(&self) -> bool {
        self.world.faults.iter().any(|fault| fault.member.is_none() && !fault.is_of_a_clock())
    }
}

/// Reports an observation that is not allowed at any time.
pub(crate) fn report_never_allowed(
    subject: Subject,
    fact: &Fact,
    because: &str,
    seen: String,
    context: &mut JudgeContext<'_>,
) {
    context.report_violation(Violation::by(fact, subject, Bound::Never, because.to_owned(), seen));
}

/// Returns true if an observation at `at`, within `uncertainty`, may lie on the other side of `bound`.
fn is_ambiguous(bound: Bound, at: Duration, uncertainty: Uncertainty) -> bool {
    match bound {
        Bound::NotBefore(time) => {
            at < time && at.saturating_add(uncertainty.late) >= time
                || at >= time && at.saturating_sub(uncertainty.early) < time
        }
        Bound::NotAfter(time) => {
            at > time && at.saturating_sub(uncertainty.early) <= time
                || at <= time && at.saturating_add(uncertainty.late) > time
        }
        Bound::Never => false,
    }
}

impl Subject {
    /// Creates a subject for a member.
    pub(crate) fn member(name: &str) -> Self {
        Self { workload: None, member: Some(name.to_owned()) }
    }

    /// Creates a subject for a workload.
    pub(crate) fn workload(key: &capsize_history::facts::WorkloadKey) -> Self {
        Self { workload: Some(key.clone()), member: None }
    }

    /// Creates a subject for a workload on a member.
    pub(crate) fn on(workload: &capsize_history::facts::WorkloadKey, member: &str) -> Self {
        Self { workload: Some(workload.clone()), member: Some(member.to_owned()) }
    }

    /// Returns true if the subject is the member called `name`, or a workload on it.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.member.as_deref() == Some(name)
    }

    /// Returns true if the subject is this workload, on any member.
    pub(crate) fn is_of(&self, key: &capsize_history::facts::WorkloadKey) -> bool {
        self.workload.as_ref() == Some(key)
    }
}
