//! The recorded format, version 1: what an entry is, and how entries are read and written as JSON Lines.
//!
//! What the objects in it mean is left to the dialects.

mod entry;
mod error;
mod read;
mod write;

pub use entry::{Entry, EventType, Kind, Mark};
pub use error::HistoryError;
pub use read::{Reader, VERSION, read};
pub use write::Writer;
