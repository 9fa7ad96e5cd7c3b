//! The basis of all controllers: stores fed by watches, queues, writes, and clients for members.

mod binding;
mod context;
mod discovery;
mod drifted_works;
mod error;
mod events;
mod index;
mod informer;
mod member_client;
mod observed_versions;
mod per_object;
mod queue;
mod rate_limit;
mod store;
mod watch_continuity;
mod watched_object;
mod work_queue;
mod write;

pub(crate) use binding::Binding;
pub(crate) use context::{BY_BINDING, BY_NAMESPACE, BY_TARGET, Context};
pub(crate) use discovery::{Discovery, ServedKinds};
pub(crate) use drifted_works::DriftedWorks;
pub(crate) use error::{Error, is_absent};
pub(crate) use events::{EventRecorder, InvolvedObject};
pub(crate) use informer::Informer;
pub use member_client::with_time_limit;
pub(crate) use observed_versions::ObservedVersions;
pub(crate) use per_object::PerObject;
pub(crate) use queue::{Action, Queue, RetryDelays, refs, run, run_by_priority, run_with};
pub use rate_limit::{RateLimit, rate_limited};
pub(crate) use store::Change;
pub(crate) use write::{
    create, create_dynamic, delete_named, dynamic_api, erase, patch, patch_guarded, patch_status,
    patched_status, put_status, send,
};
