//! Patches: what each media type means.

mod json;
mod merge;
mod read;

pub(crate) use read::read;
