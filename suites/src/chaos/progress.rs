//! How far many runs are: a line on stderr, where that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use capsize_judge::time_format::span;
use indicatif::{ProgressBar, ProgressStyle};

/// Of so many of `what`, which are known beforehand.
pub(super) fn of(length: u64, what: &str) -> ProgressBar {
    styled(ProgressBar::new(length), &format!("{{bar:30}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left"))
}

/// Of as many seeds as there is time for.
pub(super) fn within(time: Duration) -> ProgressBar {
    styled(
        ProgressBar::no_length(),
        &format!("{{spinner}} {{pos}} seeds, {{per_sec}}, {{elapsed}} of {}", span(time)),
    )
}

/// Of seeds without an end.
pub(super) fn endless() -> ProgressBar {
    styled(ProgressBar::no_length(), "{spinner} {pos} seeds, {per_sec}, {elapsed}")
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    bar.with_style(ProgressStyle::with_template(template).expect("it is right"))
}
