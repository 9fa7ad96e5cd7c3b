//! The guarantees about the reported status of workloads: STATUS.

mod reported_status;

pub(super) use reported_status::{CopyStatusIsReported, TemplateStatusIsSumOfCopies};
