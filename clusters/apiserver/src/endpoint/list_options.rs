//! Reads and checks the query parameters of lists, watches and deletes of collections.

use crate::endpoint::selector::Selector;
use crate::http::failure::{Cause, Failure};
use crate::http::request::{Query, parse_revision};
use crate::kind::kinds::Kind;

/// The parameters of a list or a watch.
#[derive(Debug)]
pub(crate) struct ListOptions<'q> {
    pub selector: Selector,
    /// The maximum number of objects of a page; `None` if there is no limit.
    pub limit: Option<usize>,
    /// The value of the query; 0 and an absent value mean the same.
    pub timeout_seconds: Option<i64>,
    pub resource_version: &'q str,
    pub resource_version_match: &'q str,
    pub continuation: &'q str,
    /// The value of the query, if given: a watch starts with the existing objects.
    pub send_initial_events: Option<bool>,
    pub bookmarks: bool,
    /// The query asks for a watch. The old paths for watches do not set this field.
    pub watch: bool,
}

/// The state that a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedState {
    /// The present state, which must have reached this revision.
    NotOlderThan(u64),
    /// The state at this revision.
    Exact(u64),
}

impl<'q> ListOptions<'q> {
    /// Reads the query of a request for `kind`.
    ///
    /// # Errors
    /// A bad request if a parameter cannot be read; invalid if parameters contradict each other.
    pub(crate) fn read(query: &'q Query, kind: &Kind) -> Result<Self, Failure> {
        let timeout_seconds = query.number("timeoutSeconds")?;
        let limit = query.number("limit")?.unwrap_or(0);
        let mut options = Self {
            selector: Selector::default(),
            limit: usize::try_from(limit).ok().filter(|limit| *limit > 0),
            timeout_seconds: timeout_seconds.filter(|seconds| *seconds != 0),
            resource_version: query.get("resourceVersion"),
            resource_version_match: query.get("resourceVersionMatch"),
            continuation: query.get("continue"),
            send_initial_events: query.given("sendInitialEvents").then(|| query.flag("sendInitialEvents")),
            bookmarks: query.flag("allowWatchBookmarks"),
            watch: query.flag("watch"),
        };
        let legacy = options.send_initial_events.is_none() && options.resource_version_match.is_empty();
        if options.watch && legacy && matches!(options.resource_version, "" | "0") {
            options.send_initial_events = Some(true);
            options.resource_version_match = "NotOlderThan";
        }
        let (labels, fields) = (query.get("labelSelector"), query.get("fieldSelector"));
        options.selector = Selector::parse_after(labels, fields, kind, || options.check())?;
        Ok(options)
    }

    fn check(&self) -> Result<(), Failure> {
        let causes = if self.watch { self.watch_causes() } else { self.list_causes() };
        if causes.is_empty() { Ok(()) } else { Err(Failure::invalid_options("ListOptions", &causes)) }
    }

