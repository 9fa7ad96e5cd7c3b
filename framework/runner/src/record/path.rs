//! The resources of a cluster that are recorded: their API paths, and which of them it serves.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::core::{ApiResource, GroupVersion};

use crate::objects::karmada as objects;
use capsize_history::dialect::DialectKind;

/// A resource that is recorded, in all namespaces or in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind.
    pub(super) kind: ApiResource,
    /// The only namespace that is recorded, if it is one.
    pub(super) namespace: Option<String>,
}

/// The built-in resources that users propagate.
/// These are templates in the control plane, and copies in the members.
const PLACED: [&str; 11] = [
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/daemonsets",
    "/apis/batch/v1/jobs",
    "/apis/batch/v1/cronjobs",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/namespaces",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
];

/// The resources of a cluster with nodes.
const NODES: [&str; 3] =
    ["/api/v1/nodes", "/api/v1/pods", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"];

/// The paths that a judge needs from the control plane.
#[must_use]
pub fn of_control_plane(dialect: &DialectKind) -> Vec<String> {
    let paths = match dialect {
        DialectKind::Karmada => {
            let mut paths = objects::WATCHED_IN_CONTROL_PLANE.to_vec();
            paths.extend(PLACED.into_iter().filter(|path| !objects::WATCHED_IN_CONTROL_PLANE.contains(path)));
            paths
        }
        DialectKind::Nodes => NODES.to_vec(),
        DialectKind::Data(data) => {
            return data.program().map(|program| program.control_plane_paths()).unwrap_or_default();
        }
    };
    paths.into_iter().map(str::to_owned).collect()
}

/// The paths that a judge needs from a member.
#[must_use]
pub fn of_members(dialect: &DialectKind) -> Vec<String> {
    match dialect {
        DialectKind::Karmada => PLACED.map(str::to_owned).to_vec(),
        DialectKind::Nodes => Vec::new(),
        DialectKind::Data(data) => data.program().map(|program| program.member_paths()).unwrap_or_default(),
    }
}

/// Returns true if `path` is the API path of a resource.
#[must_use]
pub fn is_place(path: &str) -> bool {
    place(path).is_some()
}

/// An API path in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    group: &'a str,
    version: &'a str,
    namespace: Option<&'a str>,
    plural: &'a str,
}

/// Parses paths such as `/apis/apps/v1/deployments` and `/api/v1/pods`.
/// A path may name a namespace, as `/api/v1/namespaces/kube-system/pods` does.
fn place(path: &str) -> Option<Place<'_>> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    match *rest {
        [plural] => Some(Place { group, version, namespace: None, plural }),
        ["namespaces", namespace, plural] => {
            Some(Place { group, version, namespace: Some(namespace), plural })
        }
        _ => None,
    }
}

/// The plural names of resources by group, for each namespace to which they are limited.
pub type Privileges = BTreeMap<Option<String>, BTreeMap<String, BTreeSet<String>>>;

/// The resources at `paths`, which an account that records them must be allowed to list and watch.
#[must_use]
pub fn privileges<'a>(paths: impl IntoIterator<Item = &'a str>) -> Privileges {
    let mut privileges = Privileges::new();
    for place in paths.into_iter().filter_map(place) {
        let groups = privileges.entry(place.namespace.map(str::to_owned)).or_default();
        groups.entry(place.group.to_owned()).or_default().insert(place.plural.to_owned());
    }
    privileges
}

/// The resources among `paths` that the cluster serves, in their order.
///
/// # Errors
/// Any error of the cluster except for an unknown group.
pub async fn served(client: &Client, paths: &[&str]) -> Result<Vec<Resource>, kube::Error> {
    let mut lists: BTreeMap<(&str, &str), Option<APIResourceList>> = BTreeMap::new();
    let mut served = Vec::new();
    for place in paths.iter().filter_map(|path| place(path)) {
        let list = match lists.entry((place.group, place.version)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(resources(client, place.group, place.version).await?),
        };
        let mut list = list.iter().flat_map(|list| &list.resources);
        if let Some(found) = list.find(|resource| resource.name == place.plural) {
            let version = GroupVersion::gv(place.group, place.version);
            let kind = ApiResource::from_gvk_with_plural(&version.with_kind(&found.kind), place.plural);
            served.push(Resource { kind, namespace: place.namespace.map(str::to_owned) });
        }
    }
    Ok(served)
}

async fn resources(
    client: &Client,
    group: &str,
    version: &str,
) -> Result<Option<APIResourceList>, kube::Error> {
    let list = match group {
        "" => client.list_core_api_resources(version).await,
        group => client.list_api_group_resources(&format!("{group}/{version}")).await,
    };
    match list {
        Ok(list) => Ok(Some(list)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_group_unless_it_is_of_the_core() {
        let is = |path, group, version, namespace, plural| {
            assert_eq!(place(path), Some(Place { group, version, namespace, plural }), "{path}");
        };
        is("/api/v1/pods", "", "v1", None, "pods");
        is("/apis/apps/v1/deployments", "apps", "v1", None, "deployments");
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        is(leases, "coordination.k8s.io", "v1", Some("kube-node-lease"), "leases");
        assert_eq!(place("/healthz"), None);
    }
}
