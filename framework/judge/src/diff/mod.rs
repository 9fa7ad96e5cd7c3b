//! Compares two histories: whether the same events happened in both, at the same times.
//!
//! A comparison gives no verdict, which is the task of the guarantees. The reports format it.

mod allowance;
mod compare;
mod outline;

pub use compare::{Comparison, Difference, compare};
pub use outline::{EventKind, EventSubject, Outline, OutlineEvent, Outliner};
