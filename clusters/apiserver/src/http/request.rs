//! Reads the path and the query of a request.

use std::borrow::Cow;
use std::num::{IntErrorKind, ParseIntError};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::http::failure::{Cause, Failure};

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/api`, `/apis`, `/apis/{group}`, a group version, or any other path that is not a resource.
    Other(Vec<String>),
    /// A resource, or a collection if `name` is empty.
    Resource(ResourcePath),
}

/// The path of a resource. Absent parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub plural: String,
    pub name: String,
    pub subresource: String,
    /// The path is of the old form `/api/v1/watch/…`.
    pub watch: bool,
}

impl ResourcePath {
    /// Returns true for the collection that accepts Bindings.
    pub(crate) fn is_bindings_collection(&self) -> bool {
        self.plural == "bindings" && self.group.is_empty() && self.version == "v1" && self.name.is_empty()
    }
}

/// Reads a path.
pub(crate) fn parse_path(path: &str) -> Target {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let segments: Vec<Cow<'_, str>> =
        segments.map(|segment| percent_decode_str(segment).decode_utf8_lossy()).collect();
    let words: Vec<&str> = segments.iter().map(Cow::as_ref).collect();
    let (group, version, rest) = match words.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Target::Other(segments.into_iter().map(Cow::into_owned).collect()),
    };
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        _ => (false, rest),
    };
    let (namespace, rest) = match rest {
        // A namespace is a resource, and has subresources.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        _ => ("", rest),
    };
    let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
    Target::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural: part(0),
        name: part(1),
        subresource: rest.get(2..).unwrap_or_default().join("/"),
        watch,
    })
}

/// The query of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The value of a parameter; empty if the query does not have the parameter.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns true if the query has the parameter, with or without a value.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Every value of a parameter that may be given more than once.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if a flag is set.
    /// As in real API servers, every value except `0` and `false` sets the flag.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.all(name).next().is_some_and(|value| !matches!(value.to_lowercase().as_str(), "0" | "false"))
    }

    /// The value of a numeric parameter; `None` if the query does not have the parameter.
    ///
    /// # Errors
    /// A bad request if the value is not a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        let Some(text) = self.all(name).next() else { return Ok(None) };
        let wrong = |error| Failure::bad_request(unparsable("ParseInt", text, &error));
        text.parse().map(Some).map_err(wrong)
    }

    /// Returns true if the request is a dry run.
    ///
    /// # Errors
    /// Invalid if the parameter has a value other than `All`; the message names the kind `options`.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool, Failure> {
        let values: Vec<&str> = self.all("dryRun").filter(|value| !value.is_empty()).collect();
        match values.as_slice() {
            [] => Ok(false),
            values if values.iter().all(|value| *value == "All") => Ok(true),
            values => {
                let shown = Value::from(values.to_vec());
                Err(Failure::invalid_options(options, &[Cause::unsupported("dryRun", &shown, &["All"])]))
            }
        }
    }
}

/// A resource version as a number.
///
/// # Errors
/// The error text of Go's `ParseUint`.
pub(crate) fn parse_revision(text: &str) -> Result<u64, String> {
    // `ParseUint` does not accept a sign.
    let digits = if text.starts_with('+') { "" } else { text };
    digits.parse().map_err(|error| unparsable("ParseUint", text, &error))
}

/// The error text of Go for a number that cannot be parsed.
fn unparsable(function: &str, text: &str, error: &ParseIntError) -> String {
    let why = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {text:?}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> [String; 6] {
        match parse_path(path) {
            Target::Resource(p) => [p.group, p.version, p.namespace, p.plural, p.name, p.subresource],
            Target::Other(segments) => panic!("{segments:?}"),
        }
    }

    #[test]
    fn paths_lead_to_resources() {
        let table = [
            ("/api/v1/pods", ["", "v1", "", "pods", "", ""]),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/a", ["", "v1", "", "namespaces", "a", ""]),
            ("/api/v1/namespaces/a/finalize", ["", "v1", "", "namespaces", "a", "finalize"]),
            ("/api/v1/namespaces/a/pods/b/status", ["", "v1", "a", "pods", "b", "status"]),
            ("/apis/apps/v1/namespaces/a/deployments", ["apps", "v1", "a", "deployments", "", ""]),
            ("/apis/rbac.x/v1/roles/system%3Aa", ["rbac.x", "v1", "", "roles", "system:a", ""]),
        ];
        for (path, expected) in table {
            assert_eq!(resource(path), expected.map(str::to_owned), "{path}");
        }
        assert!(matches!(parse_path("/apis/apps/v1"), Target::Other(_)));
        assert!(matches!(parse_path("/version"), Target::Other(_)));
    }

    #[test]
    fn a_flag_is_set_by_anything_but_zero_and_false() {
        let query = Query::parse("a=1&b=0&c=false&d=&e=true");
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|name| query.flag(name)),
            [true, false, false, true, true, false]
        );
    }
}
