//! `capsize record`: the command, the judge that follows a recording, and its metrics.

mod command;
mod follow;
mod metrics;

pub use command::RecordCommand;
pub(crate) use command::{header, place, seconds};
