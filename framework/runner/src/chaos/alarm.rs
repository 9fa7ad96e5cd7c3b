//! Why the run of a plan failed. Two failures are the same if their reasons are.

use std::fmt;

use crate::run::{AT_REST, Outcome};
use capsize_judge::guarantee::Outcome as GuaranteeOutcome;
use capsize_report::Status;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// Guarantees are violated, in the order of the catalogue.
    Guarantees(Vec<&'static str>),
    /// No guarantee is violated, but the fleet does not come to rest.
    Unrest(String),
}

impl Alarm {
    /// Why the run with this `outcome` failed, if it did.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Option<Self> {
        if outcome.case.status != Status::Failed {
            return None;
        }
        let verdicts = outcome.case.judgement.iter().flat_map(|judgement| &judgement.verdicts);
        let violated =
            verdicts.filter(|verdict| matches!(verdict.outcome, GuaranteeOutcome::Violated { .. }));
        let violated: Vec<_> = violated.map(|verdict| verdict.spec.id).collect();
        if !violated.is_empty() {
            return Some(Self::Guarantees(violated));
        }
        // Another step that fails is not an alarm: an earlier random fault may have removed what the step needs.
        let unmet = outcome.case.failures.iter().map(|failure| &failure.expected);
        unmet.filter(|expected| *expected == AT_REST).map(|expected| Self::Unrest(expected.clone())).next()
    }

    /// Returns true if `other` is a failure of the same kind: the first guarantee is violated there, too.
    #[must_use]
    pub fn is_in(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Guarantees(these), Self::Guarantees(those)) => {
                these.first().is_some_and(|first| those.contains(first))
            }
            (Self::Unrest(this), Self::Unrest(that)) => this == that,
            _ => false,
        }
    }

    /// The key for counting: the first guarantee, or the expectation of the last step.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Guarantees(ids) => ids.first().copied().unwrap_or_default(),
            Self::Unrest(expected) => expected,
        }
    }
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guarantees(ids) => f.write_str(&ids.join(", ")),
            Self::Unrest(expected) => f.write_str(expected),
        }
    }
}
