//! The guarantees: one small state machine over facts for each, and the catalogue of all.
//!
//! The dialects produce the facts, and the reports format the verdicts. In the words of the facts, a record is the object
//! that assigns a workload to members (a binding), and a manifest the object that delivers it to one member (a Work). The letters of
//! requirements, for example in T9, are explained in `engine/coverage.rs`.

mod availability;
mod delivery;
mod engine;
mod eviction;
mod health;
mod liveness;
mod node;
mod placement;
mod policy;
mod recovery;
mod replicas;
mod services;
mod status;
mod taint;
mod toleration;

pub use engine::catalogue::Catalogue;
pub use engine::coverage::{Coverage, Requirement, requirements};
pub use engine::formula::{Formula, FormulaInput};
pub use engine::spec::GuaranteeSpec;
pub use engine::tolerated_until::toleration_deadline;
pub use engine::transition;
pub use engine::verdict::{Ambiguity, Bound, Evidence, Outcome, Subject, Verdict, Window, WindowResult};
