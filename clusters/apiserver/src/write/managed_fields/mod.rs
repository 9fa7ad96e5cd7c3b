//! Who set which field: the sets of `metadata.managedFields`, how they follow from writes, and server-side apply.

mod compare;
mod entries;
mod merge;
mod set;
mod track;

pub(crate) use track::{Tracking, apply, track};
