//! What a guarantee sees and writes to: the state, the promises, its account.
//!
//! What is seen is seen at about a time. So a bound is broken only where all of the interval is beyond it, and kept only
//! where all of it is within; else it is undecided.

use std::time::Duration;

use super::bounds;
pub(crate) use super::deadlines::{Deadlines, Expectation, Margin};
use super::log::Log;
use super::tally::Tally;
use crate::guarantee::{Ambiguity, Bound, Evidence, GuaranteeSpec, Subject};
use crate::profile::{Profile, Timings};
pub(crate) use capsize_history::facts::Topics;
use capsize_history::facts::{
    Change, Fact, Member, ObjectVersion, Uncertainty, Workload, WorkloadKey, World,
};
use capsize_history::{CONTROL_PLANE, FOREVER};

/// A state machine over facts.
pub(crate) trait Guarantee: Send {
    /// What it says about itself.
    fn spec(&self) -> &'static GuaranteeSpec;

    /// What the facts are about that it looks at; it is told of no others.
    fn topics(&self) -> Topics;

    /// Whether what it judges follows from stamps of the control plane, and so from how its clock is set. What controllers time by
    /// themselves does not.
    fn counts_from_stamps(&self) -> bool {
        false
    }

    /// What it waits for, if it waits for anything. That is told by itself when controllers are back.
    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        None
    }

    /// Takes the next fact; the context's world is the one after it.
    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>);

    /// Until then time may pass without its being told. It is asked after every fact that it was told.
    fn due(&mut self) -> Duration {
        self.deadlines().map_or(NEVER, |deadlines| deadlines.due())
    }

    /// Time has come to `now`, and nothing has happened since the last fact.
    fn pass(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        if let Some(deadlines) = self.deadlines() {
            deadlines.pass(now, context);
        }
    }
}

/// A time that does not come.
pub(crate) const NEVER: Duration = FOREVER;

/// The topics of these names.
macro_rules! topics {
    ($($name:ident),*) => {
        capsize_history::facts::Topics::of(&[$(capsize_history::facts::Topic::$name),*])
    };
}
pub(crate) use topics;

/// What a guarantee is given.
pub(crate) struct JudgeContext<'a> {
    pub(crate) world: &'a World,
    /// How far what follows from stamps may be off, for a guarantee that counts from them.
    pub(crate) stamps_off: Duration,
    pub(crate) profile: &'a Profile,
    pub(crate) log: &'a Log,
    pub(crate) tally: &'a mut Tally,
    pub(crate) about: About<'a>,
}

/// The workload and the member that a fact is about, which nearly everyone looks for.
#[derive(Clone, Copy, Default)]
pub(crate) struct About<'a> {
    workload: Option<(&'a WorkloadKey, Option<&'a Workload>)>,
    member: Option<(&'a str, Option<&'a Member>)>,
}

impl<'a> About<'a> {
    /// What `world` knows of them.
    pub(crate) fn of(change: &'a Change, world: &'a World) -> Self {
        Self {
            workload: change.workload().map(|key| (key, world.workloads.get(key))),
            member: change.member().map(|name| (name, world.members.get(name))),
        }
    }
}

/// What was seen, and what would have been allowed.
pub(crate) struct Violation {
    pub(crate) subject: Subject,
    pub(crate) bound: Bound,
    pub(crate) because: String,
    pub(crate) at: Duration,
    /// How exactly that is known.
    pub(crate) uncertainty: Uncertainty,
    /// How exactly the moment is known from which the bound counts; absent where it is not known which that is.
    pub(crate) cause: Option<Uncertainty>,
    pub(crate) seen: String,
    pub(crate) witness: Option<ObjectVersion>,
    /// What it was that began the matter, where that is not just what was seen.
    pub(crate) since: Option<Duration>,
}

impl Violation {
    /// What `fact` shows of `subject`, against `bound`.
    pub(crate) fn by(fact: &Fact, subject: Subject, bound: Bound, because: String, seen: String) -> Self {
        let (at, uncertainty, witness) = (fact.at, fact.uncertainty, fact.witness.clone());
        Self { subject, bound, because, at, uncertainty, cause: None, seen, witness, since: None }
    }
}

