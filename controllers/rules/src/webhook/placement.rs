//! Validation of placements.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/validation/validation.go`, with its messages.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use k8s_openapi::api::core::v1::Toleration;

use super::errors::{invalid, not_supported};
use super::names::not_a_key;
use crate::api::{
    ClusterAffinity, ClusterAffinityTerm, FieldSelector, Placement, SpreadConstraint, WorkloadAffinity,
};
use crate::is_divided_by_room;

const CLUSTER_NEEDED: &str = "the cluster spread constraint must be enabled in one of the constraints in case of \
    SpreadByField is enabled";

/// Returns the errors of the placement in the field `at`.
pub(super) fn placement_errors(placement: &Placement, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if placement.cluster_affinity.is_some() && !placement.cluster_affinities.is_empty() {
        errors.push(invalid(at, placement, "clusterAffinities cannot co-exist with clusterAffinity"));
    }
    if let Some(affinity) = &placement.cluster_affinity {
        errors.extend(affinity_errors(affinity, &format!("{at}.clusterAffinity")));
    }
    errors.extend(affinities_errors(placement, &format!("{at}.clusterAffinities")));
    errors.extend(spread_errors(&placement.spread_constraints, &format!("{at}.spreadConstraints")));
    if let Some(affinity) = &placement.workload_affinity {
        errors.extend(workload_affinity_errors(affinity, &format!("{at}.workloadAffinity")));
    }
    errors.extend(toleration_errors(&placement.cluster_tolerations, &format!("{at}.clusterTolerations")));
    let weights = placement.replica_scheduling.iter().flat_map(|scheduling| &scheduling.weight_preference);
    let rules = weights.flat_map(|weights| weights.static_weight_list.iter().enumerate());
    errors.extend(rules.filter(|(_, rule)| rule.weight < 1).map(|(index, rule)| {
        let list = format!("{at}.replicaScheduling.weightPreference.staticWeightList");
        let why = "should be greater than or equal to 1";
        invalid(&format!("{list}[{index}].weight"), rule.weight, why)
    }));
    errors
}

/// As from 1.18. The operators that compare numbers are for nodes only.
fn toleration_errors(tolerations: &[Toleration], at: &str) -> Vec<String> {
    let operators = tolerations.iter().map(|toleration| toleration.operator.as_deref().unwrap_or_default());
    let wrong = operators.enumerate().filter(|(_, operator)| matches!(*operator, "Lt" | "Gt"));
    let supported = ["", "Exists", "Equal"];
    wrong
        .map(|(index, operator)| not_supported(&format!("{at}[{index}].operator"), operator, &supported))
        .collect()
}

/// Returns the error of the affinity in the field `at`.
pub(super) fn affinity_errors(affinity: &ClusterAffinity, at: &str) -> Option<String> {
    let selector = affinity.field_selector.as_ref()?;
    let why = field_selector_error(selector)?;
    Some(invalid(&format!("{at}.fieldSelector"), selector, &why))
}

/// The supported fields are provider, region and zone, and the operators `In` and `NotIn`.
fn field_selector_error(selector: &FieldSelector) -> Option<String> {
    selector.match_expressions.iter().find_map(|expression| {
        let (key, operator) = (expression.key.as_str(), expression.operator.as_str());
        if !matches!(key, "provider" | "region" | "zone") {
            return Some(format!("unsupported key {key:?}, must be provider, region, or zone"));
        }
        let known = matches!(operator, "In" | "NotIn");
        (!known).then(|| format!("unsupported operator {operator:?}, must be In or NotIn"))
    })
}

fn affinities_errors(placement: &Placement, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, term) in placement.cluster_affinities.iter().enumerate() {
        let at_term = format!("{at}[{index}]");
        let name = &term.affinity_name;
        errors.extend(not_a_key(name).iter().map(|why| invalid(&at_term, name, why)));
        if !names.insert(name) {
            let why = "each affinity term in a policy must have a unique name";
            errors.push(invalid(at, &placement.cluster_affinities, why));
        }
        errors.extend(affinity_errors(&term.affinity, &at_term));
        errors.extend(overflow_errors(term, &at_term));
    }
    let overflows = placement.cluster_affinities.iter().any(|term| !term.overflow_affinities.is_empty());
    if overflows && !placement.replica_scheduling.as_ref().is_some_and(is_divided_by_room) {
        let why = "overflowAffinities can only be used together with dynamic weight or aggregated scheduling";
        errors.push(invalid(at, &placement.cluster_affinities, why));
    }
    errors
}

