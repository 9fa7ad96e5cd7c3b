//! What all controllers stand on: stores fed by watches, queues, writes, and clients for members.

mod binding;
mod context;
mod error;
mod informer;
mod member;
mod queue;
mod write;

pub(crate) use binding::Binding;
pub(crate) use context::Context;
pub(crate) use error::Error;
pub(crate) use informer::{Change, Informer};
pub(crate) use member::bounded;
pub(crate) use queue::{Queue, refs, run, run_with};
pub(crate) use write::{dynamic_api, erase, patch, patch_status, put_status};