impl<'a> JudgeContext<'a> {
    /// What is known of a workload.
    pub(crate) fn workload(&self, key: &WorkloadKey) -> Option<&'a Workload> {
        match self.about.workload {
            Some((about, workload)) if about == key => workload,
            _ => self.world.workloads.get(key),
        }
    }

    /// What is known of a member.
    pub(crate) fn member(&self, name: &str) -> Option<&'a Member> {
        match self.about.member {
            Some((about, member)) if about == name => member,
            _ => self.world.members.get(name),
        }
    }

    /// The times promised.
    pub(crate) fn timings(&self) -> &'a Timings {
        &self.profile.timings
    }

    /// It did not hold; undecided where that is not sure.
    pub(crate) fn report_violation(&mut self, violation: Violation) {
        let Violation { subject, bound, because, at, uncertainty, cause, seen, witness, since } = violation;
        let uncertainty = uncertainty.and(cause.unwrap_or_else(|| self.uncertainty_of(&subject)));
        if self.past_may_explain(at) {
            let because = format!("{because}; what was under way when the history began may explain it");
            return self.tally.record_undecided(Ambiguity {
                subject,
                bound,
                because,
                at,
                uncertainty: Uncertainty::UNKNOWN,
            });
        }
        if is_ambiguous(bound, at, uncertainty) {
            return self.tally.record_undecided(Ambiguity { subject, bound, because, at, uncertainty });
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

    /// It came with `fact`, `margin` before the latest time for it: in time, unless that is before `earliest`. Then
    /// `describe` says why it should have been later, and what was seen.
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
            return self.tally.record_undecided(Ambiguity {
                subject,
                bound,
                because,
                at: fact.at,
                uncertainty,
            });
        }
        let late = fact.at.saturating_sub(earliest).saturating_sub(uncertainty.early);
        self.tally.record_held_by(margin.map_or(late.into(), |margin| margin.or_less(late)));
    }

    /// Whether something may be the work of what was under way before the history began.
    fn past_may_explain(&self, at: Duration) -> bool {
        let began = self.world.unknown_past;
        began.is_some_and(|began| at <= began + bounds::longest_under_way(self.timings()))
    }

    /// How exactly moments are known of what happens to `subject`: as those that tell of it are observed.
    pub(crate) fn uncertainty_of(&self, subject: &Subject) -> Uncertainty {
        let observers = &self.world.observers;
        let member = subject.member.as_ref().map(|name| observers.of(name)).unwrap_or_default();
        observers.of(CONTROL_PLANE).or(member).wider(self.stamps_off)
    }

    /// How far facts may be out of order: one that excuses another may come so much later.
    pub(crate) fn disorder(&self) -> Duration {
        self.timings().skew.max(self.world.observers.widest().early)
    }

    /// The latest version of the record of `subject`.
    pub(crate) fn record(&self, subject: &Subject) -> Option<ObjectVersion> {
        match (&subject.workload, &subject.member) {
            (Some(workload), _) => self.world.workloads.get(workload)?.record.clone(),
            (None, Some(member)) => self.world.members.get(member)?.record.clone(),
            (None, None) => None,
        }
    }

    /// Whether controllers may not see or do what they should, for faults of the control plane itself that are in force or
    /// were not long ago.
    pub(crate) fn controllers_are_hindered(&self, now: Duration) -> bool {
        self.controllers_are_away() || self.world.is_hindered(now)
    }

    /// What has changed since then may not have been seen by who acts `now`.
    pub(crate) fn latest_surely_observed(&self, now: Duration) -> Duration {
        let usual = now.saturating_sub(self.timings().latency);
        if self.world.is_hindered(now) { usual.min(self.world.blind_since) } else { usual }
    }

    /// Whether a fault of the control plane itself is in force: its controllers may not act.
    pub(crate) fn controllers_are_away(&self) -> bool {
        self.world.faults.iter().any(|fault| fault.member.is_none() && !fault.is_of_a_clock())
    }
}

/// Whether what was seen at `at`, within `uncertainty`, may as well be on the other side of `bound`.
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
    /// A member.
    pub(crate) fn member(name: &str) -> Self {
        Self { workload: None, member: Some(name.to_owned()) }
    }

    /// A workload.
    pub(crate) fn workload(key: &capsize_history::facts::WorkloadKey) -> Self {
        Self { workload: Some(key.clone()), member: None }
    }

    /// A workload on a member.
    pub(crate) fn on(workload: &capsize_history::facts::WorkloadKey, member: &str) -> Self {
        Self { workload: Some(workload.clone()), member: Some(member.to_owned()) }
    }

    /// Whether it is about the member called `name`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.member.as_deref() == Some(name)
    }

    /// Whether it is about this workload.
    pub(crate) fn is_of(&self, key: &capsize_history::facts::WorkloadKey) -> bool {
        self.workload.as_ref() == Some(key)
    }
}
