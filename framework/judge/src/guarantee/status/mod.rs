//! The status that is reported of workloads: STATUS.

mod reported_status;

pub(super) use reported_status::{CopyStatusIsReported, TemplateStatusIsSumOfCopies};
