//! Runs an implementation that consists of programs of their own.
//! The module contains its files, its processes, and the interface to the runner.

mod files;
mod implementation;
mod own_report;
mod running;

pub use implementation::{ProcessCleanup, Processes};
#[cfg(test)]
pub(crate) use running::exists;
