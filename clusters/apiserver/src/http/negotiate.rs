//! Chooses the form of a response by the `Accept` header: media type, objects, table, or metadata.

use http::request::Parts;
use http::{HeaderMap, header};

use crate::http::failure::Failure;
use crate::http::request::Query;
use crate::kind::kinds::Kind;

/// The media types that the messages of errors list, as in a real server.
pub(crate) const MEDIA: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// The media types of a list, which can be watched.
const STREAMS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, \
                       application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The media types of a watch.
const WATCHES: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The media types that the server produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Yaml,
}

/// The part of the objects that a response shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The whole objects.
    Whole,
    /// One row of a table for each object, in this version of `meta.k8s.io`.
    Table(&'static str),
    /// The metadata of the objects, in this version of `meta.k8s.io`.
    /// `list` is true if the client expects a list.
    Metadata { version: &'static str, list: bool },
}

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub media: Media,
    pub shape: Shape,
    /// JSON with line breaks, for human readers.
    pub pretty: bool,
}

/// One alternative of an `Accept` header.
#[derive(Debug)]
pub(crate) struct Clause<'a> {
    pub media: MediaRange<'a>,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

/// A media type, or a range of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaRange<'a>(&'a str, &'a str);

impl MediaRange<'_> {
    /// The first of `types` that the range includes.
    fn first<'t>(self, types: &[&'t str]) -> Option<&'t str> {
        let taken = |media: &&&str| match (self.0, self.1) {
            ("*", "*") => true,
            (kind, "*") => media.split('/').next() == Some(kind),
            (kind, subtype) => media.split_once('/') == Some((kind, subtype)),
        };
        types.iter().find(taken).copied()
    }

    /// Returns true if the range includes one of `types`.
    pub(crate) fn matches(self, types: &[&str]) -> bool {
        self.first(types).is_some()
    }
}

impl Clause<'_> {
    /// The value of a parameter; empty if the clause does not have the parameter.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    /// Returns true if this clause is tried before `other`.
    /// The relation is not an order: a clause comes first if it has a higher quality or if it is more exact. The
    /// library of real servers sorts in the same way.
    fn precedes(&self, other: &Self) -> bool {
        self.quality > other.quality
            || (self.media.0 != "*" && other.media.0 == "*")
            || (self.media.1 != "*" && other.media.1 == "*")
    }
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';');
    let range = parts.next().unwrap_or_default().trim();
    let media = match range.split_once('/') {
        Some((kind, subtype)) => MediaRange(kind.trim(), subtype.trim()),
        None if range == "*" => MediaRange("*", "*"),
        None => return None,
    };
    let mut quality = 1.0;
    let mut parameters = Vec::new();
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "q" => quality = value.trim().parse().unwrap_or(0.0),
            name => parameters.push((name, value.trim())),
        }
    }
    Some(Clause { media, quality, parameters })
}

/// The alternatives of the client, in the order in which they are tried; empty if the header has none.
pub(crate) fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut clauses: Vec<_> = accept.split(',').filter_map(clause).collect();
    if clauses.len() > 12 {
        clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        return clauses;
    }
    for end in 1..clauses.len() {
        let mut at = end;
        while at > 0 && clauses[at].precedes(&clauses[at - 1]) {
            clauses.swap(at, at - 1);
            at -= 1;
        }
    }
    clauses
}

/// The form of a response with objects of `kind`; `streams` is true if the path is a collection.
///
/// # Errors
/// Not acceptable if the server can produce none of the forms that the client accepts.
pub(crate) fn form(parts: &Parts, query: &Query, kind: &Kind, streams: bool) -> Result<Form, Failure> {
    let accept = parts.headers.get(header::ACCEPT).map_or(&b""[..], |accept| accept.as_bytes());
    let pretty = pretty(parts, query);
    if matches!(accept, b"" | b"application/json") {
        return Ok(Form { media: Media::Json, shape: Shape::Whole, pretty });
    }
    let clauses = clauses(&parts.headers);
    if !kind.is_custom() {
        check_routed(&clauses, if streams { STREAMS } else { MEDIA })?;
    }
    let found = clauses.iter().find_map(|clause| {
        let media = media(clause)?;
        let shape = shape(clause)?;
        Some(Form { media, shape, pretty: pretty || clause.parameter("pretty") == "1" })
    });
    let form = found.ok_or_else(|| Failure::only_accepted(MEDIA))?;
    let watches = streams && (query.flag("watch") || parts.uri.path().contains("/watch/"));
    if watches && form.media == Media::Yaml {
        return Err(Failure::only_accepted(WATCHES));
    }
    Ok(form)
}

