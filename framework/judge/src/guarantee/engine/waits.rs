//! What must come within a time, and what is left of the time when it comes.
//!
//! A history may end before what is waited for is due: such a wait counts for nothing, neither as held nor as undecided.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds;
use super::court::{Charge, Court, NEVER};
use crate::guarantee::{Bound, Doubt, Subject};
use capsize_history::facts::{Fact, News, Width, WorkloadKey};

/// Something that must come within a time.
#[derive(Debug)]
struct Wait {
    since: Duration,
    /// How exactly that is known.
    width: Width,
    until: Duration,
    /// Anew from the moment when controllers are back after having been away.
    allowed: Duration,
    because: String,
    missing: String,
}

/// What must come, by whom it must come for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    waits: BTreeMap<Subject, Wait>,
    /// No wait is over before.
    next: Duration,
    /// Until when whoever is waited for may not have begun, for faults of the control plane itself.
    hindered: Duration,
}

/// What to say if it does not come.
pub(crate) struct Reason {
    /// Why it must.
    pub(crate) because: String,
    /// What is there instead.
    pub(crate) missing: String,
}

/// What was left of the time when something came.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) margin: Duration,
    /// Why nobody can tell whether it came in time, if that is so.
    pub(crate) doubt: Option<Box<Doubt>>,
}

impl From<Duration> for Left {
    fn from(margin: Duration) -> Self {
        Self { margin, doubt: None }
    }
}

impl Left {
    /// The same, where `other` is another distance to a bound.
    pub(crate) fn or_less(self, other: Duration) -> Self {
        Self { margin: self.margin.min(other), ..self }
    }
}

impl Waits {
    /// From the time of `fact`, it must come within `allowed`. A wait already there goes on.
    pub(crate) fn start(&mut self, subject: Subject, fact: &Fact, allowed: Duration, reason: Reason) {
        if !self.waits.contains_key(&subject) {
            self.restart(subject, fact, fact.at + allowed, allowed, reason);
        }
    }

    /// It must come until `until`; or, should controllers go away, `allowed` after they are back.
    pub(crate) fn restart(
        &mut self,
        subject: Subject,
        fact: &Fact,
        until: Duration,
        allowed: Duration,
        reason: Reason,
    ) {
        let Reason { because, missing } = reason;
        let late = if fact.at < self.hindered { self.hindered + allowed } else { until };
        let until = until.max(late);
        self.next = if self.waits.is_empty() { until } else { self.next.min(until) };
        let wait = Wait { since: fact.at, width: fact.width, until, allowed, because, missing };
        self.waits.insert(subject, wait);
    }

    /// It need not come any more.
    pub(crate) fn cancel(&mut self, subject: &Subject) {
        self.waits.remove(subject);
    }

    /// No wait of those that `which` picks needs to end any more. It looks at every wait.
    pub(crate) fn cancel_all(&mut self, mut which: impl FnMut(&Subject) -> bool) {
        self.waits.retain(|subject, _| !which(subject));
    }

    /// Nothing need come any more of those for a workload that `which` picks.
    pub(crate) fn cancel_of(&mut self, key: &WorkloadKey, which: impl Fn(&Subject) -> bool) {
        if self.waits.is_empty() {
            return;
        }
        let first = Subject { workload: Some(key.clone()), member: None };
        let of_key = self.waits.range(first..).take_while(|(subject, _)| subject.is_of(key));
        let over: Vec<_> =
            of_key.map(|(subject, _)| subject).filter(|subject| which(subject)).cloned().collect();
        for subject in over {
            self.waits.remove(&subject);
        }
    }

    /// It came with `fact`. Answers with the time that was left; `None` where nothing was waited for.
    pub(crate) fn met(&mut self, subject: &Subject, fact: &Fact) -> Option<Left> {
        let Wait { width, until, because, .. } = self.waits.remove(subject)?;
        let (latest, earliest_end) =
            (fact.at.saturating_add(fact.width.late), until.saturating_sub(width.early));
        let doubt = || Doubt {
            subject: subject.clone(),
            bound: Bound::NotAfter(until),
            because,
            at: fact.at,
            width: fact.width.and(width),
        };
        Some(Left {
            margin: earliest_end.saturating_sub(latest),
            doubt: (latest > earliest_end).then(|| Box::new(doubt())),
        })
    }

    /// What is `wrong` with `subject` must heal within `allowed`; where nothing is, a wait that there was is over.
    pub(crate) fn heal(
        &mut self,
        subject: Subject,
        fact: &Fact,
        allowed: Duration,
        wrong: Option<Reason>,
        court: &mut Court<'_>,
    ) {
        match wrong {
            Some(reason) => self.start(subject, fact, allowed, reason),
            None => {
                if let Some(left) = self.met(&subject, fact) {
                    court.book.held_by(left);
                }
            }
        }
    }

    /// Whether it is waited for.
    pub(crate) fn has(&self, subject: &Subject) -> bool {
        self.waits.contains_key(subject)
    }

    /// Nothing is over before that.
    pub(crate) fn due(&self) -> Duration {
        if self.waits.is_empty() { NEVER } else { self.next }
    }

    /// To be told every end of a fault of the control plane: when controllers are back, or no longer hindered, waits begin anew.
    /// While requests fail, each change makes somebody try again and fail again, and each failure doubles the time until the next
    /// try: what is waited for then may come as late as that can grow.
    pub(crate) fn observe(&mut self, fact: &Fact, court: &Court<'_>) {
        if let News::FaultEnded { fault, member: None } = &fact.news {
            self.hindered = fact.at.max(court.world.hindered) + court.timings().takeover;
            let retried =
                if fault.fails_requests() { fact.at + bounds::LONGEST_BACK_OFF } else { Duration::ZERO };
            for wait in self.waits.values_mut() {
                wait.until = wait.until.max(self.hindered.max(retried) + wait.allowed);
            }
        }
    }

    /// Time has come to `now`: what should have come before has not, even if it were yet to be told.
    pub(crate) fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        if now <= self.next || self.waits.is_empty() || court.controllers_are_away() {
            return;
        }
        let told_until = |subject: &Subject, wait: &Wait| {
            wait.until.saturating_add(wait.width.late).saturating_add(court.exactness(subject).early)
        };
        let over = self.waits.extract_if(.., |subject, wait| now > told_until(subject, wait));
        let over: Vec<(Subject, Wait)> = over.collect();
        self.next = self.waits.iter().map(|(subject, wait)| told_until(subject, wait)).min().unwrap_or(now);
        for (subject, wait) in over {
            let Wait { since, width, until, because, missing, .. } = wait;
            let (bound, witness, cause) = (Bound::NotAfter(until), court.record(&subject), Some(width));
            let width = court.exactness(&subject);
            if !court.world.faults_are_marked {
                // Whoever should have done it may have been down.
                let because = format!("{because}; the history marks no faults");
                let doubt = Doubt { subject, bound, because, at: now, width: Width::UNKNOWN };
                court.book.undecided(doubt);
                continue;
            }
            let since = Some(since);
            court.violated(Charge {
                subject,
                bound,
                because,
                at: now,
                width,
                cause,
                seen: missing,
                witness,
                since,
            });
        }
    }
}
