//! What must hold: one small state machine a guarantee, over facts, and the catalogue of them.
//!
//! How facts come about is left to the dialects, how verdicts are told to the reports.

mod book;
mod bounds;
mod catalogue;
mod court;
mod eviction;
mod formula;
mod graceful;
mod health;
mod log;
mod placement;
mod rule;
mod silence;
mod spared;
mod taint;
mod tolerates;
mod toleration;
pub mod transition;
mod verdict;
mod waits;

pub use catalogue::Catalogue;
pub use formula::{Formula, Given};
pub use rule::Rule;
pub use verdict::{Bound, Doubt, Evidence, Outcome, Subject, Verdict};
