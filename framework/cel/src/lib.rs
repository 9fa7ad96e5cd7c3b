//! Compiles and evaluates expressions in CEL.
//! An evaluation stays within a budget, and the types are checked before the evaluation.
//!
//! The API server evaluates the rules of custom resources and the match conditions of webhooks. Dialects as data evaluate
//! the expressions that read objects.

mod budget;
mod call;
mod environment;
mod estimate;
mod evaluate;
mod names;
mod operate;
mod pattern;
mod quantity;
mod table;
mod types;
mod value;

pub use budget::{Budget, EvaluationError};
pub use environment::{Environment, Host, Program, Programs, bound, compile, for_children};
pub use names::escape;
pub use pattern::Pattern;
pub use quantity::Quantity;
pub use types::{CheckResult, Checker, Type};
pub use value::{from_json, list, map, mismatch, optional};
