//! The basis of all controllers: stores fed by watches, queues, writes, and clients for members.

mod astray;
mod binding;
mod context;
mod copies;
mod discovery;
mod error;
mod events;
mod index;
mod informer;
mod member;
mod notes;
mod pace;
mod queue;
mod store;
mod turns;
mod unbroken;
mod write;

pub(crate) use astray::Astray;
pub(crate) use binding::Binding;
pub(crate) use context::{BY_BINDING, BY_NAMESPACE, BY_TARGET, Context};
pub(crate) use copies::Copies;
pub(crate) use discovery::{Discovery, Served};
pub(crate) use error::{Error, is_absent};
pub(crate) use events::{EventRecorder, Involved};
pub(crate) use informer::Informer;
pub use member::bounded;
pub(crate) use notes::Notes;
pub use pace::{Pace, paced};
pub(crate) use queue::{Action, Queue, Retries, refs, run, run_with};
pub(crate) use store::Change;
pub(crate) use write::{dynamic_api, erase, patch, patch_guarded, patch_status, patched_status, put_status};
