//! What must come within a time, and what is left of the time when it comes.
//!
//! A history may end before what is waited for is due: such a wait counts for nothing, neither as held nor as undecided.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds;
use super::context::{JudgeContext, NEVER, Violation};
use crate::guarantee::{Ambiguity, Bound, Subject};
use capsize_history::facts::{Change, Fact, Uncertainty, WorkloadKey};

/// Something that must come within a time.
#[derive(Debug)]
struct Deadline {
    since: Duration,
    /// How exactly that is known.
    uncertainty: Uncertainty,
    until: Duration,
    /// Anew from the moment when controllers are back after having been away.
    allowed: Duration,
    because: String,
    missing: String,
}

/// What must come, by whom it must come for.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    deadlines: BTreeMap<Subject, Deadline>,
    /// No wait is over before.
    next: Duration,
    /// Until when whoever is waited for may not have begun, for faults of the control plane itself.
    hindered: Duration,
}

/// What to say if it does not come.
pub(crate) struct Expectation {
    /// Why it must.
    pub(crate) because: String,
    /// What is there instead.
    pub(crate) missing: String,
}

/// What was left of the time when something came.
#[derive(Debug, Default)]
pub(crate) struct Margin {
    pub(crate) time: Duration,
    /// Why nobody can tell whether it came in time, if that is so.
    pub(crate) ambiguity: Option<Box<Ambiguity>>,
}

impl From<Duration> for Margin {
    fn from(time: Duration) -> Self {
        Self { time, ambiguity: None }
    }
}

impl Margin {
    /// The same, where `other` is another distance to a bound.
    pub(crate) fn or_less(self, other: Duration) -> Self {
        Self { time: self.time.min(other), ..self }
    }
}

impl Deadlines {
    /// From the time of `fact`, it must come within `allowed`. A wait already there goes on.
    pub(crate) fn start(
        &mut self,
        subject: Subject,
        fact: &Fact,
        allowed: Duration,
        expectation: Expectation,
    ) {
        if !self.deadlines.contains_key(&subject) {
            self.restart(subject, fact, fact.at + allowed, allowed, expectation);
        }
    }

    /// It must come until `until`; or, should controllers go away, `allowed` after they are back.
    pub(crate) fn restart(
        &mut self,
        subject: Subject,
        fact: &Fact,
        until: Duration,
        allowed: Duration,
        expectation: Expectation,
    ) {
        let Expectation { because, missing } = expectation;
        let late = if fact.at < self.hindered { self.hindered + allowed } else { until };
        let until = until.max(late);
        self.next = if self.deadlines.is_empty() { until } else { self.next.min(until) };
        let deadline =
            Deadline { since: fact.at, uncertainty: fact.uncertainty, until, allowed, because, missing };
        self.deadlines.insert(subject, deadline);
    }

    /// It need not come any more.
    pub(crate) fn cancel(&mut self, subject: &Subject) {
        self.deadlines.remove(subject);
    }

    /// No wait of those that `which` picks needs to end any more. It looks at every wait.
    pub(crate) fn cancel_all(&mut self, mut which: impl FnMut(&Subject) -> bool) {
        self.deadlines.retain(|subject, _| !which(subject));
    }

    /// Nothing need come any more of those for a workload that `which` picks.
    pub(crate) fn cancel_of(&mut self, key: &WorkloadKey, which: impl Fn(&Subject) -> bool) {
        if self.deadlines.is_empty() {
            return;
        }
        let first = Subject { workload: Some(key.clone()), member: None };
        let of_key = self.deadlines.range(first..).take_while(|(subject, _)| subject.is_of(key));
        let over: Vec<_> =
            of_key.map(|(subject, _)| subject).filter(|subject| which(subject)).cloned().collect();
        for subject in over {
            self.deadlines.remove(&subject);
        }
    }

