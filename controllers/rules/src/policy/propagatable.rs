//! Which kinds and objects can be propagated at all, whatever a policy says.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/apigroup.go`, `pkg/util/names/names.go`, `pkg/detector/detector.go`
//! (`EventFilter`), `pkg/util/lifted/discovery.go`; the same in 1.5 but for the pattern of namespaces.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};

use crate::NamePattern;
use crate::api::{NAMESPACE_CLUSTER_LEASES, NAMESPACE_SYSTEM, cluster_of};

/// The groups of the control plane itself, and events.
const SKIPPED_GROUPS: [&str; 7] = [
    "cluster.karmada.io",
    "policy.karmada.io",
    "work.karmada.io",
    "config.karmada.io",
    "networking.karmada.io",
    "autoscaling.karmada.io",
    "events.k8s.io",
];

/// Returns true if objects of a kind are never propagated.
/// These kinds are the control plane's own kinds, events, leases, and the kinds in `also`.
///
/// `also` is as in `--skipped-propagating-apis`: any number of `group`, `group/version` and `group/version/kind,kind`,
/// separated by `;`. Kinds of the core group are `v1/kind,kind`.
#[must_use]
pub fn skips_kind(api_version: &str, kind: &str, also: &str) -> bool {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let named = |token: &str| match token.split('/').collect::<Vec<_>>()[..] {
        [one] => !one.is_empty() && one == group,
        ["v1", kinds] => group.is_empty() && version == "v1" && kinds.split(',').any(|one| one == kind),
        [one, other] => one == group && other == version,
        [one, other, kinds] => one == group && other == version && kinds.split(',').any(|one| one == kind),
        _ => false,
    };
    SKIPPED_GROUPS.contains(&group)
        || api_version == "coordination.k8s.io/v1"
        || (api_version, kind) == ("v1", "Event")
        || also.split(';').any(named)
}

/// Returns true if an object is never propagated.
/// An object is never propagated if its namespace is a namespace of the control plane, or if a pattern matches its
/// namespace. An object that the API server creates for itself is never propagated either (#4228).
#[must_use]
pub fn skips_object(kind: &str, namespace: &str, name: &str, patterns: &[NamePattern]) -> bool {
    [NAMESPACE_SYSTEM, NAMESPACE_CLUSTER_LEASES].contains(&namespace)
        || cluster_of(namespace).is_some()
        || (!namespace.is_empty() && patterns.iter().any(|pattern| pattern.matches(namespace)))
        || (namespace, kind, name) == ("kube-system", "ConfigMap", "extension-apiserver-authentication")
}

/// Returns the version at which objects of a kind are propagated, with the kind as it is served there.
/// Of the versions of a group, ordered by preference, it is the first in which the kind can be listed, watched and
/// deleted.
#[must_use]
pub fn propagated_version<'a>(
    versions: &'a [APIResourceList],
    kind: &str,
) -> Option<(&'a str, &'a APIResource)> {
    let fits = |resource: &&APIResource| {
        let can = |verb: &str| resource.verbs.iter().any(|one| one == verb);
        resource.kind == kind
            && !resource.name.contains('/')
            && ["list", "watch", "delete"].into_iter().all(can)
    };
    versions.iter().find_map(|version| {
        let resource = version.resources.iter().find(fits)?;
        Some((version.group_version.as_str(), resource))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nobodys_workload_is_skipped() {
        let cases = [
            ("apps/v1", "Deployment", "", false),
            ("v1", "ConfigMap", "", false),
            ("v1", "Event", "", true),
            ("events.k8s.io/v1", "Event", "", true),
            ("coordination.k8s.io/v1", "Lease", "", true),
            ("policy.karmada.io/v1alpha1", "OverridePolicy", "", true),
            ("multicluster.x-k8s.io/v1alpha1", "ServiceExport", "", false),
            ("apps/v1", "Deployment", "batch;apps", true),
            ("apps/v1", "Deployment", "apps/v1beta1", false),
            ("apps/v1", "Deployment", "apps/v1", true),
            ("apps/v1", "Deployment", "apps/v1/StatefulSet,Deployment", true),
            ("apps/v1", "Deployment", "apps/v1/StatefulSet", false),
            ("v1", "Secret", "v1/ConfigMap,Secret", true),
            ("v1", "Secret", "apps/v1;v1/ConfigMap", false),
            ("apps/v1", "Deployment", "batch", false),
            ("v2", "Secret", "v1/Secret", false),
            ("apps/v1", "Deployment", "v1/Deployment", false),
            ("v1", "ConfigMap", "v1/Secret", false),
            ("apps/v1", "Deployment", "batch/v1", false),
            ("apps/v1", "Deployment", "batch/v1/Deployment", false),
            ("apps/v1", "Deployment", "apps/v2/Deployment", false),
        ];
        for (api_version, kind, also, expected) in cases {
            assert_eq!(skips_kind(api_version, kind, also), expected, "{api_version} {kind} {also}");
        }
    }

    #[test]
    fn namespaces_of_the_control_plane_are_skipped() {
        let kube = ["kube-.*".parse().unwrap()];
        let cases = [
            ("default", &[][..], false),
            ("karmada-system", &[], true),
            ("karmada-es-m1", &[], true),
            ("karmada-cluster", &[], true),
            ("karmada-other", &[], false),
            ("kube-public", &[], false),
            ("kube-public", &kube, true),
            ("my-kube-public", &kube, false),
            ("", &kube, false),
        ];
        for (namespace, patterns, expected) in cases {
            assert_eq!(
                skips_object("Secret", namespace, "a", patterns),
                expected,
                "{namespace} {patterns:?}"
            );
        }
        assert!(skips_object("ConfigMap", "kube-system", "extension-apiserver-authentication", &[]));
    }

    #[test]
    fn a_kind_is_propagated_at_the_most_preferred_version_that_has_it() {
        let list = |version: &str, kinds: &[(&str, &str, &str)]| APIResourceList {
            group_version: version.into(),
            resources: kinds
                .iter()
                .map(|(name, kind, verbs)| APIResource {
                    name: (*name).into(),
                    kind: (*kind).into(),
                    verbs: verbs.split(' ').map(str::to_owned).collect(),
                    ..APIResource::default()
                })
                .collect(),
        };
        let all = "get list watch delete";
        let versions = [
            list("g/v2", &[("as", "A", all), ("bs/status", "B", all), ("cs", "C", "create")]),
            list("g/v1", &[("as", "A", all), ("bs", "B", all)]),
        ];
        let found = |kind: &str| {
            propagated_version(&versions, kind).map(|(version, one)| (version, one.name.as_str()))
        };
        assert_eq!(found("A"), Some(("g/v2", "as")));
        assert_eq!(found("B"), Some(("g/v1", "bs")));
        assert_eq!(found("C"), None);
    }
}
