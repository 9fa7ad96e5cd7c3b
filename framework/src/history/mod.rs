//! The recorded format, version 1: what an entry is, and how entries are read and written as JSON Lines.
//!
//! What the objects in it mean is left to the dialects.

mod entry;
mod error;
mod observer;
mod read;
mod write;

pub use entry::{CONTROL_PLANE, Entry, EventType, Kind, Mark};
pub use error::HistoryError;
pub use observer::Observer;
pub use read::{LONGEST, Reader, VERSION, read};
pub use write::Writer;
