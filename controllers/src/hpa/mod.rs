//! Autoscalers in the members: copies them there, and follows their replicas in the template.

mod copier;
mod marker;
mod syncer;

pub(crate) use copier::run as run_copier;
pub(crate) use marker::run as run_marker;
pub(crate) use syncer::run as run_syncer;
