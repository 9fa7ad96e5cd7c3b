//! What a report tells: cases with their judgements. One model for `run` and for `check`.

use std::time::Duration;

use crate::facts::{Fact, FaultInForce};
use crate::guarantee::Outcome;
use crate::judge::Judgement;

/// A run or a check, told.
#[derive(Clone, Debug)]
pub struct Report {
    /// `run` or `check`.
    pub command: String,
    /// What else the first line says: target, provider, seed.
    pub about: Vec<String>,
    /// The target's name and release.
    pub target: String,
    /// The cases, in the order in which they are told.
    pub cases: Vec<Case>,
    /// Real time that it took; absent where nothing was run.
    pub wall: Option<Duration>,
}

/// One scenario that was run, or one history that was checked.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its group: the folder.
    pub group: String,
    /// Its name in the group.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// What its history says; absent where there is none.
    pub judgement: Option<Judgement>,
    /// The expectations of the scenario that were not met.
    pub failures: Vec<Failure>,
    /// The command that does it again.
    pub replay: String,
    /// Time that passed in it, on its own clock.
    pub span: Duration,
    /// Real time that it took.
    pub wall: Option<Duration>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing failed.
    Passed,
    /// An expectation was not met, or a guarantee is violated.
    Failed,
    /// The target lacks what it needs.
    Skipped(String),
}

/// An expectation of a scenario that was not met.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The expectation, as the scenario has it.
    pub expected: String,
    /// Where it stands: file, line and column.
    pub place: String,
    /// What was the case instead, and how long was waited.
    pub seen: String,
    /// When the wait was given up.
    pub at: Duration,
    /// What led to it, in order.
    pub timeline: Vec<Fact>,
    /// The faults in force.
    pub faults: Vec<FaultInForce>,
}

/// What the cases come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cases.
    pub passed: usize,
    /// Cases.
    pub failed: usize,
    /// Cases.
    pub skipped: usize,
    /// Verdicts.
    pub held: usize,
    /// Verdicts.
    pub violated: usize,
    /// Verdicts.
    pub not_exercised: usize,
    /// Verdicts.
    pub not_promised: usize,
}

impl Case {
    /// The case for `judgement` alone, with no expectations: failed if a guarantee is violated.
    #[must_use]
    pub fn judged(group: impl Into<String>, name: impl Into<String>, judgement: Judgement) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
            status: if judgement.conforms() { Status::Passed } else { Status::Failed },
            span: judgement.span,
            judgement: Some(judgement),
            failures: Vec::new(),
            replay: String::new(),
            wall: None,
        }
    }
}

impl Report {
    /// Whether no case failed.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.cases.iter().all(|case| case.status != Status::Failed)
    }

    /// What the cases come to.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for case in &self.cases {
            *match case.status {
                Status::Passed => &mut totals.passed,
                Status::Failed => &mut totals.failed,
                Status::Skipped(_) => &mut totals.skipped,
            } += 1;
            for verdict in case.judgement.iter().flat_map(|judgement| &judgement.verdicts) {
                *match verdict.outcome {
                    Outcome::Held { .. } => &mut totals.held,
                    Outcome::Violated { .. } => &mut totals.violated,
                    Outcome::NotExercised => &mut totals.not_exercised,
                    Outcome::Skipped(_) => &mut totals.not_promised,
                } += 1;
            }
        }
        totals
    }
}
