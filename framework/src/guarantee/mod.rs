//! What must hold: one small state machine a guarantee, over facts, and the catalogue of them.
//!
//! How facts come about is left to the dialects, how verdicts are told to the reports.

mod applied;
mod book;
mod bounds;
mod catalogue;
mod causes;
mod choice;
mod copies;
mod court;
mod coverage;
mod delivery;
mod division;
mod everywhere;
mod eviction;
mod feasible;
mod formula;
mod graceful;
mod heals;
mod health;
mod liveness;
mod log;
mod members;
mod newcomers;
mod placement;
mod policies;
mod purge;
mod replicas;
mod required;
mod rule;
mod silence;
mod spared;
mod taint;
mod tasks;
mod tolerates;
mod toleration;
pub mod transition;
mod verdict;
mod waits;
mod weighted;

pub use catalogue::Catalogue;
pub use coverage::{Cover, Covered, coverage};
pub use formula::{Formula, Given};
pub use rule::Rule;
pub use verdict::{Bound, Doubt, Evidence, Outcome, Subject, Verdict};
