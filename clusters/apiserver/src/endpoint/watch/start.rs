//! Reads from the query where a watch starts.

use crate::endpoint::list_options::{ListOptions, revision};
use crate::http::failure::Failure;

/// Where the query wants a watch to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With what is there, once the server has reached this revision.
    Present { at_least: u64 },
    /// With the next change.
    Now,
    /// With the first change after this revision, which may be yet to come.
    After(u64),
}

/// Reads where to start.
///
/// # Errors
/// Internal, as the real server has it, where the resource version is not one.
pub(super) fn start(options: &ListOptions<'_>) -> Result<Start, Failure> {
    let revision = revision(options.resource_version).map_err(Failure::internal)?;
    Ok(match options.send_initial_events {
        Some(true) => Start::Present { at_least: revision },
        Some(false) if revision == 0 => Start::Now,
        None if revision == 0 => Start::Present { at_least: 0 },
        _ => Start::After(revision),
    })
}
