//! Managed fields: the sets of `metadata.managedFields`, their updates, and server-side apply.

mod compare;
mod entries;
mod merge;
mod set;
mod track;

pub(crate) use track::{Tracking, apply, track};
