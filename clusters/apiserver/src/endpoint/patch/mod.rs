//! Patches of all media types.

mod apply;
mod json;
mod merge;
mod outcome;
mod part;
mod read;
mod strategic;

pub(crate) use apply::apply;
pub(crate) use json::run as apply_json;
pub(crate) use outcome::check;
pub(crate) use part::part;
pub(crate) use read::read;
