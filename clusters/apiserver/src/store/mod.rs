//! What the server keeps: the versions of its objects, and the log of what was written.

pub(crate) mod backup;
pub(crate) mod encoded;
mod objects;
mod table;
mod version;

pub(crate) use objects::{Snapshot, Store, key, object_key};
pub(crate) use table::Event;
pub(crate) use version::{SEPARATOR, Version};