    fn list_causes(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        let forbidden = |detail: &str| Cause::forbidden("resourceVersionMatch", detail);
        let matching = self.resource_version_match;
        if !matching.is_empty() {
            if self.resource_version.is_empty() {
                causes
                    .push(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !self.continuation.is_empty() {
                causes.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                causes.push(unsupported(matching, &["Exact", "NotOlderThan", ""]));
            }
            if matching == "Exact" && self.resource_version == "0" {
                causes
                    .push(forbidden(r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#));
            }
        }
        if self.send_initial_events.is_some() {
            causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        causes
    }

    fn watch_causes(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        let forbidden = |detail: &str| Cause::forbidden("resourceVersionMatch", detail);
        let (matching, initial) = (self.resource_version_match, self.send_initial_events.is_some());
        if initial && matching != "NotOlderThan" {
            causes.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if !matching.is_empty() {
            if !initial {
                let detail =
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                causes.push(forbidden(detail));
            }
            if matching != "NotOlderThan" {
                causes.push(unsupported(matching, &["NotOlderThan"]));
            }
            if !self.continuation.is_empty() {
                causes.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        causes
    }

    /// The state that a list without a continue token shows.
    ///
    /// # Errors
    /// A bad request if the resource version is not a number.
    pub(crate) fn wanted(&self) -> Result<RequestedState, Failure> {
        let revision = revision(self.resource_version)
            .map_err(|error| Failure::bad_request(format!("invalid resource version: {error}")))?;
        let limited = self.resource_version_match.is_empty() && self.limit.is_some() && revision > 0;
        let exact = self.resource_version_match == "Exact" || limited;
        Ok(if exact { RequestedState::Exact(revision) } else { RequestedState::NotOlderThan(revision) })
    }
}

fn unsupported(matching: &str, allowed: &[&str]) -> Cause {
    Cause::unsupported("resourceVersionMatch", &matching.into(), allowed)
}

/// The resource version of a query as a number; 0 if the text is empty.
///
/// # Errors
/// The message of a real server for a text that is not a number.
pub(crate) fn revision(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    parse_revision(text).map_err(|error| format!("resourceVersion: Invalid value: {text:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;

    fn read(query: &str) -> Result<RequestedState, String> {
        let query = Query::parse(query);
        let options = ListOptions::read(&query, builtin("", "v1", "pods"));
        options.and_then(|options| options.wanted()).map_err(|failure| failure.message)
    }

    #[test]
    fn lists_show_the_requested_state() {
        let table = [
            ("", RequestedState::NotOlderThan(0)),
            ("limit=2", RequestedState::NotOlderThan(0)),
            ("resourceVersion=0&limit=2", RequestedState::NotOlderThan(0)),
            ("resourceVersion=0&resourceVersionMatch=NotOlderThan", RequestedState::NotOlderThan(0)),
            ("resourceVersion=7", RequestedState::NotOlderThan(7)),
            ("resourceVersion=7&limit=-1", RequestedState::NotOlderThan(7)),
            ("resourceVersion=7&limit=2", RequestedState::Exact(7)),
            ("resourceVersion=7&limit=2&resourceVersionMatch=NotOlderThan", RequestedState::NotOlderThan(7)),
            ("resourceVersion=7&resourceVersionMatch=Exact", RequestedState::Exact(7)),
        ];
        for (query, expected) in table {
            assert_eq!(read(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn parameters_that_do_not_go_together_are_invalid() {
        let prefix = r#"ListOptions.meta.k8s.io "" is invalid: "#;
        let forbidden = "resourceVersionMatch: Forbidden: ";
        let table = [
            ("resourceVersionMatch=Exact", format!("{forbidden}resourceVersionMatch is forbidden unless resourceVersion is provided")),
            ("resourceVersion=1&resourceVersionMatch=A", r#"resourceVersionMatch: Unsupported value: "A": supported values: "Exact", "NotOlderThan", """#.into()),
            ("sendInitialEvents=", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list".into()),
            ("watch=1&sendInitialEvents=0", format!("{forbidden}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")),
            ("watch=1&resourceVersionMatch=NotOlderThan", format!("{forbidden}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")),
            ("watch=1&resourceVersionMatch=NotOlderThan&sendInitialEvents=1&continue=a", format!("{forbidden}resourceVersionMatch is forbidden when continue is provided")),
        ];
        for (query, expected) in table {
            assert_eq!(read(query), Err(format!("{prefix}{expected}")), "{query}");
        }
        let both = read("resourceVersionMatch=Exact&continue=a").unwrap_err();
        assert!(both.starts_with(&format!("{prefix}[{forbidden}")) && both.ends_with("provided]"), "{both}");
    }

    #[test]
    fn unreadable_parameters_are_reported_before_contradictory_ones() {
        let table = [
            ("limit=a&labelSelector=%3D", "strconv.ParseInt: parsing \"a\": invalid syntax"),
            ("timeoutSeconds=", "strconv.ParseInt: parsing \"\": invalid syntax"),
            (
                "labelSelector=%3D&resourceVersionMatch=A",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            ("fieldSelector=a&resourceVersionMatch=A", "invalid selector: 'a'; can't understand 'a'"),
            (
                "resourceVersion=x",
                "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax",
            ),
        ];
        for (query, expected) in table {
            assert_eq!(read(query), Err(expected.to_owned()), "{query}");
        }
    }
}
