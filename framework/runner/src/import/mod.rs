//! Turns what kubectl and API servers print into histories: watches, audit logs and dumps.
//!
//! Such files do not contain the times at which a recorder received the events. Times come from the objects and the audit log,
//! and marks say how exact they are.

mod audit;
mod documents;
mod order;
mod times;

pub use documents::{ImportError, ImportedEvent, ImportedFile, import};
pub use order::write_history;
