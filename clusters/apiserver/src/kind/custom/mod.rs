//! Custom kinds, which are made from definitions and checked by structural schemas.

mod approval;
mod check;
mod costs;
mod default;
mod defaults_of;
mod definition;
mod definition_defaults;
mod formats;
mod keywords;
mod problems;
mod prune;
mod rule_problems;
mod rules;
mod schema;
mod sizes;
mod status;
mod structural;
mod typed;
mod validate;
mod version;

pub(crate) use check::{check_object, check_status};
pub(crate) use definition::{check_accepts_creates, definition_of};
pub(crate) use definition_defaults::default_definition;
pub(crate) use problems::definition_problems;
pub(crate) use schema::{ListType, Node, Schema};
