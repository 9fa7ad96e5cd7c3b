//! Errors in histories, with the place and a remedy.

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
        /// The error of the operating system.
        reason: String,
        /// The remedy.
        #[help]
        help: String,
    },
    /// A line is wrong.
    #[error("{path}:{line}:{column}: {what}")]
    Line {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1, in bytes.
        column: usize,
        /// The error.
        what: String,
        /// The remedy.
        #[help]
        help: String,
    },
}
