//! What one guarantee has come to so far.

use std::time::Duration;

use jiff::SignedDuration;

use super::{Evidence, Outcome};

/// Evidence is kept of so many violations; more are only counted.
const EVIDENCE_KEPT: usize = 5;

/// The account of one guarantee.
#[derive(Debug, Default)]
pub(super) struct Book {
    held: u64,
    margin: Option<SignedDuration>,
    violated: u64,
    evidence: Vec<Evidence>,
}

impl Book {
    /// It held once more.
    pub(super) fn held(&mut self) {
        self.held += 1;
    }

    /// It held once more, `margin` away from the bound.
    pub(super) fn held_by(&mut self, margin: Duration) {
        self.held += 1;
        let margin = SignedDuration::try_from(margin).unwrap_or(SignedDuration::MAX);
        self.margin = Some(self.margin.map_or(margin, |least| least.min(margin)));
    }

    /// It did not hold.
    pub(super) fn violated(&mut self, evidence: Evidence) {
        self.violated += 1;
        if self.evidence.len() < EVIDENCE_KEPT {
            self.evidence.push(evidence);
        }
    }

    /// What it comes to.
    pub(super) fn outcome(self) -> Outcome {
        match (self.violated, self.held) {
            (0, 0) => Outcome::NotExercised,
            (0, times) => Outcome::Held { times, margin: self.margin },
            (times, held) => Outcome::Violated { held, times, evidence: self.evidence },
        }
    }
}
