//! Suspected violations, which the watch of another object may still explain.

use std::collections::BTreeMap;
use std::time::Duration;

use super::context::{JudgeContext, NEVER, Violation};
use crate::guarantee::{Bound, Subject};
use capsize_history::facts::Fact;

/// What looks wrong, until the watches of other objects have had time to tell of a reason.
#[derive(Debug, Default)]
pub(crate) struct SuspectedViolations(BTreeMap<Subject, SuspectedViolation>);

#[derive(Debug)]
struct SuspectedViolation {
    fact: Fact,
    because: String,
    seen: String,
}

impl SuspectedViolations {
    /// `fact` looks wrong: it must never be.
    pub(crate) fn add(&mut self, subject: Subject, fact: &Fact, because: String, seen: String) {
        self.0.entry(subject).or_insert(SuspectedViolation { fact: fact.clone(), because, seen });
    }

    /// Nothing is decided before that.
    pub(crate) fn due(&self) -> Duration {
        self.0.values().map(|suspect| suspect.fact.at).min().unwrap_or(NEVER)
    }

    /// Time has come to `now`: those are charged that nothing has dispelled, unless they are `is_explained` by now.
    pub(crate) fn pass(
        &mut self,
        now: Duration,
        context: &mut JudgeContext<'_>,
        is_explained: impl Fn(&Subject, &Fact, &JudgeContext<'_>) -> bool,
    ) {
        let skew = context.disorder();
        for (subject, suspect) in self.0.extract_if(.., |_, suspect| now > suspect.fact.at + skew) {
            let SuspectedViolation { fact, because, seen } = suspect;
            if is_explained(&subject, &fact, context) {
                context.tally.record_held();
            } else {
                context.report_violation(Violation::by(&fact, subject, Bound::Never, because, seen));
            }
        }
    }
}
