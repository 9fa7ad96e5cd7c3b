//! The endpoints: lists, watches, writes, patches, discovery, and requests about the server itself.

pub(crate) mod access_review;
pub(crate) mod change;
pub(crate) mod continuation;
pub(crate) mod discovery;
pub(crate) mod field_manager;
pub(crate) mod health;
pub(crate) mod key_range;
pub(crate) mod list_options;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod patch;
pub(crate) mod pods;
pub(crate) mod read;
pub(crate) mod scale;
pub(crate) mod selector;
pub(crate) mod table;
pub(crate) mod watch;
