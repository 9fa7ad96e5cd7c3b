//! The resources of a group version, for both forms of discovery.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::endpoint::access_review::REVIEWS;
use crate::kind::builtin::BUILTIN;
use crate::kind::custom::definition_of;
use crate::kind::kinds::Kind;
use crate::kind::object::is_terminating;
use crate::state::State;

/// A resource as discovery describes it.
#[derive(Debug)]
pub(crate) struct Resource {
    pub name: String,
    pub singular: String,
    pub kind: String,
    pub namespaced: bool,
    /// The resource comes from a definition.
    pub custom: bool,
    pub verbs: &'static [&'static str],
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    /// A hash that identifies the version of storage; only stored resources have one.
    pub storage_hash: Option<String>,
    pub subresources: Vec<Subresource>,
}

/// A subresource as discovery describes it.
#[derive(Debug)]
pub(crate) struct Subresource {
    pub name: &'static str,
    /// The group and version of its kind, if they differ from those of the resource.
    pub group_version: Option<(&'static str, &'static str)>,
    pub kind: String,
    pub verbs: &'static [&'static str],
}

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CUSTOM: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// A custom kind whose definition is being deleted accepts no creates and no updates.
const TERMINATING: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
const NAMESPACES: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const STATUS: &[&str] = &["get", "patch", "update"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
const STREAM: &[&str] = &["create", "get"];
const CREATE: &[&str] = &["create"];

type Row = (
    &'static str,
    &'static str,
    &'static str,
    (&'static str, &'static str),
    &'static str,
    &'static [&'static str],
);

/// The subresources other than `/status` and `/scale`.
/// A row has the group and the plural of the resource, and the name of the subresource. The group and version of the
/// kind follow, if they differ. The kind and the verbs are at the end.
#[rustfmt::skip]
static SUBRESOURCES: &[Row] = &[
    ("", "namespaces", "finalize", ("", ""), "Namespace", &["update"]),
    ("", "nodes", "proxy", ("", ""), "NodeProxyOptions", PROXY),
    ("", "pods", "attach", ("", ""), "PodAttachOptions", STREAM),
    ("", "pods", "binding", ("", ""), "Binding", CREATE),
    ("", "pods", "ephemeralcontainers", ("", ""), "Pod", STATUS),
    ("", "pods", "eviction", ("policy", "v1"), "Eviction", CREATE),
    ("", "pods", "exec", ("", ""), "PodExecOptions", STREAM),
    ("", "pods", "log", ("", ""), "Pod", &["get"]),
    ("", "pods", "portforward", ("", ""), "PodPortForwardOptions", STREAM),
    ("", "pods", "proxy", ("", ""), "PodProxyOptions", PROXY),
    ("", "pods", "resize", ("", ""), "Pod", STATUS),
    ("", "serviceaccounts", "token", ("authentication.k8s.io", "v1"), "TokenRequest", CREATE),
    ("", "services", "proxy", ("", ""), "ServiceProxyOptions", PROXY),
    ("certificates.k8s.io", "certificatesigningrequests", "approval", ("", ""), "CertificateSigningRequest", STATUS),
];

/// Returns the resources of a group version in the order of discovery.
/// The list is empty if the group version is not served.
pub(crate) fn resources(state: &State, group: &str, version: &str) -> Vec<Resource> {
    let custom = state.custom.iter().filter(|kind| kind.group == group && kind.version == version);
    let custom = custom.map(|kind| stored(kind, if is_going(state, kind) { TERMINATING } else { CUSTOM }));
    let mut all: Vec<_> = built_in_resources(group, version).into_iter().chain(custom).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The resources of a group version that are equal on all servers.
pub(crate) fn built_in_resources(group: &str, version: &str) -> Vec<Resource> {
    let kinds = BUILTIN.iter().filter(|kind| kind.group == group && kind.version == version);
    let verbs = |kind: &Kind| if kind.is_core("namespaces") { NAMESPACES } else { ALL };
    let mut all: Vec<_> =
        kinds.map(|kind| stored(kind, verbs(kind))).chain(virtual_ones(group, version)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn stored(kind: &Kind, verbs: &'static [&'static str]) -> Resource {
    let texts = |list: &[std::borrow::Cow<'static, str>]| list.iter().map(ToString::to_string).collect();
    Resource {
        name: kind.plural.to_string(),
        singular: kind.singular.to_string(),
        kind: kind.kind.to_string(),
        namespaced: kind.traits.namespaced,
        custom: kind.is_custom(),
        verbs,
        short_names: texts(&kind.short_names),
        categories: texts(&kind.categories),
        storage_hash: Some(storage_hash(kind)),
        subresources: subresources(kind),
    }
}

/// Returns true if the definition of a custom kind is being deleted.
fn is_going(state: &State, kind: &Kind) -> bool {
    definition_of(state, kind).is_some_and(|definition| is_terminating(&definition.object()))
}

fn subresources(kind: &Kind) -> Vec<Subresource> {
    let own = |name, verbs| Subresource { name, group_version: None, kind: kind.kind.to_string(), verbs };
    let mut all: Vec<_> = SUBRESOURCES
        .iter()
        .filter(|row| !kind.is_custom() && (row.0, row.1) == (&*kind.group, &*kind.plural))
        .map(|(_, _, name, of, sub_kind, verbs)| Subresource {
            name,
            group_version: (!of.0.is_empty()).then_some(*of),
            kind: (*sub_kind).to_owned(),
            verbs,
        })
        .collect();
    if kind.traits.status {
        all.push(own("status", STATUS));
    }
    if kind.scale.is_some() {
        let group_version = Some(("autoscaling", "v1"));
        all.push(Subresource { group_version, kind: "Scale".to_owned(), ..own("scale", STATUS) });
    }
    if !kind.is_custom() {
        all.sort_by_key(|sub| sub.name);
    }
    all
}

/// The resources that are served but not stored.
fn virtual_ones(group: &str, version: &str) -> Vec<Resource> {
    let resource = |name: &str, kind: &str, namespaced, verbs| Resource {
        name: name.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        namespaced,
        custom: false,
        verbs,
        short_names: Vec::new(),
        categories: Vec::new(),
        storage_hash: None,
        subresources: Vec::new(),
    };
    if group.is_empty() && version == "v1" {
        let statuses = resource("componentstatuses", "ComponentStatus", false, &["get", "list"]);
        let statuses = Resource { short_names: vec!["cs".to_owned()], ..statuses };
        return vec![resource("bindings", "Binding", true, CREATE), statuses];
    }
    let reviews = REVIEWS.iter().filter(|(known, ..)| *known == group && version == "v1");
    reviews.map(|(_, plural, kind, namespaced)| resource(plural, kind, *namespaced, CREATE)).collect()
}

/// The first eight bytes of the SHA-256 of `group/version/Kind` of the stored version, in base64.
fn storage_hash(kind: &Kind) -> String {
    // Both event kinds share one storage.
    let group = if kind.is_in_events_group() { "" } else { &*kind.group };
    let name = format!("{group}/{}/{}", kind.stored_version, kind.kind);
    STANDARD.encode(&Sha256::digest(name.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;

    #[test]
    fn the_storage_hash_equals_that_of_real_servers() {
        let hash = |group, plural| storage_hash(builtin(group, "v1", plural));
        assert_eq!(hash("", "pods"), "xPOwRZ+Yhw8=");
        assert_eq!(hash("", "events"), "r2yiGXH7wu8=");
        assert_eq!(hash("events.k8s.io", "events"), "r2yiGXH7wu8=");
    }
}
