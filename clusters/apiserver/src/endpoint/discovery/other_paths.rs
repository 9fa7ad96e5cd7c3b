//! Answers requests for paths that are not resources: discovery, version, health, metrics, OpenAPI.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use bytes::Bytes;
use capsize_sorted::CollectSorted;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use super::aggregated;
use super::groups::{self, group_versions};
use super::resources::{Resource, built_in_resources, resources};
use crate::endpoint::health;
use crate::endpoint::openapi;
use crate::http::failure::Failure;
use crate::http::negotiate;
use crate::http::request::{Query, ResourcePath};
use crate::http::respond::{self, ApiBody};
use crate::kind::builtin::BUILTIN;
use crate::kind::kinds::{Kind, api_version};
use crate::state::{ApiServer, State};
use crate::store::encoded::encode;

/// The media type of metrics.
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Answers a request for a path that is not a resource.
///
/// # Errors
/// If the path does not support the method, or the server cannot produce a form that the client accepts.
pub(crate) fn answer(
    server: &ApiServer,
    parts: &Parts,
    path: &[String],
) -> Result<Response<ApiBody>, Failure> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    if let ["openapi", path @ ..] = words.as_slice() {
        return Ok(openapi::answer(server, parts, path, &query));
    }
    let state = server.inner.state();
    let body = match words.as_slice() {
        ["metrics"] => {
            let mut answer = respond::text(StatusCode::OK, server.inner.metrics.text(&state.store));
            answer.headers_mut().insert(header::CONTENT_TYPE, PROMETHEUS);
            return Ok(answer);
        }
        ["readyz" | "healthz" | "livez", ..] => return Ok(health::answer(state.ready, &words, &query)),
        [] => Some(paths(&state)),
        ["version"] => Some(version()),
        ["api" | "apis"] if parts.method == Method::GET => match aggregated::wanted(parts) {
            Some(wanted) => return Ok(aggregated::answer(&state, parts, words[0] == "api", wanted)),
            None => Some(if words[0] == "api" { core() } else { groups::list(&state) }),
        },
        ["api" | "apis"] => Some(Value::Null),
        ["apis", name] => groups::one(&state, name),
        ["api", version] => return list(&state, (parts, &query), "", version),
        ["apis", name, version] => return list(&state, (parts, &query), name, version),
        _ => None,
    };
    match body {
        None => Ok(respond::page_not_found()),
        Some(_) if parts.method != Method::GET => Err(Failure::method_not_allowed()),
        Some(body) => {
            let form = negotiate::plain(parts, &query)?;
            Ok(respond::in_media(respond::json(StatusCode::OK, &body), form))
        }
    }
}

/// The warning for clients that use a deprecated built-in kind.
pub(crate) fn deprecation(kind: &Kind) -> Option<&'static str> {
    kind.is_core("endpoints")
        .then_some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
}

/// Answers a request for an unknown resource.
/// In a built-in group version the response is a status, otherwise plain text.
///
/// # Errors
/// Not found.
pub(crate) fn unknown(
    server: &ApiServer,
    parts: &Parts,
    path: &ResourcePath,
) -> Result<Response<ApiBody>, Failure> {
    let built_in = crate::kind::builtin::BUILTIN
        .iter()
        .any(|kind| kind.group == path.group && kind.version == path.version);
    if !built_in && !crate::endpoint::access_review::REVIEWS.iter().any(|(group, ..)| *group == path.group) {
        return Ok(respond::page_not_found());
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let statuses = path.group.is_empty() && path.plural == "componentstatuses" && path.namespace.is_empty();
    match (statuses, path.name.as_str()) {
        (true, _) if parts.method != Method::GET => Err(Failure::method_not_allowed()),
        // The components whose health the list would contain do not exist here.
        (true, "") => {
            let metadata = json!({"resourceVersion": server.inner.state().store.revision().to_string()});
            let list =
                json!({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": metadata, "items": []});
            let answer =
                respond::in_media(respond::json(StatusCode::OK, &list), negotiate::plain(parts, &query)?);
            Ok(respond::with_warnings(answer, &["v1 ComponentStatus is deprecated in v1.19+".to_owned()]))
        }
        _ => Err(Failure::no_resource()),
    }
}

fn version() -> Value {
    json!({"major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35", "gitVersion": "v1.36.2", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "linux/amd64"})
}

fn paths(state: &State) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".into(), "/apis".into()];
    for group in group_versions(state).iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{version}", group.name)));
    }
    paths.extend(health::paths());
    let documents = ["/metrics", "/openapi/v2", "/openapi/v3", "/version"].map(str::to_owned);
    paths.extend(documents);
    paths.sort();
    json!({"paths": paths})
}

fn core() -> Value {
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}]);
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
}

/// The texts of resource lists that are equal on all servers.
/// All servers of the process share them, because clients request them from every server.
static BUILT_IN: LazyLock<BTreeMap<(&str, &str), Bytes>> = LazyLock::new(|| {
    let versions: BTreeSet<_> = BUILTIN.iter().map(|kind| (&*kind.group, &*kind.version)).collect_sorted();
    let list = |(group, version)| {
        let list = list_of(&built_in_resources(group, version), group, version);
        ((group, version), encode(&list).bytes)
    };
    versions.into_iter().map(list).collect_sorted()
});

/// Answers with the `APIResourceList` of a group version.
fn list(
    state: &State,
    (parts, query): (&Parts, &Query),
    group: &str,
    version: &str,
) -> Result<Response<ApiBody>, Failure> {
    let is_extended = state.custom.iter().any(|kind| kind.group == group && kind.version == version);
    let text = BUILT_IN.get(&(group, version)).filter(|_| !is_extended).cloned();
    let text = text.or_else(|| {
        let resources = resources(state, group, version);
        (!resources.is_empty()).then(|| encode(&list_of(&resources, group, version)).bytes)
    });
    let Some(text) = text else { return Ok(respond::page_not_found()) };
    if parts.method != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    let form = negotiate::plain(parts, query)?;
    Ok(respond::in_media(respond::json_bytes(StatusCode::OK, text), form))
}

fn list_of(resources: &[Resource], group: &str, version: &str) -> Value {
    let entries: Vec<_> = resources.iter().flat_map(entries).collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": api_version(group, version),
        "resources": entries});
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

/// The entries of a resource and of its subresources.
fn entries(resource: &Resource) -> Vec<Value> {
    let entry = |name: String, singular: &str, kind: &str, verbs: &[&str]| {
        let entry = json!({"name": name, "singularName": singular, "namespaced": resource.namespaced,
            "kind": kind, "verbs": verbs});
        match entry {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    };
    let mut own = entry(resource.name.clone(), &resource.singular, &resource.kind, resource.verbs);
    for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            own.insert(field.into(), json!(list));
        }
    }
    if let Some(hash) = &resource.storage_hash {
        own.insert("storageVersionHash".into(), hash.as_str().into());
    }
    let subresources = resource.subresources.iter().map(|sub| {
        let mut entry_of_sub = entry(format!("{}/{}", resource.name, sub.name), "", &sub.kind, sub.verbs);
        if let Some((group, version)) = sub.group_version {
            entry_of_sub.insert("group".into(), group.into());
            entry_of_sub.insert("version".into(), version.into());
        }
        entry_of_sub
    });
    std::iter::once(own).chain(subresources).map(Value::Object).collect()
}
