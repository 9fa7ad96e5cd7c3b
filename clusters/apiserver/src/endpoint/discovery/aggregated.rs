//! Aggregated discovery: all of `/api` or `/apis` in one document.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use super::documents::{Document, Documents};
use super::groups::group_versions;
use super::resources::{Resource, resources};
use crate::http::negotiate::{self, Clause};
use crate::http::respond::{self, ApiBody};
use crate::state::State;
use crate::store::encoded::encode;

/// The form of aggregated discovery that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestedForm {
    version: &'static str,
    /// The client wants only resources of this server, without peers. This server has no peers.
    no_peer: bool,
}

/// The aggregated form that the client requests, if any.
/// The server uses the old form only if the client names no aggregated form. The order in the `Accept` header does not
/// matter.
pub(super) fn wanted(parts: &Parts) -> Option<RequestedForm> {
    negotiate::clauses(&parts.headers).iter().find_map(|clause| {
        let known = clause.media.matches(&["application/json", "application/yaml"]);
        let asked = |name| clause.parameter(name);
        if !known || asked("g") != "apidiscovery.k8s.io" || asked("as") != "APIGroupDiscoveryList" {
            return None;
        }
        let version = match asked("v") {
            "v2" => "v2",
            "v2beta1" => "v2beta1",
            _ => return None,
        };
        Some(RequestedForm { version, no_peer: Clause::parameter(clause, "profile") == "nopeer" })
    })
}

/// The documents of servers without custom kinds.
/// All servers of the process share them, because clients request them from every server.
static BUILT_IN: Documents = Mutex::new(BTreeMap::new());

/// Answers with the document, or with 304 if the client has it already.
pub(super) fn answer(state: &State, parts: &Parts, core: bool, wanted: RequestedForm) -> Response<ApiBody> {
    let known = if state.custom.is_empty() { &BUILT_IN } else { &state.documents };
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let document = known.entry((core, wanted.version)).or_insert_with(|| {
        let text = encode(&document(state, core, wanted.version)).bytes;
        Document { tag: respond::hash(&text), text }
    });
    let whole = respond::json_bytes(StatusCode::OK, document.text.clone());
    let mut response = respond::cacheable(&parts.headers, whole, &document.tag);
    let profile = if wanted.no_peer { ";profile=nopeer" } else { "" };
    let content_type = format!(
        "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList{profile}",
        wanted.version
    );
    if let (StatusCode::OK, Ok(value)) = (response.status(), HeaderValue::from_str(&content_type)) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

fn document(state: &State, core: bool, version: &str) -> Value {
    let groups = group_versions(state);
    let groups = groups.iter().filter(|group| group.name.is_empty() == core);
    let items: Vec<_> = groups
        .map(|group| {
            let version = |version: &String| {
                let resources = resources(state, &group.name, version);
                let described = resources.iter().map(|resource| describe(resource, &group.name, version));
                json!({"version": version, "resources": described.collect::<Vec<_>>(), "freshness": "Current"})
            };
            let metadata = if core { json!({}) } else { json!({"name": group.name}) };
            json!({"metadata": metadata, "versions": group.versions.iter().map(version).collect::<Vec<_>>()})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items})
}

fn describe(resource: &Resource, group: &str, version: &str) -> Value {
    // For built-in kinds the group and version are empty, as in a real server.
    let own = if resource.custom { (group, version) } else { ("", "") };
    let kind = |of: (&str, &str), kind: &str| json!({"group": of.0, "version": of.1, "kind": kind});
    let mut described = Map::new();
    described.insert("resource".into(), resource.name.as_str().into());
    described.insert("responseKind".into(), kind(own, &resource.kind));
    described.insert("scope".into(), if resource.namespaced { "Namespaced" } else { "Cluster" }.into());
    described.insert("singularResource".into(), resource.singular.as_str().into());
    described.insert("verbs".into(), json!(resource.verbs));
    for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            described.insert(field.into(), json!(list));
        }
    }
    let subresources: Vec<_> = resource
        .subresources
        .iter()
        .map(|sub| {
            let kind = kind(sub.group_version.unwrap_or(own), &sub.kind);
            json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
        })
        .collect();
    if !subresources.is_empty() {
        described.insert("subresources".into(), Value::Array(subresources));
    }
    Value::Object(described)
}
