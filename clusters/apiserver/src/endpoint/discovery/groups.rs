//! The served groups with their versions, in the order of preference.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::endpoint::access_review::REVIEWS;
use crate::kind::kinds::api_version;
use crate::state::State;

/// The built-in groups in the order of their priorities in the aggregation layer.
/// Groups of definitions follow in the order of their names.
static ORDER: &[&str] = &[
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// A group and its versions, most preferred first.
#[derive(Debug)]
pub(crate) struct GroupVersions {
    pub name: String,
    pub versions: Vec<String>,
}

/// All served groups, including the core group.
pub(crate) fn group_versions(state: &State) -> Vec<GroupVersions> {
    let mut groups: BTreeMap<(usize, &str), Vec<&str>> = BTreeMap::new();
    let served = state.kinds().map(|kind| (&*kind.group, &*kind.version));
    for (group, version) in served.chain(REVIEWS.iter().map(|(group, ..)| (*group, "v1"))) {
        let rank = ORDER.iter().position(|known| *known == group).unwrap_or(ORDER.len());
        let versions = groups.entry((rank, group)).or_default();
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let ordered = |((_, name), mut versions): ((usize, &str), Vec<&str>)| {
        versions.sort_by_key(|version| Reverse(priority(version)));
        GroupVersions { name: name.to_owned(), versions: versions.into_iter().map(str::to_owned).collect() }
    };
    groups.into_iter().map(ordered).collect()
}

/// Returns the rank of a version in Kubernetes.
/// Releases come before betas, and betas come before alphas. Versions of the same stage are ordered by number. Other
/// names come last.
fn priority(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..digits].parse() else { return other };
    let (stage, minor) = match &rest[digits..] {
        "" => (3, ""),
        tail if tail.starts_with("beta") => (2, &tail[4..]),
        tail if tail.starts_with("alpha") => (1, &tail[5..]),
        _ => return other,
    };
    (stage, major, minor.parse().unwrap_or(0), Reverse(String::new()))
}

/// An entry of the list of groups.
fn describe(group: &GroupVersions) -> Value {
    let version =
        |version: &String| json!({"groupVersion": api_version(&group.name, version), "version": version});
    let all: Vec<_> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "versions": all, "preferredVersion": all.first()})
}

/// The `APIGroupList` of all groups except the core group.
pub(super) fn list(state: &State) -> Value {
    let groups: Vec<_> =
        group_versions(state).iter().filter(|group| !group.name.is_empty()).map(describe).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// The `APIGroup` with the name.
pub(super) fn one(state: &State, name: &str) -> Option<Value> {
    let groups = group_versions(state);
    let mut group = describe(groups.iter().find(|group| group.name == name && !name.is_empty())?);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_come_before_betas_before_alphas() {
        let mut versions = ["v1alpha1", "v2", "foo", "v1", "v1beta2", "v1beta1", "v10"];
        versions.sort_by_key(|version| Reverse(priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }
}
