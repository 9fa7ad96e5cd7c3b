//! Random scenarios: drawn from a seed, and made smaller when they fail.
//!
//! What is drawn is a scenario like those that people write, as text; running it is [`crate::run`]'s, and what must hold
//! is [`capsize_judge::guarantee`]'s.

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
