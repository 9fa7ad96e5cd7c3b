//! Runs many cases, several at a time, each in a simulation of its own.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use capsize_clock::{Clock, Seed};

use super::case::{Outcome, Target, run_case};
use crate::scenario::Case;

/// How cases are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Every case's own seed comes from this one.
    pub seed: Seed,
    /// How many at a time.
    pub jobs: NonZeroUsize,
    /// Whether histories are handed back.
    pub keep_histories: bool,
}

/// Runs `cases`, and tells `done` of each that has ended. The answer is in the order of `cases`, and depends on
/// neither the number of jobs nor the other cases.
pub fn run_cases(
    cases: &[Case],
    target: Target<'_>,
    options: Options,
    mut done: impl FnMut(&Outcome),
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut outcomes: Vec<Option<Outcome>> = cases.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..options.jobs.get().min(cases.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((index, case)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(index).map(|case| (index, case))
                } {
                    let clock = Clock::real();
                    let mut outcome = run_case(case, target, options.seed, options.keep_histories);
                    outcome.case.wall = Some(clock.elapsed());
                    if sender.send((index, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (index, outcome) in receiver {
            done(&outcome);
            outcomes[index] = Some(outcome);
        }
    });
    outcomes.into_iter().flatten().collect()
}
