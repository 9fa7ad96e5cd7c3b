//! Measures outages: times until detection, eviction and recovery, and double or missing copies.
//!
//! Numbers give no verdict, which is the task of [`crate::guarantee`].

mod builder;
mod copies;
mod outage;
mod sheet;

pub use builder::{Numbers, NumbersBuilder};
pub use copies::Copies;
pub use outage::{Move, Outage};
pub use sheet::{Milestone, Sheet, Spread};
