//! Which clusters an affinity means.
//!
//! karmada-io/karmada `pkg/util/selector.go` (`ClusterMatches`).

use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use crate::api::{Cluster, ClusterAffinity, FieldSelector};

/// Whether the affinity means this cluster: `exclude` rejects, and names, labels and fields must all accept.
/// A label selector that makes no sense means no cluster.
#[must_use]
pub fn affinity_matches(affinity: &ClusterAffinity, cluster: &Cluster) -> bool {
    let name = cluster.name_any();
    !affinity.exclude_clusters.contains(&name)
        && (affinity.cluster_names.is_empty() || affinity.cluster_names.contains(&name))
        && affinity.label_selector.as_ref().is_none_or(|selector| {
            Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(cluster.labels()))
        })
        && affinity.field_selector.as_ref().is_none_or(|selector| fields_match(selector, cluster))
}

fn fields_match(selector: &FieldSelector, cluster: &Cluster) -> bool {
    selector.match_expressions.iter().all(|expression| {
        let value = match expression.key.as_str() {
            "provider" => &cluster.spec.provider,
            "region" => &cluster.spec.region,
            "zone" => &cluster.spec.zone,
            _ => return false,
        };
        let listed = expression.values.as_ref().is_some_and(|values| values.contains(value));
        match expression.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn exclude_rejects_and_the_others_must_all_accept() {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.spec.region = "r1".into();
        cluster.labels_mut().insert("tier".into(), "gold".into());
        let cases: [(Value, bool); 12] = [
            (json!({}), true),
            (json!({"clusterNames": ["m1", "m2"]}), true),
            (json!({"clusterNames": ["m2"]}), false),
            (json!({"exclude": ["m1"]}), false),
            (json!({"clusterNames": ["m1"], "exclude": ["m1"]}), false),
            (json!({"labelSelector": {"matchLabels": {"tier": "gold"}}}), true),
            (json!({"labelSelector": {"matchLabels": {"tier": "iron"}}}), false),
            (json!({"clusterNames": ["m1"], "labelSelector": {"matchLabels": {"tier": "iron"}}}), false),
            (
                json!({"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["r1"]}]}}),
                true,
            ),
            (
                json!({"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["r1"]}]}}),
                false,
            ),
            (
                json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}}),
                false,
            ),
            (
                json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["z1"]}]}}),
                true,
            ),
        ];
        for (affinity, expected) in cases {
            let parsed: ClusterAffinity = serde_json::from_value(affinity.clone()).unwrap();
            assert_eq!(affinity_matches(&parsed, &cluster), expected, "{affinity}");
        }
    }
}
