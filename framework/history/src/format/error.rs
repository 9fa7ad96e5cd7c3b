//! What can be wrong with a history, said with the place and what to do about it.

use miette::Diagnostic;
use thiserror::Error;

/// A history that cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum HistoryError {
    /// The file could not be opened or read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
        /// What to do.
        #[help]
        help: String,
    },
    /// A line is wrong.
    #[error("{path}:{line}:{column}: {what}")]
    Line {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// What is wrong.
        what: String,
        /// What to do.
        #[help]
        help: String,
    },
}
