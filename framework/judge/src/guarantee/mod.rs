//! What must hold: one small state machine a guarantee, over facts, and the catalogue of them.
//!
//! How facts come about is left to the dialects, how verdicts are told to the reports.

mod announced;
mod applied;
mod autoscalers;
mod away;
mod book;
mod bounds;
mod by_hand;
mod catalogue;
mod causes;
mod choice;
mod contents;
mod copies;
mod court;
mod coverage;
mod delivery;
mod division;
mod everywhere;
mod eviction;
mod feasible;
mod flapping;
mod formula;
mod graceful;
mod groups;
mod heals;
mod health;
mod liveness;
mod log;
mod members;
mod namespaces;
mod needs;
mod newcomers;
mod nodes;
mod outlived;
mod passed_on;
mod placement;
mod policies;
mod policy;
mod purge;
mod removal;
mod replicas;
mod required;
mod rule;
mod services;
mod silence;
mod spared;
mod status;
mod suspended;
mod taint;
mod tasks;
#[cfg(test)]
mod told;
mod tolerates;
mod toleration;
pub mod transition;
mod verdict;
mod waits;
mod weighted;
mod written_over;

pub use catalogue::Catalogue;
pub use coverage::{Cover, Covered, coverage};
pub use formula::{Formula, Given};
pub use rule::Rule;
pub use verdict::{Bound, Doubt, Evidence, Outcome, Subject, Verdict};
