//! Expressions in CEL, for the rules of custom resources and the match conditions of webhooks.

mod budget;
mod call;
mod environment;
mod estimate;
mod evaluate;
mod names;
mod operate;
mod table;
mod types;
mod value;

pub(crate) use budget::{Budget, EvaluationError};
pub(crate) use environment::{Environment, Program, Programs, compile};
pub(crate) use names::escape;
pub(crate) use types::{CheckResult, Checker, Type};
pub(crate) use value::{from_json, list, map, mismatch};
