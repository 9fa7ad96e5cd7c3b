//! The guarantees about the reported status of workloads: STATUS.

mod lost_copies;
mod reported_status;

pub(super) use lost_copies::{LostCopiesAreNotAvailable, RolloutIsReported};
pub(super) use reported_status::{CopyStatusIsReported, TemplateStatusIsSumOfCopies};
