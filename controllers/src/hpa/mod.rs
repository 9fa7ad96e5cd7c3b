//! Autoscalers that run in the members: how they get there, and how the template follows the replicas that they ask for.

mod copier;
mod marker;
mod syncer;

pub(crate) use copier::run as run_copier;
pub(crate) use marker::run as run_marker;
pub(crate) use syncer::run as run_syncer;