    /// It came with `fact`. Answers with the time that was left; `None` where nothing was waited for.
    pub(crate) fn met(&mut self, subject: &Subject, fact: &Fact) -> Option<Margin> {
        let Deadline { uncertainty, until, because, .. } = self.deadlines.remove(subject)?;
        let (latest, earliest_end) =
            (fact.at.saturating_add(fact.uncertainty.late), until.saturating_sub(uncertainty.early));
        let ambiguity = || Ambiguity {
            subject: subject.clone(),
            bound: Bound::NotAfter(until),
            because,
            at: fact.at,
            uncertainty: fact.uncertainty.and(uncertainty),
        };
        Some(Margin {
            time: earliest_end.saturating_sub(latest),
            ambiguity: (latest > earliest_end).then(|| Box::new(ambiguity())),
        })
    }

    /// What is `wrong` with `subject` must heal within `allowed`; where nothing is, a wait that there was is over.
    pub(crate) fn expect_correction(
        &mut self,
        subject: Subject,
        fact: &Fact,
        allowed: Duration,
        wrong: Option<Expectation>,
        context: &mut JudgeContext<'_>,
    ) {
        match wrong {
            Some(expectation) => self.start(subject, fact, allowed, expectation),
            None => {
                if let Some(margin) = self.met(&subject, fact) {
                    context.tally.record_held_by(margin);
                }
            }
        }
    }

    /// Whether it is waited for.
    pub(crate) fn has(&self, subject: &Subject) -> bool {
        self.deadlines.contains_key(subject)
    }

    /// Nothing is over before that.
    pub(crate) fn due(&self) -> Duration {
        if self.deadlines.is_empty() { NEVER } else { self.next }
    }

    /// To be told every end of a fault of the control plane: when controllers are back, or no longer hindered, waits begin anew.
    /// While requests fail, each change makes somebody try again and fail again, and each failure doubles the time until the next
    /// try: what is waited for then may come as late as that can grow.
    pub(crate) fn observe(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        if let Change::FaultEnded { fault, member: None } = &fact.change {
            self.hindered = fact.at.max(context.world.hindered) + context.timings().takeover;
            let retried =
                if fault.fails_requests() { fact.at + bounds::LONGEST_BACK_OFF } else { Duration::ZERO };
            for deadline in self.deadlines.values_mut() {
                deadline.until = deadline.until.max(self.hindered.max(retried) + deadline.allowed);
            }
        }
    }

    /// Time has come to `now`: what should have come before has not, even if it were yet to be told.
    pub(crate) fn pass(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        if now <= self.next || self.deadlines.is_empty() || context.controllers_are_away() {
            return;
        }
        let observable_until = |subject: &Subject, deadline: &Deadline| {
            deadline
                .until
                .saturating_add(deadline.uncertainty.late)
                .saturating_add(context.uncertainty_of(subject).early)
        };
        let over =
            self.deadlines.extract_if(.., |subject, deadline| now > observable_until(subject, deadline));
        let over: Vec<(Subject, Deadline)> = over.collect();
        self.next = self
            .deadlines
            .iter()
            .map(|(subject, deadline)| observable_until(subject, deadline))
            .min()
            .unwrap_or(now);
        for (subject, deadline) in over {
            let Deadline { since, uncertainty, until, because, missing, .. } = deadline;
            let (bound, witness, cause) =
                (Bound::NotAfter(until), context.record(&subject), Some(uncertainty));
            let uncertainty = context.uncertainty_of(&subject);
            if !context.world.faults_are_marked {
                // Whoever should have done it may have been down.
                let because = format!("{because}; the history marks no faults");
                let ambiguity =
                    Ambiguity { subject, bound, because, at: now, uncertainty: Uncertainty::UNKNOWN };
                context.tally.record_undecided(ambiguity);
                continue;
            }
            let since = Some(since);
            context.report_violation(Violation {
                subject,
                bound,
                because,
                at: now,
                uncertainty,
                cause,
                seen: missing,
                witness,
                since,
            });
        }
    }
}
