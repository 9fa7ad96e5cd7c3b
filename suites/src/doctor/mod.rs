//! Implements `capsize doctor`.
//! The command shows what this machine has of what Capsize needs, and what to do if something is missing.

mod command;
mod docker;
mod finding;
mod kind;
mod machine;
mod process;

pub use command::Doctor;
