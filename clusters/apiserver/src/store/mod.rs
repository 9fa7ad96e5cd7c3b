//! The storage of the server: the versions of its objects, and the logs of writes.

pub(crate) mod backup;
pub(crate) mod encoded;
mod objects;
mod table;
mod version;

pub(crate) use objects::{Snapshot, Store, key, object_key};
pub(crate) use table::Event;
pub(crate) use version::{SEPARATOR, Version};