/// The form of a response without objects.
///
/// # Errors
/// Not acceptable if the server can produce none of the media types that the client accepts.
pub(crate) fn plain(parts: &Parts, query: &Query) -> Result<Form, Failure> {
    let pretty = pretty(parts, query);
    if !parts.headers.contains_key(header::ACCEPT) {
        return Ok(Form { media: Media::Json, shape: Shape::Whole, pretty });
    }
    let clauses = clauses(&parts.headers);
    check_routed(&clauses, MEDIA)?;
    // Parameters of the media type apply to objects only.
    let media = clauses.iter().find_map(media);
    let media = media.ok_or_else(|| Failure::only_accepted(MEDIA))?;
    Ok(Form { media, shape: Shape::Whole, pretty })
}

/// Refuses a request if the path has none of its media types.
/// A real server checks this before it calls a handler. The ranges `*/*` and `*` count as every media type, but a range
/// such as `application/*` does not count.
fn check_routed(clauses: &[Clause<'_>], available: &str) -> Result<(), Failure> {
    let named = |clause: &Clause<'_>| {
        let MediaRange(kind, subtype) = clause.media;
        (kind, subtype) == ("*", "*")
            || (kind == "application" && matches!(subtype, "json" | "yaml" | "vnd.kubernetes.protobuf"))
    };
    if clauses.is_empty() || clauses.iter().any(named) {
        return Ok(());
    }
    Err(Failure::not_acceptable(available))
}

fn media(clause: &Clause<'_>) -> Option<Media> {
    match clause.media.first(&["application/json", "application/yaml"])? {
        "application/json" => Some(Media::Json),
        _ => Some(Media::Yaml),
    }
}

fn shape(clause: &Clause<'_>) -> Option<Shape> {
    // A client cannot request an API version other than that of the path, or a stream other than a watch.
    if !clause.parameter("sv").is_empty() || !matches!(clause.parameter("stream"), "" | "watch") {
        return None;
    }
    let [kind, group, version] = ["as", "g", "v"].map(|name| clause.parameter(name));
    if kind.is_empty() && group.is_empty() && version.is_empty() {
        return Some(Shape::Whole);
    }
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => "v1",
        ("meta.k8s.io", "v1beta1") => "v1beta1",
        _ => return None,
    };
    match kind {
        "Table" => Some(Shape::Table(version)),
        "PartialObjectMetadata" => Some(Shape::Metadata { version, list: false }),
        "PartialObjectMetadataList" => Some(Shape::Metadata { version, list: true }),
        _ => None,
    }
}

/// Returns true if the response gets line breaks.
/// The query parameter `pretty` decides about line breaks if the client sends the parameter. Otherwise the response
/// gets line breaks if the client is a tool for people.
fn pretty(parts: &Parts, query: &Query) -> bool {
    match query.get("pretty") {
        "" => {}
        value => return matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
    }
    let agent = parts.headers.get(header::USER_AGENT).map_or(&b""[..], |agent| agent.as_bytes());
    [&b"curl"[..], b"Wget", b"Mozilla/5.0"].iter().any(|tool| agent.starts_with(tool))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use http::Request;

    fn chosen(accept: &str) -> Result<(Media, Shape), u16> {
        let (parts, ()) = Request::builder().header("accept", accept).body(()).unwrap().into_parts();
        let form = form(&parts, &Query::default(), builtin("", "v1", "pods"), false);
        form.map(|form| (form.media, form.shape)).map_err(|failure| failure.code.as_u16())
    }

    #[test]
    fn the_first_alternative_that_can_be_made_is_taken() {
        let metadata = Shape::Metadata { version: "v1", list: false };
        let table = [
            ("application/json", Ok((Media::Json, Shape::Whole))),
            ("application/yaml", Ok((Media::Yaml, Shape::Whole))),
            ("application/yaml;q=0.5, application/json", Ok((Media::Json, Shape::Whole))),
            ("*/*, application/yaml", Ok((Media::Yaml, Shape::Whole))),
            ("*", Ok((Media::Json, Shape::Whole))),
            ("application/vnd.kubernetes.protobuf,application/json", Ok((Media::Json, Shape::Whole))),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Ok((Media::Json, Shape::Table("v1"))),
            ),
            ("application/json;as=Table;v=v9;g=meta.k8s.io,*/*", Ok((Media::Json, Shape::Whole))),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
                Ok((Media::Json, metadata)),
            ),
            ("text/html", Err(406)),
            ("application/*", Err(406)),
            ("application/json;as=Table;v=v9;g=meta.k8s.io", Err(406)),
            ("application/json;stream=watch", Ok((Media::Json, Shape::Whole))),
            ("application/json;stream=other", Err(406)),
        ];
        for (accept, expected) in table {
            assert_eq!(chosen(accept), expected, "{accept}");
        }
    }
}
