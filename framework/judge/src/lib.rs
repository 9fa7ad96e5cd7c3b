//! Judges histories: guarantees of failover, verdicts, numbers, differences and target profiles.
//!
//! This crate reads histories and nothing else. It does not know how a history was made, and it does not depend on
//! anything that runs clusters or controllers.

pub mod budget;
pub mod chain;
pub mod diff;
pub mod fault_evidence;
pub mod guarantee;
pub mod judge;
pub mod numbers;
pub mod profile;
pub mod text;

pub use capsize_history::YamlError;
