//! Keeps suspected violations that the watch of another object may still explain.

use std::collections::BTreeMap;
use std::time::Duration;

use super::context::{JudgeContext, NEVER, Violation};
use crate::guarantee::{Bound, Subject};
use capsize_history::facts::Fact;

/// Observations that look wrong.
/// They are kept until the watches of other objects have had time to report a reason.
#[derive(Debug, Default)]
pub(crate) struct SuspectedViolations(BTreeMap<Subject, SuspectedViolation>);

#[derive(Debug)]
struct SuspectedViolation {
    fact: Fact,
    because: String,
    seen: String,
}

impl SuspectedViolations {
    /// Adds an observation that is not allowed at any time.
    pub(crate) fn add(&mut self, subject: Subject, fact: &Fact, because: String, seen: String) {
        self.0.entry(subject).or_insert(SuspectedViolation { fact: fact.clone(), because, seen });
    }

    /// Returns the time before which no suspected violation is decided.
    pub(crate) fn due(&self) -> Duration {
        self.0.values().map(|suspect| suspect.fact.at).min().unwrap_or(NEVER)
    }

    /// Advances to `now`, and reports the suspected violations whose time is over.
    /// A case counts as held if `is_explained` returns true for it.
    pub(crate) fn advance_to(
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
