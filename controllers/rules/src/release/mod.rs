//! The rules of a release: the reference with the release's differences and, optionally, bugs.

mod behaviour;
mod bugs;
mod rules;
#[cfg(test)]
mod tests;

pub use behaviour::{Behaviour, Division, Grouping, Inheritance, Removal, UnservedTargets, Zones};
pub use bugs::Bug;
pub use rules::{ReferenceRules, Release};
