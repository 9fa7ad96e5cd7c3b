//! The recorded format, version 1: entries, and how they are read and written as JSON Lines.
//!
//! Dialects interpret the objects in the entries.

mod cursor;
pub mod digest;
mod entry;
mod error;
mod fault;
mod input;
mod mark;
mod object;
mod observer;
mod read;
mod recall;
mod schema;
mod split;
mod tree;
mod write;

pub use entry::{CONTROL_PLANE, Entry, EventType, Kind, Mark};
pub use error::HistoryError;
pub use fault::{FaultKind, ProbeFailure};
pub use input::{Input, open, text_of};
pub use mark::misspelt;
pub use object::{Field, Object};
pub use observer::Observer;
pub use read::{FOREVER, LONGEST, Reader, VERSION, read};
pub use recall::Recall;
pub use schema::schema;
pub use tree::Tree;
pub use write::Writer;
