//! Expressions in CEL, for the rules of custom resources and the match conditions of webhooks.

mod environment;
mod names;
mod types;
mod value;

pub(crate) use environment::{Environment, Program, Programs, compile};
pub(crate) use names::escape;
pub(crate) use types::{Checker, Type};
pub(crate) use value::{from_json, list, map, mismatch};
