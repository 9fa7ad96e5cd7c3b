//! Custom kinds, which are made from definitions and checked by structural schemas.

mod approval;
mod cel_values;
mod check;
mod costs;
mod crd_defaults;
mod default_problems;
mod definition;
mod formats;
mod keywords;
mod problems;
mod prune;
mod rule_problems;
mod rules;
mod schema;
mod set_defaults;
mod sizes;
mod status;
mod structural;
mod validate;
mod version;

pub(crate) use check::{check_object, check_status};
pub(crate) use crd_defaults::default_definition;
pub(crate) use definition::{check_accepts_creates, definition_of};
pub(crate) use problems::definition_problems;
pub(crate) use schema::{ListType, Node, Schema};
