//! Events about objects, as client-go publishes them: asynchronously, aggregated, and rate-limited.

mod correlator;
mod involved;
mod recorder;

pub(crate) use involved::InvolvedObject;
pub(crate) use recorder::EventRecorder;
