//! Which namespaces of the control plane every member gets.
//!
//! karmada-io/karmada `pkg/controllers/namespace/namespace_sync_controller.go`, `pkg/util/names/names.go`.

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;

use crate::api::{LABEL_SKIP_PROPAGATION, NAMESPACE_CLUSTER_LEASES, NAMESPACE_SYSTEM, cluster_of};

/// Whether every member gets the namespace: not one of the control plane's own, not `default`, which they have, not one
/// that is called like one of `skipped`, and not one whose label says so. A namespace that is going takes its Works along
/// as their owner, so that nothing more is written for it.
///
/// `skipped` are patterns of the whole name, in which `.*` stands for anything. Until 1.5 `kube-.*` was built in; it is
/// the flag's default now.
#[must_use]
pub fn is_synced(namespace: &Namespace, skipped: &[String]) -> bool {
    let name = namespace.name_any();
    let own = [NAMESPACE_SYSTEM, NAMESPACE_CLUSTER_LEASES, "default"].contains(&name.as_str());
    let opted_out = namespace
        .labels()
        .get(LABEL_SKIP_PROPAGATION)
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    !own && !opted_out
        && cluster_of(&name).is_none()
        && !skipped.iter().any(|pattern| is_like(&name, pattern))
        && namespace.metadata.deletion_timestamp.is_none()
}

/// Whether the parts of the pattern between its `.*` make up the name, one after another, with anything between.
pub(super) fn is_like(name: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split(".*").collect();
    let [first, between @ .., last] = parts.as_slice() else { return name == pattern };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in between {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn members_get_the_namespaces_of_people() {
        let synced = |metadata: Value| {
            let namespace = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
            is_synced(&namespace, &["kube-.*".into(), "lab".into()])
        };
        let labelled = |value: &str| json!({"name": "shop", "labels": {"namespace.karmada.io/skip-auto-propagation": value}});
        let cases = [
            (json!({"name": "shop"}), true),
            (json!({"name": "default"}), false),
            (json!({"name": "kube-system"}), false),
            (json!({"name": "karmada-system"}), false),
            (json!({"name": "karmada-cluster"}), false),
            (json!({"name": "karmada-es-m1"}), false),
            (json!({"name": "karmada-shop"}), true),
            (json!({"name": "lab"}), false),
            (json!({"name": "labour"}), true),
            (labelled("true"), false),
            (labelled("True"), false),
            (labelled("false"), true),
            (json!({"name": "shop", "deletionTimestamp": "2030-01-01T00:00:00Z"}), false),
        ];
        for (metadata, expected) in cases {
            assert_eq!(synced(metadata.clone()), expected, "{metadata}");
        }
    }

    #[test]
    fn a_pattern_is_of_the_whole_name() {
        let cases = [
            ("kube-system", "kube-.*", true),
            ("kube-", "kube-.*", true),
            ("my-kube-system", "kube-.*", false),
            ("shop", "shop", true),
            ("shop-a", "shop", false),
            ("team-a-test", "team-.*-test", true),
            ("team-test", "team-.*-test", false),
            ("a-x-b-x-c", "a.*x.*c", true),
            ("a-c", "a.*x.*c", false),
            ("anything", ".*", true),
        ];
        for (name, pattern, expected) in cases {
            assert_eq!(is_like(name, pattern), expected, "{name} {pattern}");
        }
    }
}
