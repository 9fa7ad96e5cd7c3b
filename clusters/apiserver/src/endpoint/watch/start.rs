//! Reads the start position of a watch from the query.

use crate::endpoint::list_options::{ListOptions, revision};
use crate::http::failure::Failure;

/// The start position of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The watch starts with the existing objects, once the server has reached this revision.
    Present { at_least: u64 },
    /// The watch starts with the next change.
    Now,
    /// The watch starts with the first change after this revision, which may be in the future.
    After(u64),
}

/// Reads the start position.
///
/// # Errors
/// An internal error, as in a real server, if the resource version is not a number.
pub(super) fn start(options: &ListOptions<'_>) -> Result<Start, Failure> {
    let revision = revision(options.resource_version).map_err(Failure::internal)?;
    Ok(match options.send_initial_events {
        Some(true) => Start::Present { at_least: revision },
        Some(false) if revision == 0 => Start::Now,
        None if revision == 0 => Start::Present { at_least: 0 },
        _ => Start::After(revision),
    })
}
