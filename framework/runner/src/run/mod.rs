//! Runs scenarios: starts a fleet and a target in virtual time, drives the steps and the faults, records what
//! happens, and hands it to the judge.
//!
//! What a scenario looks like is [`crate::scenario`]'s, what must hold is [`capsize_judge::guarantee`]'s, and how results
//! are told is [`capsize_report`]'s.

mod account;
mod act;
mod before;
mod calm;
mod case;
mod clocks;
mod controllers;
mod crew;
mod driver;
mod expect;
mod faults;
mod implementation;
mod lack;
mod leave;
mod lines;
mod log;
mod losses;
mod nodes;
mod object;
mod patience;
mod recorder;
mod scribe;
mod side_by_side;
mod suite;
mod troubles;

pub(crate) use calm::AT_REST;
pub use case::{Outcome, Target, run_case, run_case_until};
pub use implementation::{Implementation, Nature, Site, StartError, Started};
pub use lack::lack;
pub use log::Until;
pub use side_by_side::side_by_side;
pub use suite::{Options, run_cases};