/// As from 1.18 (#7386).
fn overflow_errors(term: &ClusterAffinityTerm, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if !term.overflow_affinities.is_empty() && term.affinity == ClusterAffinity::default() {
        let why = "overflowAffinities can only be used together with the inline ClusterAffinity";
        errors.push(invalid(&format!("{at}.overflowAffinities"), &term.overflow_affinities, why));
    }
    let mut names = [&term.affinity_name].collect_sorted::<BTreeSet<_>>();
    for (index, overflow) in term.overflow_affinities.iter().enumerate() {
        let at_overflow = format!("{at}.overflowAffinities[{index}]");
        let name = &overflow.affinity_name;
        let at_name = format!("{at_overflow}.affinityName");
        errors.extend(not_a_key(name).iter().map(|why| invalid(&at_name, name, why)));
        if !names.insert(name) {
            let why = "overflow affinity name must be unique and must not duplicate the primary group's affinityName";
            errors.push(invalid(&at_name, name, why));
        }
        errors.extend(affinity_errors(&overflow.affinity, &at_overflow));
    }
    errors
}

fn spread_errors(constraints: &[SpreadConstraint], at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut fields: Vec<&str> = Vec::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let SpreadConstraint { spread_by_field, spread_by_label, max_groups, min_groups } = constraint;
        let wrong = [
            (
                !spread_by_field.is_empty() && !spread_by_label.is_empty(),
                "spreadByLabel should not co-exist with spreadByField",
            ),
            (*min_groups < 0, "minGroups lower than 0 is not allowed"),
            (*max_groups < 0, "maxGroups lower than 0 is not allowed"),
            (*max_groups > 0 && max_groups < min_groups, "maxGroups lower than minGroups is not allowed"),
        ];
        let at = format!("{at}[{index}]");
        let wrong = wrong.iter().filter(|(wrong, _)| *wrong);
        errors.extend(wrong.map(|(_, why)| invalid(&at, constraint, why)));
        if !spread_by_field.is_empty() {
            fields.push(spread_by_field);
        }
    }
    let repeated = |field: &&str| fields.iter().filter(|other| *other == field).count() > 1;
    let repeated: BTreeSet<&str> = fields.iter().copied().filter(repeated).collect_sorted();
    errors.extend(repeated.iter().map(|field| {
        invalid(at, constraints, &format!("multiple {field} spread constraints are not allowed"))
    }));
    if !fields.is_empty() && !fields.contains(&"cluster") {
        errors.push(invalid(at, constraints, CLUSTER_NEEDED));
    }
    errors
}

