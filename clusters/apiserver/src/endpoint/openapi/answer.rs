//! Answers requests for OpenAPI documents.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use capsize_sorted::CollectSorted;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::custom::{self, CustomKind};
use super::v3::{self, Document};
use super::{v2, v2_binary};
use crate::endpoint::discovery::{Resource, resources};
use crate::http::negotiate;
use crate::http::request::Query;
use crate::http::respond::{self, ApiBody, hash};
use crate::kind::builtin::definitions;
use crate::state::ApiServer;

/// The media types of the binary form of version 2.
/// The first is the type that kubectl requests, and the second is the type of the response.
const BINARY: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

static BUILT_IN: LazyLock<Value> = LazyLock::new(v2::built_in);
static BUILT_IN_BINARY: LazyLock<Vec<u8>> = LazyLock::new(|| v2_binary::encode(&BUILT_IN));

/// The custom kinds of a server.
struct Custom {
    kinds: Vec<CustomKind>,
    /// Group, version and resources of each group version.
    versions: Vec<(String, String, Vec<Resource>)>,
}

impl Custom {
    fn of(server: &ApiServer) -> Self {
        let state = server.inner.state();
        let served = |name: &str| state.custom.iter().any(|kind| &*kind.storage == name);
        let objects = state.store.objects(&definitions().storage).map(|version| version.object());
        let objects =
            objects.filter(|object| served(object["metadata"]["name"].as_str().unwrap_or_default()));
        let kinds = objects.flat_map(|object| custom::kinds(&object)).collect();
        let mut versions: Vec<(String, String)> =
            state.custom.iter().map(|kind| (kind.group.to_string(), kind.version.to_string())).collect();
        versions.dedup();
        let with_resources = |(group, version): (String, String)| {
            let resources = resources(&state, &group, &version);
            (group, version, resources)
        };
        Self { kinds, versions: versions.into_iter().map(with_resources).collect() }
    }

    fn documents(&self) -> BTreeMap<String, Document> {
        let document = |(group, version, resources): &(String, String, Vec<Resource>)| {
            (v3::path(group, version), v3::custom(group, version, resources, &self.kinds))
        };
        self.versions.iter().map(document).collect_sorted()
    }
}

/// Answers a request for `/openapi/` followed by the segments of `path`.
pub(crate) fn answer(server: &ApiServer, parts: &Parts, path: &[&str], query: &Query) -> Response<ApiBody> {
    match path {
        ["v2"] => version_2(server, parts),
        ["v3"] => index(server),
        ["v3", rest @ ..] => version_3(server, parts, &rest.join("/"), query),
        _ => respond::page_not_found(),
    }
}

/// Answers with the list of documents, as plain text.
fn index(server: &ApiServer) -> Response<ApiBody> {
    let custom = Custom::of(server).documents();
    let entry = |(path, document): (&String, &Document)| {
        let url = format!("/openapi/v3/{path}?hash={}", document.hash);
        (path.clone(), json!({"serverRelativeURL": url}))
    };
    let paths: serde_json::Map<String, Value> =
        v3::DOCUMENTS.iter().chain(&custom).map(entry).collect_sorted();
    respond::text(StatusCode::OK, json!({"paths": paths}).to_string())
}

fn not_acceptable() -> Response<ApiBody> {
    respond::text(StatusCode::NOT_ACCEPTABLE, "")
}

/// The first of `types` that the client accepts.
fn accepted<'t>(parts: &Parts, types: &[&'t str]) -> Option<&'t str> {
    if !parts.headers.contains_key(header::ACCEPT) {
        return types.first().copied();
    }
    negotiate::clauses(&parts.headers)
        .iter()
        .find_map(|clause| types.iter().find(|media| clause.media.matches(&[media])).copied())
}

fn version_3(server: &ApiServer, parts: &Parts, path: &str, query: &Query) -> Response<ApiBody> {
    let custom = || Custom::of(server).documents().remove(path);
    let Some(document) = v3::DOCUMENTS.get(path).cloned().or_else(custom) else {
        return respond::page_not_found();
    };
    if accepted(parts, &["application/json"]).is_none() {
        return not_acceptable();
    }
    let wanted = query.get("hash");
    if !wanted.is_empty() && wanted != document.hash {
        let mut response = respond::text(StatusCode::MOVED_PERMANENTLY, "");
        let url = format!("/openapi/v3/{path}?hash={}", document.hash);
        if let Ok(url) = HeaderValue::from_str(&url) {
            response.headers_mut().insert(header::LOCATION, url);
        }
        return response;
    }
    let response = respond::json_bytes(StatusCode::OK, document.bytes);
    let mut response = respond::tagged(&parts.headers, response, &document.hash);
    let headers = response.headers_mut();
    headers.remove(header::CACHE_CONTROL);
    if !wanted.is_empty() {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        let year = jiff::SignedDuration::from_hours(365 * 24);
        let until = server.inner.clock.now().saturating_add(year).unwrap_or(jiff::Timestamp::MAX);
        let until = until.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        if let Ok(until) = HeaderValue::from_str(&until) {
            headers.insert(header::EXPIRES, until);
        }
    }
    response
}

fn version_2(server: &ApiServer, parts: &Parts) -> Response<ApiBody> {
    let Some(media) = accepted(parts, &["application/json", BINARY[0]]) else { return not_acceptable() };
    let custom = Custom::of(server);
    let custom = v2::custom(&custom.versions, &custom.kinds);
    let (bytes, content_type) = if media == BINARY[0] {
        let bytes = [BUILT_IN_BINARY.as_slice(), &v2_binary::encode(&custom)].concat();
        (Bytes::from(bytes), BINARY[1])
    } else {
        (Bytes::from(v2::join(BUILT_IN.clone(), custom).to_string()), media)
    };
    let tag = hash(&bytes);
    let mut response = respond::json_bytes(StatusCode::OK, bytes);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let mut response = respond::tagged(&parts.headers, response, &tag);
    response.headers_mut().remove(header::CACHE_CONTROL);
    response
}
