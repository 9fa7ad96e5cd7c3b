//! From the raw objects of an implementation to neutral facts, and from the words of a scenario to objects.

mod choice;
mod karmada;
mod marks;
mod nodes;

pub use choice::{Dialect, DialectKind};
pub use karmada::Karmada;
pub use nodes::Nodes;
