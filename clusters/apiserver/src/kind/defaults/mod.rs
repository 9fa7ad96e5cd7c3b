//! The default values of built-in kinds.

mod batch;
mod empty;
mod kinds;
mod pod;
mod workload;

pub(crate) use empty::empty_form;
pub(crate) use kinds::{default, set_defaults};
pub(crate) use pod::{DefaultTolerations, quality_of_service, tolerate_lost_nodes};
