//! Keeps open deadlines, and computes the margin when something arrives.
//!
//! A history may end before a deadline. Such a deadline counts neither as held nor as undecided.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds;
use super::context::{JudgeContext, NEVER, Violation};
use super::unmarked_causes::report_if_faults_are_marked;
use crate::guarantee::{Ambiguity, Bound, Subject, Window};
use capsize_history::facts::{Change, Fact, Uncertainty, WorkloadKey};

/// One open deadline.
#[derive(Debug)]
struct Deadline {
    since: Duration,
    /// The uncertainty of `since`.
    uncertainty: Uncertainty,
    until: Duration,
    /// The time that is allowed again from the moment when controllers return after an absence.
    allowed: Duration,
    because: String,
    observed: String,
}

/// All open deadlines, by subject.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    deadlines: BTreeMap<Subject, Deadline>,
    /// A lower bound of all deadlines.
    next: Duration,
    /// The time until which controllers may not have begun to act, because of faults of the control plane.
    hindered: Duration,
}

/// The words of the report if a deadline passes.
pub(crate) struct Expectation {
    /// The reason for the deadline.
    pub(crate) because: String,
    /// The state that is observed instead.
    pub(crate) observed: String,
}

/// The time that was left when something arrived.
#[derive(Debug, Default)]
pub(crate) struct Margin {
    pub(crate) time: Duration,
    /// The reason if it is undecided whether the deadline was met.
    pub(crate) ambiguity: Option<Box<Ambiguity>>,
    /// The deadline with the time at which it was met, if there was one.
    pub(crate) window: Option<Box<Window>>,
}

impl From<Duration> for Margin {
    fn from(time: Duration) -> Self {
        Self { time, ambiguity: None, window: None }
    }
}

impl Margin {
    /// Returns the smaller distance, if `other` is the distance to another bound.
    pub(crate) fn or_less(self, other: Duration) -> Self {
        Self { time: self.time.min(other), ..self }
    }

    /// Notes the earliest allowed time in the judged time of `subject`, which was met at `at`.
    pub(crate) fn with_earliest(mut self, earliest: Duration, subject: Subject, at: Duration) -> Self {
        let window = self.window.get_or_insert_with(|| Box::new(Window::held(subject, at)));
        window.earliest = Some(earliest);
        self
    }
}

impl Deadlines {
    /// Opens a deadline `allowed` after the time of `fact`.
    /// A deadline that is already open for `subject` stays.
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

    /// Opens a deadline at `until`, and replaces an open one.
    /// If controllers go away, the deadline moves to `allowed` after their return.
    pub(crate) fn restart(
        &mut self,
        subject: Subject,
        fact: &Fact,
        until: Duration,
        allowed: Duration,
        expectation: Expectation,
    ) {
        let Expectation { because, observed } = expectation;
        let late = if fact.at < self.hindered { self.hindered + allowed } else { until };
        let until = until.max(late);
        self.next = if self.deadlines.is_empty() { until } else { self.next.min(until) };
        let deadline =
            Deadline { since: fact.at, uncertainty: fact.uncertainty, until, allowed, because, observed };
        self.deadlines.insert(subject, deadline);
    }

    /// Removes the deadline of `subject`.
    pub(crate) fn cancel(&mut self, subject: &Subject) {
        self.deadlines.remove(subject);
    }

    /// Removes all deadlines that `which` selects. It looks at every deadline.
    pub(crate) fn cancel_all(&mut self, mut which: impl FnMut(&Subject) -> bool) {
        self.deadlines.retain(|subject, _| !which(subject));
    }

    /// Removes the deadlines for a workload that `which` selects.
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

    /// Closes the deadline of `subject` with `fact`, and returns its margin.
    /// Returns `None` if no deadline was open.
    pub(crate) fn close_as_met(&mut self, subject: &Subject, fact: &Fact) -> Option<Margin> {
        let (subject, deadline) = self.deadlines.remove_entry(subject)?;
        let Deadline { since, uncertainty, until, because, .. } = deadline;
        let (latest, earliest_end) =
            (fact.at.saturating_add(fact.uncertainty.late), until.saturating_sub(uncertainty.early));
        let ambiguity = || {
            Ambiguity::new(
                subject.clone(),
                Bound::NotAfter(until),
                because,
                fact.at,
                fact.uncertainty.and(uncertainty),
            )
        };
        Some(Margin {
            time: earliest_end.saturating_sub(latest),
            ambiguity: (latest > earliest_end).then(|| Box::new(ambiguity())),
            window: Some(Box::new(Window {
                since: Some(since),
                latest: Some(until),
                ..Window::held(subject, fact.at)
            })),
        })
    }

    /// Opens a deadline for the correction of what is `wrong` with `subject`.
    /// If nothing is wrong, closes the open deadline as met.
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
                if let Some(margin) = self.close_as_met(&subject, fact) {
                    context.tally.record_held_by(margin);
                }
            }
        }
    }

    /// Returns the wrong state that the open deadline of `subject` reports; `None` if none is open.
    pub(crate) fn observed(&self, subject: &Subject) -> Option<&str> {
        self.deadlines.get(subject).map(|deadline| deadline.observed.as_str())
    }

    /// Moves the open deadline of `subject` to a later time, by `length`.
    pub(crate) fn postpone(&mut self, subject: &Subject, length: Duration) {
        if let Some(deadline) = self.deadlines.get_mut(subject) {
            deadline.until = deadline.until.saturating_add(length);
        }
    }

    /// Returns true if a deadline is open for `subject`.
    pub(crate) fn has(&self, subject: &Subject) -> bool {
        self.deadlines.contains_key(subject)
    }

    /// Returns the workloads for which a deadline is open.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = &WorkloadKey> {
        self.deadlines.keys().filter_map(|subject| subject.workload.as_ref())
    }

    /// Returns the time before which no deadline passes.
    pub(crate) fn due(&self) -> Duration {
        if self.deadlines.is_empty() { NEVER } else { self.next }
    }

    /// Extends all deadlines at the end of a fault of the control plane.
    /// Must be called for every such end. While requests fail, each change causes a retry that fails again, and each
    /// failure doubles the back-off. After such a fault, deadlines are extended by the longest back-off.
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

    /// Advances to `now`, and reports every deadline that has passed.
    /// It allows for observations that are late.
    pub(crate) fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
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
            let Deadline { since, uncertainty, until, because, observed, .. } = deadline;
            let (bound, witness, cause) =
                (Bound::NotAfter(until), context.latest_version_of(&subject), Some(uncertainty));
            let uncertainty = context.uncertainty_of(&subject);
            let since = Some(since);
            let violation = Violation {
                subject,
                bound,
                because,
                at: now,
                uncertainty,
                cause,
                seen: observed,
                witness,
                since,
            };
            report_if_faults_are_marked(violation, context);
        }
    }
}
