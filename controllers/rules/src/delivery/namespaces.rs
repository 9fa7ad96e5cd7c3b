//! Which namespaces of the control plane are delivered to every member.
//!
//! karmada-io/karmada `pkg/controllers/namespace/namespace_sync_controller.go`, `pkg/util/names/names.go`.

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;

use crate::NamePattern;
use crate::api::{LABEL_SKIP_PROPAGATION, NAMESPACE_CLUSTER_LEASES, NAMESPACE_SYSTEM, cluster_of};

/// Whether every member gets the namespace.
/// Not delivered are the namespaces of the control plane, `default` (members have it), names that match one of
/// `skipped`, and namespaces with the label that opts out. A namespace that is being deleted owns its Works, which are
/// deleted with it, so that nothing more is written for it.
///
/// Until 1.5 `kube-.*` was built in; it is the flag's default now.
#[must_use]
pub fn is_synced(namespace: &Namespace, skipped: &[NamePattern]) -> bool {
    let name = namespace.name_any();
    let own = [NAMESPACE_SYSTEM, NAMESPACE_CLUSTER_LEASES, "default"].contains(&name.as_str());
    let opted_out = namespace
        .labels()
        .get(LABEL_SKIP_PROPAGATION)
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    !own && !opted_out
        && cluster_of(&name).is_none()
        && !skipped.iter().any(|pattern| pattern.matches(&name))
        && namespace.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn members_get_the_namespaces_of_people() {
        let synced = |metadata: Value| {
            let namespace = from_json(json!({ "metadata": metadata }));
            is_synced(&namespace, &["kube-.*".parse().unwrap(), "lab".parse().unwrap()])
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
}
