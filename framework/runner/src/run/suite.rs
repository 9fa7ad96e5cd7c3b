//! Runs many cases, several at a time, each in a simulation of its own.

use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use capsize_clock::{Clock, Seed};

use super::case::{Keep, Outcome, Target, run_case};
use super::expected_duration::expected_duration;
use super::side_by_side::{as_they_end, side_by_side};
use crate::scenario::Case;

/// How cases are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The seed from which the seed of each case is derived.
    pub seed: Seed,
    /// How many cases run at the same time.
    pub jobs: NonZeroUsize,
    /// The part of the runs that outcomes contain besides the results.
    pub keep: Keep,
}

/// Runs `cases`, and calls `done` with each outcome, until `done` breaks.
/// The result is in the order of `cases`, and depends on neither the number of jobs nor the other cases.
///
/// If time is real, the longest cases begin first, and `done` receives each outcome when its case has ended. Otherwise, `done`
/// receives the outcomes in the order of `cases`.
pub fn run_cases<'a>(
    cases: &'a [Case],
    target: Target<'_>,
    options: Options,
    mut done: impl FnMut(&Outcome) -> ControlFlow<()>,
) -> Vec<(&'a Case, Outcome)> {
    let run = |(_, case): &(usize, &Case)| {
        let clock = Clock::real();
        let mut outcome = run_case(case, target, options.seed, options.keep);
        outcome.case.wall = Some(clock.elapsed());
        outcome
    };
    let mut outcomes = Vec::with_capacity(cases.len());
    let ended = |(index, case), outcome: Outcome| {
        let flow = done(&outcome);
        outcomes.push((index, (case, outcome)));
        if flow.is_break() { Err(()) } else { Ok(()) }
    };
    let mut cases: Vec<(usize, &Case)> = cases.iter().enumerate().collect();
    // An error means that an early end was asked for.
    let _ = if target.implementation.info().is_live() {
        cases.sort_by_cached_key(|(_, case)| Reverse(expected_duration(case, target)));
        as_they_end(options.jobs, cases, run, ended)
    } else {
        side_by_side(options.jobs, cases, run, ended)
    };
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, ended)| ended).collect()
}
