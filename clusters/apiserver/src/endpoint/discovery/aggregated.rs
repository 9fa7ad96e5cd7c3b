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

/// What a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    version: &'static str,
    /// Only what this server itself serves, which is all there is.
    no_peer: bool,
}

/// Whether the client takes the aggregated form, and which. The old form is for those who do not name the other,
/// wherever in their list it stands.
pub(super) fn wanted(parts: &Parts) -> Option<Wanted> {
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
        Some(Wanted { version, no_peer: Clause::parameter(clause, "profile") == "nopeer" })
    })
}

/// Those of servers without custom kinds. Controllers of a fleet ask each member for them.
static BUILT_IN: Documents = Mutex::new(BTreeMap::new());

/// The document, or that the client has it already.
pub(super) fn answer(state: &State, parts: &Parts, core: bool, wanted: Wanted) -> Response<ApiBody> {
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
                let told = resources.iter().map(|resource| describe(resource, &group.name, version));
                json!({"version": version, "resources": told.collect::<Vec<_>>(), "freshness": "Current"})
            };
            let metadata = if core { json!({}) } else { json!({"name": group.name}) };
            json!({"metadata": metadata, "versions": group.versions.iter().map(version).collect::<Vec<_>>()})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items})
}

fn describe(resource: &Resource, group: &str, version: &str) -> Value {
    // Of built-in kinds only the kind is told: the rest goes without saying.
    let own = if resource.custom { (group, version) } else { ("", "") };
    let kind = |of: (&str, &str), kind: &str| json!({"group": of.0, "version": of.1, "kind": kind});
    let mut told = Map::new();
    told.insert("resource".into(), resource.name.as_str().into());
    told.insert("responseKind".into(), kind(own, &resource.kind));
    told.insert("scope".into(), if resource.namespaced { "Namespaced" } else { "Cluster" }.into());
    told.insert("singularResource".into(), resource.singular.as_str().into());
    told.insert("verbs".into(), json!(resource.verbs));
    for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            told.insert(field.into(), json!(list));
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
        told.insert("subresources".into(), Value::Array(subresources));
    }
    Value::Object(told)
}
