//! Dialects, which translate the raw objects of an implementation to neutral facts.

pub mod changes;
mod choice;
pub mod content;
pub mod digest;
mod karmada;
mod lease;
pub mod marks;
mod nodes;
pub mod quantity;
mod steps;

pub use choice::{DataDialect, Dialect, DialectKind, DialectProgram, Fold};
pub use karmada::Karmada;
pub use lease::Leases;
pub use nodes::Nodes;
pub use steps::{NeutralStep, StepKind, StepWrite, StepWriter, WriteTarget};
