//! Patches: what each media type means.

mod apply;
mod json;
mod merge;
mod outcome;
mod read;
mod status;
mod strategic;

pub(crate) use apply::apply;
pub(crate) use outcome::check;
pub(crate) use read::read;
pub(crate) use status::status;
