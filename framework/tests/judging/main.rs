//! The judging half: histories in, verdicts and reports out.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod cases;
mod history;
mod numbers;
mod profile;
mod reports;
mod story;
mod undecided;
