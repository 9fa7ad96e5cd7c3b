//! Which clusters an affinity matches.
//!
//! karmada-io/karmada `pkg/util/selector.go` (`ClusterMatches`).

use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use crate::Zones;
use crate::api::{Cluster, ClusterAffinity, FieldSelector};

/// Returns true if the affinity matches this cluster.
/// The cluster must not be excluded, and names, labels and fields must all match. An invalid label selector matches no
/// cluster.
#[must_use]
pub fn affinity_matches(zones: Zones, affinity: &ClusterAffinity, cluster: &Cluster) -> bool {
    let is_named = |names: &[String]| names.iter().any(|name| Some(name) == cluster.metadata.name.as_ref());
    !is_named(&affinity.exclude_clusters)
        && (affinity.cluster_names.is_empty() || is_named(&affinity.cluster_names))
        && affinity.label_selector.as_ref().is_none_or(|selector| {
            Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(cluster.labels()))
        })
        && affinity.field_selector.as_ref().is_none_or(|selector| fields_match(zones, selector, cluster))
}

/// Operators are as in a node selector; zones have no `Gt` and no `Lt`.
/// If a cluster has several zones, `NotIn` must list none of them, and `In` all or any, by release.
fn fields_match(zones: Zones, selector: &FieldSelector, cluster: &Cluster) -> bool {
    selector.match_expressions.iter().all(|expression| {
        let present = field_values(cluster, &expression.key);
        let values = expression.values.as_deref().unwrap_or_default();
        let listed = |value: &&str| values.iter().any(|each| each == value);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = values.first().and_then(|value| number(value)).filter(|_| values.len() == 1);
        let compares = |holds: fn(i64, i64) -> bool| {
            let one =
                |value: &&str| number(value).zip(bound).is_some_and(|(value, bound)| holds(value, bound));
            !present.is_empty() && present.iter().all(one)
        };
        match expression.operator.as_str() {
            "In" if zones == Zones::Any => present.iter().any(listed),
            "In" => !present.is_empty() && present.iter().all(listed),
            "NotIn" => !present.iter().any(listed),
            "Exists" => !present.is_empty(),
            "DoesNotExist" => present.is_empty(),
            "Gt" | "Lt" if expression.key == "zone" => false,
            "Gt" => compares(|value, bound| value > bound),
            "Lt" => compares(|value, bound| value < bound),
            _ => false,
        }
    })
}

/// Returns the values of a field by which clusters are selected or spread: none, one, or several zones.
#[must_use]
pub fn field_values<'a>(cluster: &'a Cluster, field: &str) -> Vec<&'a str> {
    let one = |value: &'a String| if value.is_empty() { Vec::new() } else { vec![value.as_str()] };
    match field {
        "provider" => one(&cluster.spec.provider),
        "region" => one(&cluster.spec.region),
        "zone" => cluster.zones(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

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
            let parsed: ClusterAffinity = from_json(affinity.clone());
            assert_eq!(affinity_matches(Zones::All, &parsed, &cluster), expected, "{affinity}");
        }
    }

    #[test]
    fn the_release_decides_which_zones_must_be_listed() {
        let cluster = |zones: &[&str]| {
            let mut cluster = Cluster::new("m1", Default::default());
            cluster.spec.zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
            cluster
        };
        let cases = [
            ("In", json!(["a"]), &["a"][..], [true, true]),
            ("In", json!(["a"]), &["a", "b"], [false, true]),
            ("In", json!(["a", "b", "c"]), &["a", "b"], [true, true]),
            ("In", json!(["c"]), &["a", "b"], [false, false]),
            ("In", json!(["a"]), &[], [false, false]),
            ("NotIn", json!(["a"]), &["a", "b"], [false, false]),
            ("NotIn", json!(["c"]), &["a", "b"], [true, true]),
            ("Gt", json!(["1"]), &["2"], [false, false]),
            ("Lt", json!(["3"]), &["2"], [false, false]),
        ];
        for (operator, values, zones, expected) in cases {
            let affinity: ClusterAffinity = from_json(json!({"fieldSelector": {"matchExpressions": [
                {"key": "zone", "operator": operator, "values": values}]}}));
            let matches =
                [Zones::All, Zones::Any].map(|way| affinity_matches(way, &affinity, &cluster(zones)));
            assert_eq!(matches, expected, "{operator} {values} {zones:?}");
        }
    }

    /// Each of names, labels and fields: not used, matching, or not matching.
    #[test]
    fn whatever_is_asked_for_must_accept_in_every_combination() {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.spec.region = "r1".into();
        cluster.labels_mut().insert("tier".into(), "gold".into());
        let region = |region: &str| json!({"matchExpressions": [{"key": "region", "operator": "In", "values": [region]}]});
        let names = [None, Some(json!(["m1"])), Some(json!(["m2"]))];
        let labels = ["", "gold", "iron"]
            .map(|tier| (!tier.is_empty()).then(|| json!({"matchLabels": {"tier": tier}})));
        let fields = ["", "r1", "r2"].map(|name| (!name.is_empty()).then(|| region(name)));
        for (name, label, field, excluded) in
            (0..3 * 3 * 3 * 2).map(|n| (n % 3, n / 3 % 3, n / 9 % 3, n / 27 == 1))
        {
            let mut affinity = json!({"exclude": if excluded { json!(["m1"]) } else { json!(["m3"]) }});
            let parts = [
                ("clusterNames", &names[name]),
                ("labelSelector", &labels[label]),
                ("fieldSelector", &fields[field]),
            ];
            for (part, value) in parts {
                if let Some(value) = value {
                    affinity[part] = value.clone();
                }
            }
            let expected = !excluded && ![name, label, field].contains(&2);
            let parsed: ClusterAffinity = from_json(affinity.clone());
            assert_eq!(affinity_matches(Zones::All, &parsed, &cluster), expected, "{affinity}");
        }
    }

    #[test]
    fn fields_are_matched_by_every_operator() {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.spec.region = "7".into();
        cluster.spec.zones = vec!["z1".into(), "z2".into()];
        let cases: [(&str, &str, &[&str], bool); 15] = [
            ("zone", "In", &["z1", "z2", "z3"], true),
            ("zone", "In", &["z1"], false),
            ("zone", "NotIn", &["z3"], true),
            ("zone", "NotIn", &["z2"], false),
            ("zone", "Exists", &[], true),
            ("provider", "Exists", &[], false),
            ("provider", "DoesNotExist", &[], true),
            ("provider", "In", &["p"], false),
            ("provider", "NotIn", &["p"], true),
            ("region", "Gt", &["6"], true),
            ("region", "Gt", &["7"], false),
            ("region", "Lt", &["8"], true),
            ("region", "Lt", &["7"], false),
            ("zone", "Lt", &["8"], false),
            ("cluster", "Exists", &[], false),
        ];
        for (key, operator, values, expected) in cases {
            let affinity = json!({"fieldSelector": {"matchExpressions": [
                {"key": key, "operator": operator, "values": values}]}});
            let parsed: ClusterAffinity = from_json(affinity);
            assert_eq!(
                affinity_matches(Zones::All, &parsed, &cluster),
                expected,
                "{key} {operator} {values:?}"
            );
        }
        cluster.spec.provider = "p".into();
        let fields =
            ["provider", "region", "zone", "other"].map(|field| field_values(&cluster, field).join(" "));
        assert_eq!(fields, ["p", "7", "z1 z2", ""]);
    }
}
