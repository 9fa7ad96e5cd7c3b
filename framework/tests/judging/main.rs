//! The judging half: histories in, verdicts and reports out.

mod cases;
mod history;
mod profile;
mod reports;
mod story;
