//! Random scenarios: draws them from a seed, and makes them smaller when they fail.
//!
//! The result is the text of a scenario like those that people write. [`crate::run`] runs it, and
//! [`capsize_judge::guarantee`] contains the guarantees.

mod alarm;
mod coverage;
mod draw;
mod faults;
mod fleet;
mod graft;
mod nodes;
mod objects;
mod plan;
mod shrink;
mod storm;
mod style;
mod timings;
mod user_actions;
mod workload_options;
mod workloads;

pub use alarm::Alarm;
pub use coverage::{Cell, Coverage, Phase, WorkloadKind};
pub use draw::draw;
pub use plan::Plan;
pub use shrink::shrink;
pub use style::{Style, UnknownStyle};
