//! The custom resources: their definitions, names, conditions, and objects that are kept as text.
//!
//! These are no unit tests, because the compiler would read all derived code again for them.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod columns;
mod conditions;
mod crds;
mod installed;
mod names;
mod raw;
