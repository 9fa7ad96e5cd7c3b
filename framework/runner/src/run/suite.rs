//! Runs many cases, several at a time, each in a simulation of its own.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use capsize_clock::{Clock, Seed};

use super::case::{Outcome, Target, run_case};
use super::side_by_side;
use crate::scenario::Case;

/// How cases are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The seed from which the seed of each case is derived.
    pub seed: Seed,
    /// How many cases run at the same time.
    pub jobs: NonZeroUsize,
    /// Whether outcomes contain the histories.
    pub keep_histories: bool,
}

/// Runs `cases`, and calls `done` with each outcome, until `done` breaks. The result is in the order of `cases`, and depends
/// on neither the number of jobs nor the other cases.
pub fn run_cases(
    cases: &[Case],
    target: Target<'_>,
    options: Options,
    mut done: impl FnMut(&Outcome) -> ControlFlow<()>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(cases.len());
    let run = |case: &&Case| {
        let clock = Clock::real();
        let mut outcome = run_case(case, target, options.seed, options.keep_histories);
        outcome.case.wall = Some(clock.elapsed());
        outcome
    };
    let stopped = side_by_side(options.jobs, cases, run, |_, outcome| {
        let flow = done(&outcome);
        outcomes.push(outcome);
        if flow.is_break() { Err(()) } else { Ok(()) }
    });
    // An early end was asked for.
    let _ = stopped;
    outcomes
}
