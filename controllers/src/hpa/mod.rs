//! Autoscalers that run in the members: who may say how many replicas there are, and that the template follows them.

mod marker;
mod syncer;

pub(crate) use marker::run as run_marker;
pub(crate) use syncer::run as run_syncer;
