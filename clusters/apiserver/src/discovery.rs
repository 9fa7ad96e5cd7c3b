//! What is not a resource: discovery, health, the version.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::builtin::BUILTIN;
use crate::failure::Failure;
use crate::kinds::{Kind, api_version};
use crate::request::ResourcePath;
use crate::respond::{self, ApiBody};
use crate::review::REVIEWS;
use crate::server::{ApiServer, State};

/// Answers a request for a path that is no resource.
pub(crate) fn answer(
    server: &ApiServer,
    parts: &Parts,
    path: &[String],
) -> Result<Response<ApiBody>, Failure> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    if let ["readyz" | "healthz" | "livez", ..] = words.as_slice() {
        return Ok(health(server.inner.state().ready, words[0]));
    }
    let state = server.inner.state();
    let body = match words.as_slice() {
        [] => Some(paths(&state)),
        ["version"] => Some(version()),
        ["api"] => Some(core()),
        ["apis"] => Some(groups(&state)),
        ["apis", name] => group(&state, name),
        ["api", version] => resources(&state, "", version),
        ["apis", name, version] => resources(&state, name, version),
        _ => return Ok(respond::page_not_found()),
    };
    match body {
        None => Ok(respond::page_not_found()),
        Some(_) if parts.method != Method::GET => Err(Failure::method_not_allowed()),
        Some(body) => Ok(respond::json(StatusCode::OK, &body)),
    }
}

/// Answers a request for a resource that there is not: a group version that is served says so in a status.
pub(crate) fn unknown(server: &ApiServer, path: &ResourcePath) -> Result<Response<ApiBody>, Failure> {
    let state = server.inner.state();
    let served = |kind: &Arc<Kind>| kind.group == path.group && kind.version == path.version;
    let built_in = BUILTIN.iter().any(served);
    if built_in { Err(Failure::no_resource()) } else { Ok(not_served(&state, path)) }
}

fn not_served(_: &State, _: &ResourcePath) -> Response<ApiBody> {
    respond::page_not_found()
}

fn health(ready: bool, check: &str) -> Response<ApiBody> {
    if ready {
        return respond::text(StatusCode::OK, "ok");
    }
    let report = format!("[+]ping ok\n[-]{check} failed: reason withheld\n{check} check failed\n");
    respond::text(StatusCode::INTERNAL_SERVER_ERROR, report)
}

fn version() -> Value {
    json!({"major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35", "gitVersion": "v1.36.2", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "linux/amd64"})
}

fn paths(state: &State) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".into(), "/apis".into()];
    for (name, versions) in group_versions(state) {
        paths.push(format!("/apis/{name}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{name}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/readyz", "/version"].map(str::to_owned));
    json!({"paths": paths})
}

fn core() -> Value {
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}]);
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
}

/// The versions of every group but the core one, the most preferred first.
fn group_versions(state: &State) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in state.kinds().filter(|kind| !kind.group.is_empty()) {
        let versions = groups.entry(kind.group.to_string()).or_default();
        if !versions.iter().any(|version| *version == kind.version) {
            versions.push(kind.version.to_string());
        }
    }
    for (group, ..) in REVIEWS {
        groups.insert(group.to_owned(), vec!["v1".to_owned()]);
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
    }
    groups
}

/// How Kubernetes ranks versions: releases before betas before alphas, then by number, then other names.
fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let other = (0, 0, 0, std::cmp::Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..digits].parse() else { return other };
    let (stage, minor) = match &rest[digits..] {
        "" => (3, ""),
        tail if tail.starts_with("beta") => (2, &tail[4..]),
        tail if tail.starts_with("alpha") => (1, &tail[5..]),
        _ => return other,
    };
    (stage, major, minor.parse().unwrap_or(0), std::cmp::Reverse(String::new()))
}

fn describe(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": api_version(name, version), "version": version});
    let all: Vec<_> = versions.iter().map(version).collect();
    json!({"name": name, "versions": all, "preferredVersion": all.first()})
}

fn groups(state: &State) -> Value {
    let groups: Vec<_> =
        group_versions(state).iter().map(|(name, versions)| describe(name, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group(state: &State, name: &str) -> Option<Value> {
    let mut group = describe(name, group_versions(state).get(name)?);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

fn resources(state: &State, group: &str, version: &str) -> Option<Value> {
    let kinds = state.kinds().filter(|kind| kind.group == group && kind.version == version);
    let reviews = REVIEWS.iter().filter(|(known, ..)| *known == group && version == "v1");
    let reviews = reviews.map(|(_, plural, kind, namespaced)| {
        json!({"name": plural, "singularName": kind.to_lowercase(), "namespaced": namespaced, "kind": kind,
            "verbs": ["create"]})
    });
    let resources: Vec<_> = kinds.flat_map(|kind| entries(kind)).chain(reviews).collect();
    let list = json!({"kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": api_version(group, version), "resources": resources});
    (!resources.is_empty()).then_some(list)
}

/// The entries of a kind and of its subresources.
fn entries(kind: &Kind) -> Vec<Value> {
    let verbs: &[&str] = if kind.is_custom() {
        &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    } else {
        &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    };
    let mut entry = json!({"name": kind.plural, "singularName": kind.singular, "namespaced": kind.traits.namespaced,
        "kind": kind.kind, "verbs": verbs, "storageVersionHash": storage_hash(kind)});
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        entry["categories"] = json!(kind.categories);
    }
    let mut entries = vec![entry];
    let verbs = ["get", "patch", "update"];
    let sub = |name: &str, kind_name: &str| {
        json!({"name": format!("{}/{name}", kind.plural), "singularName": "",
            "namespaced": kind.traits.namespaced, "kind": kind_name, "verbs": verbs})
    };
    if kind.traits.status {
        entries.push(sub("status", &kind.kind));
    }
    if kind.scale.is_some() {
        let mut scale = sub("scale", "Scale");
        scale["group"] = "autoscaling".into();
        scale["version"] = "v1".into();
        entries.push(scale);
    }
    entries
}

/// The first eight bytes of the SHA-256 of `group/version/Kind` of the stored version, in base64.
fn storage_hash(kind: &Kind) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let name = format!("{}/{}/{}", kind.group, kind.stored_version, kind.kind);
    let hash = sha2::Sha256::digest(name.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_come_before_betas_before_alphas() {
        let mut versions = ["v1alpha1", "v2", "foo", "v1", "v1beta2", "v1beta1", "v10"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }
}
