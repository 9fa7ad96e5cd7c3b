//! Releases: their differences, their bugs, and the rules that follow from both.

mod behaviour;
mod bugs;
mod rules;
#[cfg(test)]
mod tests;

pub use behaviour::{Behaviour, Division, Grouping, Inheritance, Removal, UnservedTargets, Zones};
pub use bugs::Bug;
pub use rules::{ReferenceRules, Release};
