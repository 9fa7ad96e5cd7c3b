//! The validation rules of built-in kinds.

mod at;
mod batch;
mod cluster;
mod container;
mod kinds;
mod labels;
mod network;
mod pod;
mod pod_update;
mod status;
pub(crate) mod text;
mod volume;
mod warnings;
mod workload;

pub(crate) use at::At;
pub(crate) use kinds::problems;
pub(crate) use labels::{labels, selects};
pub(crate) use pod_update::{added_ephemeral, resized};
pub(crate) use status::status_problems;
pub(crate) use warnings::warnings;
