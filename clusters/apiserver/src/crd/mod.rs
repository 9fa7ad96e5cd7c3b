//! Custom kinds: from their definitions, by their structural schemas.

mod default;
mod definition;
mod problems;
mod prune;
mod schema;
mod status;
mod structural;
mod validate;

pub(crate) use definition::{check_accepts_creates, default_definition};
pub(crate) use problems::definition_problems;
pub(crate) use schema::{ListType, Node, Schema};
