//! The guarantees about the reported status of workloads: STATUS.

mod availability_and_rollouts;
mod reported_status;

pub(super) use availability_and_rollouts::{LostCopiesAreNotAvailable, RolloutIsReported};
pub(super) use reported_status::{CopyStatusIsReported, TemplateStatusIsSumOfCopies};
