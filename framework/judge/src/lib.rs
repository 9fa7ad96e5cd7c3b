//! Judges histories: guarantees of failover, verdicts, numbers, differences and target profiles.
//!
//! This crate reads histories and target profiles. It does not know how a history was made, and it does not depend on
//! anything that runs clusters or controllers.

pub mod budget;
pub mod diff;
pub mod fault_evidence;
pub mod guarantee;
pub mod judge;
pub mod numbers;
pub mod profile;
pub mod responsible_component;
pub mod time_format;

pub use capsize_history::YamlError;
