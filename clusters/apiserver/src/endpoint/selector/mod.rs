//! Selectors of lists, watches and deletes of collections.

mod combined;
mod fields;
mod labels;

pub(crate) use combined::Selector;
pub(crate) use fields::{changed_values, field_values};
