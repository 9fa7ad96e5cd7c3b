//! Dialects, which translate the raw objects of an implementation to neutral facts.

mod choice;
mod karmada;
mod marks;
mod nodes;

pub use choice::{Dialect, DialectKind};
pub use karmada::Karmada;
pub use nodes::Nodes;
