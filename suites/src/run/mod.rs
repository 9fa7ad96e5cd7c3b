//! `capsize run`: runs scenarios against a target and reports the outcomes.

mod command;
mod parties;
mod progress;

pub use command::{Run, timeline};
pub use parties::implementation;
