//! Where a watch starts, by its query.

use crate::failure::{Cause, Failure};
use crate::request::{Query, parse_revision};

/// Where the query wants a watch to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With what is there; a streaming list says in a bookmark where that ends.
    Present { streaming: bool },
    /// With the next change.
    Now,
    /// With the first change after this revision.
    After(u64),
}

/// Reads where to start.
///
/// # Errors
/// Invalid where the parameters do not go together.
pub(super) fn start(query: &Query) -> Result<Start, Failure> {
    let forbidden = |field: &str, detail: &str| {
        Err(Failure::invalid_options("ListOptions", &Cause::forbidden(field, detail)))
    };
    let matching = query.get("resourceVersionMatch");
    let initial = match query.get("sendInitialEvents") {
        "" => None,
        _ => Some(query.flag("sendInitialEvents")),
    };
    match initial {
        None if !matching.is_empty() => {
            return forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        Some(_) if matching != "NotOlderThan" => {
            return forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            );
        }
        Some(true) if !query.flag("allowWatchBookmarks") => {
            return forbidden(
                "allowWatchBookmarks",
                "sendInitialEvents requires setting allowWatchBookmarks to true",
            );
        }
        _ => {}
    }
    let version = query.get("resourceVersion");
    let unset = matches!(version, "" | "0");
    let revision = if unset { 0 } else { revision(version)? };
    Ok(match initial {
        Some(true) => Start::Present { streaming: true },
        None if unset => Start::Present { streaming: false },
        Some(false) if unset => Start::Now,
        _ => Start::After(revision),
    })
}

fn revision(text: &str) -> Result<u64, Failure> {
    parse_revision(text)
        .map_err(|error| Failure::internal(format!("resourceVersion: Invalid value: {text:?}: {error}")))
}
