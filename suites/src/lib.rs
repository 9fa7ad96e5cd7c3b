//! The commands of Capsize, and what ships with it.

pub mod check;
pub mod targets;
