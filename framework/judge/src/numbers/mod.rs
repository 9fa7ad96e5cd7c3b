//! What an operator asks: how long an outage went unnoticed, how long until what ran there ran elsewhere, how long a
//! workload ran twice, or nowhere.
//!
//! Numbers are no verdicts: what must hold is left to [`crate::guarantee`].

mod builder;
mod copies;
mod outage;
mod sheet;

pub use builder::{Numbers, NumbersBuilder};
pub use copies::Copies;
pub use outage::{Move, Outage};
pub use sheet::{Milestone, Sheet, Spread};