/// As from 1.17.
fn workload_affinity_errors(affinity: &WorkloadAffinity, at: &str) -> Vec<String> {
    let terms = [("affinity", &affinity.affinity), ("antiAffinity", &affinity.anti_affinity)];
    let mut errors = Vec::new();
    for (name, term) in terms {
        let Some(term) = term else { continue };
        let key = &term.group_by_label_key;
        let field = format!("{at}.{name}.groupByLabelKey");
        errors.extend(not_a_key(key).iter().map(|why| invalid(&field, key, why)));
    }
    if affinity.affinity.is_some() && affinity.affinity == affinity.anti_affinity {
        errors.push(invalid(at, affinity, "affinity and antiAffinity must not use the same groupByLabelKey"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    fn reported_errors(placement: &Value) -> String {
        let parsed: Placement = from_json(placement.clone());
        placement_errors(&parsed, "spec.placement").join("; ")
    }

    fn assert_errors(cases: &[(Value, &str)]) {
        for (placement, expected) in cases {
            let errors = reported_errors(placement);
            assert_eq!(expected.is_empty(), errors.is_empty(), "{placement}: {errors}");
            assert!(errors.contains(expected), "{placement}: {errors}");
        }
    }

    #[test]
    fn spread_constraints_must_not_contradict_themselves() {
        let constraint =
            |by: &str, min: i64, max: i64| json!({"spreadByField": by, "minGroups": min, "maxGroups": max});
        let spread = |constraints: Value| json!({"spreadConstraints": constraints});
        assert_errors(&[
            (json!({}), ""),
            (spread(json!([constraint("cluster", 2, 2)])), ""),
            (spread(json!([constraint("cluster", 1, 0)])), ""),
            (spread(json!([constraint("cluster", 0, 2)])), ""),
            (spread(json!([constraint("region", 1, 2), constraint("cluster", 1, 2)])), ""),
            (spread(json!([{"spreadByLabel": "a", "minGroups": 1}])), ""),
            (
                spread(json!([constraint("cluster", 3, 2)])),
                "spec.placement.spreadConstraints[0]: Invalid value: {\"spreadByField\":\"cluster\",\"maxGroups\":2,\
                 \"minGroups\":3}: maxGroups lower than minGroups is not allowed",
            ),
            (spread(json!([constraint("cluster", -1, 2)])), "minGroups lower than 0 is not allowed"),
            (spread(json!([constraint("cluster", 0, -1)])), "maxGroups lower than 0 is not allowed"),
            (
                spread(json!([{"spreadByField": "cluster", "spreadByLabel": "a"}])),
                "spreadByLabel should not co-exist with spreadByField",
            ),
            (
                spread(json!([constraint("cluster", 1, 2), constraint("cluster", 1, 3)])),
                "multiple cluster spread constraints are not allowed",
            ),
            (spread(json!([constraint("region", 1, 2)])), "the cluster spread constraint must be enabled"),
        ]);
    }

    #[test]
    fn affinities_have_names_of_their_own_and_known_fields() {
        let fields = |key: &str, operator: &str| json!({"fieldSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": ["a"]}]}});
        let groups = |names: &[&str]| {
            let group = |name: &&str| json!({"affinityName": name, "clusterNames": ["m1"]});
            json!({"clusterAffinities": names.iter().map(group).collect::<Vec<_>>()})
        };
        let mut both = groups(&["a"]);
        both["clusterAffinity"] = json!({"clusterNames": ["m1"]});
        assert_errors(&[
            (json!({"clusterAffinity": fields("provider", "In")}), ""),
            (json!({"clusterAffinity": fields("zone", "NotIn")}), ""),
            (
                json!({"clusterAffinity": fields("foo", "In")}),
                "unsupported key \"foo\", must be provider, region, or zone",
            ),
            (
                json!({"clusterAffinity": fields("region", "Exists")}),
                "unsupported operator \"Exists\", must be In or NotIn",
            ),
            (groups(&["a", "b"]), ""),
            (groups(&["a", "a"]), "each affinity term in a policy must have a unique name"),
            (groups(&["a b"]), "spec.placement.clusterAffinities[0]: Invalid value: \"a b\": name part must"),
            (both, "clusterAffinities cannot co-exist with clusterAffinity"),
        ]);
    }

    #[test]
    fn overflow_needs_division_by_room_and_names_of_its_own() {
        let placement = |own: Value, overflow: &[&str], scheduling: Value| {
            let overflow = overflow.iter().map(|name| json!({"affinityName": name, "clusterNames": ["m2"]}));
            let mut term = json!({"affinityName": "own", "overflowAffinities": overflow.collect::<Vec<_>>()});
            if !own.is_null() {
                term["clusterNames"] = own;
            }
            json!({"clusterAffinities": [term], "replicaScheduling": scheduling})
        };
        let aggregated =
            || json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
        let by_room = json!({"replicaSchedulingType": "Divided", "weightPreference": {
            "dynamicWeight": "AvailableReplicas"}});
        let only_by_room = "overflowAffinities can only be used together with dynamic weight or aggregated";
        let unique = "overflow affinity name must be unique and must not duplicate the primary group's";
        assert_errors(&[
            (placement(json!(["m1"]), &["a", "b"], aggregated()), ""),
            (placement(json!(["m1"]), &["a"], by_room), ""),
            (placement(json!(["m1"]), &["a"], json!({"replicaSchedulingType": "Divided"})), only_by_room),
            (placement(json!(["m1"]), &["a"], json!({"replicaSchedulingType": "Duplicated"})), only_by_room),
            (placement(json!(["m1"]), &["a", "a"], aggregated()), unique),
            (placement(json!(["m1"]), &["own"], aggregated()), unique),
            (
                placement(json!(["m1"]), &["a b"], aggregated()),
                "clusterAffinities[0].overflowAffinities[0].affinityName: Invalid value: \"a b\": name part must",
            ),
            (
                placement(Value::Null, &["a"], aggregated()),
                "overflowAffinities can only be used together with the inline ClusterAffinity",
            ),
        ]);
    }

    #[test]
    fn tolerations_do_not_compare_numbers() {
        let tolerations = |operators: &[&str]| {
            let toleration = |operator: &&str| json!({"key": "a", "operator": operator, "value": "1"});
            json!({"clusterTolerations": operators.iter().map(toleration).collect::<Vec<_>>()})
        };
        let refused = "spec.placement.clusterTolerations[1].operator: Unsupported value: \"Lt\": \
            supported values: \"\", \"Exists\", \"Equal\"";
        assert_errors(&[
            (tolerations(&["", "Exists", "Equal"]), ""),
            (tolerations(&["Equal", "Lt"]), refused),
            (tolerations(&["Gt"]), "clusterTolerations[0].operator: Unsupported value: \"Gt\""),
        ]);
    }

    #[test]
    fn weights_and_groups_of_workloads_are_checked() {
        let weight = |weight: i64| {
            json!({"replicaScheduling": {"weightPreference": {"staticWeightList": [
                {"targetCluster": {}, "weight": weight}]}}})
        };
        let groups = |with: &str, without: &str| {
            json!({"workloadAffinity": {"affinity": {"groupByLabelKey": with},
                "antiAffinity": {"groupByLabelKey": without}}})
        };
        assert_errors(&[
            (weight(1), ""),
            (weight(0), "staticWeightList[0].weight: Invalid value: 0"),
            (groups("a", "b"), ""),
            (groups("a", "a"), "affinity and antiAffinity must not use the same groupByLabelKey"),
            (groups("a b", "b"), "spec.placement.workloadAffinity.affinity.groupByLabelKey: Invalid value"),
            (
                groups("a", "b c"),
                "spec.placement.workloadAffinity.antiAffinity.groupByLabelKey: Invalid value",
            ),
        ]);
    }
}
