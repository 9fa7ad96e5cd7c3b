//! Selectors of lists, watches and deletes of collections.

mod both;
mod fields;
mod labels;

pub(crate) use both::Selector;
pub(crate) use fields::{changed_values, field_values};
