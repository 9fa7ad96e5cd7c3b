//! Two histories side by side: whether the same happened in both, at the same times.
//!
//! It judges neither: whether what happened was right is the guarantees' business. How it is told is the reports'.

mod allowance;
mod compare;
mod outline;

pub use compare::{Comparison, Difference, compare};
pub use outline::{Happening, Outline, Outliner, Track, What};
