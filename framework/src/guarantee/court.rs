//! What a guarantee sees and writes to: the state, the promises, its account, and waits for what must come.

use std::collections::BTreeMap;
use std::time::Duration;

use super::book::Book;
use super::log::Log;
use super::{Bound, Evidence, Rule, Subject};
use crate::facts::{Fact, News, ObjectVersion, World};
use crate::target::{Profile, Timings};

/// A state machine over facts.
pub(super) trait Guarantee: Send {
    /// What it says about itself.
    fn rule(&self) -> &'static Rule;

    /// Takes the next fact; the court's world is the one after it.
    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>);

    /// Time has come to `now`, and nothing has happened since the last fact.
    fn pass(&mut self, _now: Duration, _court: &mut Court<'_>) {}
}

/// What a guarantee is given.
pub(super) struct Court<'a> {
    pub(super) world: &'a World,
    pub(super) profile: &'a Profile,
    pub(super) log: &'a Log,
    pub(super) book: &'a mut Book,
}

/// What was seen, and what would have been allowed.
pub(super) struct Charge {
    pub(super) subject: Subject,
    pub(super) bound: Bound,
    pub(super) because: String,
    pub(super) at: Duration,
    pub(super) seen: String,
    pub(super) witness: Option<ObjectVersion>,
    /// What it was that began the matter, where that is not just what was seen.
    pub(super) since: Option<Duration>,
}

impl Charge {
    /// What `fact` shows of `subject`, against `bound`.
    pub(super) fn by(fact: &Fact, subject: Subject, bound: Bound, because: String, seen: String) -> Self {
        Self { subject, bound, because, at: fact.at, seen, witness: fact.witness.clone(), since: None }
    }
}

impl<'a> Court<'a> {
    /// The times promised.
    pub(super) fn timings(&self) -> &'a Timings {
        &self.profile.timings
    }

    /// It did not hold.
    pub(super) fn violated(&mut self, charge: Charge) {
        let Charge { subject, bound, because, at, seen, witness, since } = charge;
        let short_by = match bound {
            Bound::NotBefore(time) => Some(time.saturating_sub(at)),
            Bound::NotAfter(time) => Some(at.saturating_sub(time)),
            Bound::Never => None,
        };
        let timeline = self.log.about(&subject, since);
        let faults = self.world.faults.clone();
        self.book.violated(Evidence {
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

    /// It came with `fact`, `left` before the latest time for it: in time, unless that is before `earliest`. Then
    /// `told` says why it should have been later, and what was seen.
    pub(super) fn came(
        &mut self,
        subject: Subject,
        fact: &Fact,
        earliest: Duration,
        left: Option<Duration>,
        told: impl FnOnce() -> (String, String),
    ) {
        if fact.at < earliest {
            let (because, seen) = told();
            return self.violated(Charge::by(fact, subject, Bound::NotBefore(earliest), because, seen));
        }
        let late = fact.at.saturating_sub(earliest);
        self.book.held_by(left.map_or(late, |left| left.min(late)));
    }

    /// The latest version of the record of `subject`.
    fn record(&self, subject: &Subject) -> Option<ObjectVersion> {
        match (&subject.workload, &subject.member) {
            (Some(workload), _) => self.world.workloads.get(workload)?.record.clone(),
            (None, Some(member)) => self.world.members.get(member)?.record.clone(),
            (None, None) => None,
        }
    }

    /// Whether a fault of the control plane itself is in force: its controllers may not act.
    pub(super) fn controllers_are_away(&self) -> bool {
        self.world.faults.iter().any(|fault| fault.member.is_none())
    }
}

/// Something that must come within a time.
#[derive(Debug)]
struct Wait {
    since: Duration,
    until: Duration,
    /// Anew from the moment when controllers are back after having been away.
    allowed: Duration,
    because: String,
    missing: String,
}

/// What must come, by whom it must come for.
#[derive(Debug, Default)]
pub(super) struct Waits(BTreeMap<Subject, Wait>);

/// What to say if it does not come.
pub(super) struct Reason {
    /// Why it must.
    pub(super) because: String,
    /// What is there instead.
    pub(super) missing: String,
}

impl Waits {
    /// From the time of `fact`, it must come within `allowed`. A wait already there goes on.
    pub(super) fn start(&mut self, subject: Subject, fact: &Fact, allowed: Duration, reason: Reason) {
        if !self.0.contains_key(&subject) {
            self.restart(subject, fact, fact.at + allowed, allowed, reason);
        }
    }

    /// It must come until `until`; or, should controllers go away, `allowed` after they are back.
    pub(super) fn restart(
        &mut self,
        subject: Subject,
        fact: &Fact,
        until: Duration,
        allowed: Duration,
        reason: Reason,
    ) {
        let Reason { because, missing } = reason;
        self.0.insert(subject, Wait { since: fact.at, until, allowed, because, missing });
    }

    /// It need not come any more.
    pub(super) fn cancel(&mut self, subject: &Subject) {
        self.0.remove(subject);
    }

    /// No wait of those that `which` picks needs to end any more.
    pub(super) fn cancel_all(&mut self, which: impl Fn(&Subject) -> bool) {
        self.0.retain(|subject, _| !which(subject));
    }

    /// It came at `at`. Answers with the time that was left; `None` where nothing was waited for.
    pub(super) fn met(&mut self, subject: &Subject, at: Duration) -> Option<Duration> {
        self.0.remove(subject).map(|wait| wait.until.saturating_sub(at))
    }

    /// Whether it is waited for.
    pub(super) fn has(&self, subject: &Subject) -> bool {
        self.0.contains_key(subject)
    }

    /// To be told every fact: when controllers are back, waits begin anew.
    pub(super) fn observe(&mut self, fact: &Fact, court: &Court<'_>) {
        if matches!(&fact.news, News::FaultEnded { member: None, .. }) {
            for wait in self.0.values_mut() {
                wait.until = wait.until.max(fact.at + court.timings().takeover + wait.allowed);
            }
        }
    }

    /// Time has come to `now`: what should have come before has not.
    pub(super) fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        if court.controllers_are_away() || self.0.values().all(|wait| now <= wait.until) {
            return;
        }
        let (over, waiting) = std::mem::take(&mut self.0).into_iter().partition(|(_, wait)| now > wait.until);
        self.0 = waiting;
        let over: BTreeMap<Subject, Wait> = over;
        for (subject, wait) in over {
            let Wait { since, until, because, missing, .. } = wait;
            let (bound, witness, since) = (Bound::NotAfter(until), court.record(&subject), Some(since));
            court.violated(Charge { subject, bound, because, at: now, seen: missing, witness, since });
        }
    }
}

impl Subject {
    /// A member.
    pub(super) fn member(name: &str) -> Self {
        Self { workload: None, member: Some(name.to_owned()) }
    }

    /// A workload on a member.
    pub(super) fn on(workload: &crate::facts::WorkloadKey, member: &str) -> Self {
        Self { workload: Some(workload.clone()), member: Some(member.to_owned()) }
    }

    /// Whether it is about the member called `name`.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.member.as_deref() == Some(name)
    }

    /// Whether it is about this workload.
    pub(super) fn is_of(&self, key: &crate::facts::WorkloadKey) -> bool {
        self.workload.as_ref() == Some(key)
    }
}
