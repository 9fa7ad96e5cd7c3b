//! Scenarios, histories, guarantees and reports.
//!
//! The judging half ([`history`] to [`report`]) works alone, on any history, of any implementation, recorded
//! anywhere; nothing in it knows how a history came about.

pub mod budget;
pub mod chaos;
pub mod dialect;
pub mod diff;
pub mod facts;
pub mod guarantee;
pub mod history;
pub mod judge;
pub mod nemesis;
pub mod numbers;
pub mod record;
pub mod report;
pub mod run;
pub mod scenario;
pub mod target;
