//! How far a run is: a bar where stderr is a terminal, and else, in real time, a line for each case that has ended.

use std::io::{self, IsTerminal};

use capsize_judge::text::span;
use capsize_report::Status;
use capsize_runner::run::Outcome;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// The progress of a run.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Whether a line is printed for each case.
    prints_lines: bool,
    ended: usize,
    cases: usize,
}

impl Progress {
    /// Of so many cases. A run in virtual time is over before anybody reads a line of it, so `prints_lines` is false there
    /// unless the user asks for lines.
    pub(super) fn new(cases: usize, prints_lines: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is right");
        let bar = ProgressBar::new(cases as u64).with_style(style);
        let bar = if is_terminal { bar } else { ProgressBar::hidden() };
        Self { bar, prints_lines: prints_lines && !is_terminal, ended: 0, cases }
    }

    /// Reports a case that has ended.
    pub(super) fn ended(&mut self, outcome: &Outcome) {
        self.ended += 1;
        self.bar.set_message(outcome.case.id());
        self.bar.inc(1);
        if self.prints_lines {
            output::warn(&format!("[{}/{}] {}\n", self.ended, self.cases, line(outcome)));
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// `toleration/run-out passed, 31.5 s`.
fn line(outcome: &Outcome) -> String {
    let id = outcome.case.id();
    let took = outcome.case.wall.map(|wall| format!(", {}", span(wall))).unwrap_or_default();
    match (&outcome.broken, &outcome.case.status) {
        (Some(why), _) => format!("broken: {why}"),
        (None, Status::Passed) => format!("{id} passed{took}"),
        (None, Status::Failed) => format!("{id} FAILED{took}"),
        (None, Status::Skipped(why)) => format!("{id} skipped: {why}"),
    }
}
