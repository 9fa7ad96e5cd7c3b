//! How far a run is: a bar where stderr is a terminal, and else a line for each case that has ended.

use std::io::{self, IsTerminal};

use capsize_judge::time_format::span;
use capsize_report::{Page, Status};
use capsize_runner::run::Outcome;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// The progress of a run.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Whether a line is printed for each case.
    prints_lines: bool,
    /// Whether skipped cases have a line too, and each line is followed by what the faults of the case did.
    prints_faults: bool,
    ended: usize,
    cases: usize,
}

impl Progress {
    /// Of so many cases. A quiet run prints no lines, and a verbose one prints them above the bar, too.
    pub(super) fn new(cases: usize, is_quiet: bool, is_verbose: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is right");
        let bar = ProgressBar::new(cases as u64).with_style(style);
        let bar = if is_terminal { bar } else { ProgressBar::hidden() };
        let prints_lines = is_verbose || !is_terminal && !is_quiet;
        Self { bar, prints_lines, prints_faults: is_verbose, ended: 0, cases }
    }

    /// Reports a case that has ended.
    pub(super) fn ended(&mut self, outcome: &Outcome) {
        self.ended += 1;
        self.bar.set_message(outcome.case.id());
        self.bar.inc(1);
        // Many cases may be skipped. The summary counts the reasons, and `run --list` prints the reason of each.
        let is_skipped = matches!(outcome.case.status, Status::Skipped(_)) && outcome.broken.is_none();
        if self.prints_lines && (self.prints_faults || !is_skipped) {
            let columns = output::columns_of(io::stderr());
            let mut page = Page::new(columns);
            page.wrapped(&format!("[{}/{}] ", self.ended, self.cases), &line(outcome));
            if self.prints_faults {
                page.lines(&capsize_report::fault_lines(&outcome.case, columns));
            }
            let text = page.finish();
            self.bar.suspend(|| output::warn(&text));
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
        (None, Status::NotExercised) => format!("{id} not exercised: no fault had an effect{took}"),
        (None, Status::Skipped(why)) => format!("{id} skipped: {why}"),
    }
}
