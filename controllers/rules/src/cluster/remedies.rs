//! The actions that the Remedies of users request for a cluster.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/remediation/remedy_controller.go`, `util.go`; as from 1.9.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use crate::api::{Cluster, ClusterConditionRequirement, ClusterStatus, Remedy};

/// Returns the actions of all Remedies that select the cluster and whose conditions hold.
/// No action is listed twice. The affinity of a Remedy only lists names, and an empty list selects no cluster
/// (`isRemedyWorkOnCluster`).
#[must_use]
pub fn remedy_actions(remedies: &[&Remedy], cluster: &Cluster) -> Vec<String> {
    let conditions = cluster.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let selects = |remedy: &&&Remedy| {
        let affinity = remedy.spec.cluster_affinity.as_ref();
        affinity.is_none_or(|affinity| affinity.cluster_names.contains(&cluster.name_any()))
    };
    let holds = |remedy: &&&Remedy| {
        let mut matches = remedy.spec.decision_matches.iter().map(|each| &each.cluster_condition_match);
        remedy.spec.decision_matches.is_empty()
            || matches.any(|wanted| wanted.as_ref().is_some_and(|wanted| meets(wanted, conditions)))
    };
    let needed = remedies.iter().filter(selects).filter(holds);
    let actions: BTreeSet<&String> = needed.flat_map(|remedy| &remedy.spec.actions).collect_sorted();
    actions.into_iter().cloned().collect()
}

/// Whether a condition meets the requirement. A missing condition meets none.
fn meets(wanted: &ClusterConditionRequirement, conditions: &[Condition]) -> bool {
    let mut present = conditions.iter().filter(|condition| condition.type_ == wanted.condition_type);
    present.any(|condition| match wanted.operator.as_str() {
        "Equal" => condition.status == wanted.condition_status,
        "NotEqual" => condition.status != wanted.condition_status,
        _ => false,
    })
}

/// Returns the status that a report on a cluster writes.
/// The actions of Remedies stay as before (#5030).
#[must_use]
pub fn with_kept_remedies(before: Option<&ClusterStatus>, report: ClusterStatus) -> ClusterStatus {
    let remedy_actions = before.map(|before| before.remedy_actions.clone()).unwrap_or_default();
    ClusterStatus { remedy_actions, ..report }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    fn cluster(ready: &str) -> Cluster {
        let condition = json!({"type": "Ready", "status": ready, "reason": "", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z"});
        from_json(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "m1"}, "spec": {}, "status": {"conditions": [condition]},
        }))
    }

    fn remedy(spec: &Value) -> Remedy {
        let fields = json!({"apiVersion": "remedy.karmada.io/v1alpha1", "kind": "Remedy", "metadata": {"name": "it"}, "spec": spec});
        from_json(fields)
    }

    #[test]
    fn actions_are_those_of_the_remedies_that_select_the_cluster_and_hold() {
        let when = |operator: &str, status: &str| json!([{"clusterConditionMatch": {"conditionType": "Ready", "operator": operator, "conditionStatus": status}}]);
        let actions = json!(["b", "a"]);
        let cases = [
            (json!({"actions": actions}), true),
            (json!({"actions": actions, "clusterAffinity": {"clusterNames": ["m2"]}}), false),
            (json!({"actions": actions, "clusterAffinity": {"clusterNames": ["m1"]}}), true),
            (json!({"actions": actions, "clusterAffinity": {}}), false),
            (json!({"actions": actions, "decisionMatches": when("Equal", "False")}), true),
            (json!({"actions": actions, "decisionMatches": when("NotEqual", "False")}), false),
            (json!({"actions": actions, "decisionMatches": when("NotEqual", "True")}), true),
            (json!({"actions": actions, "decisionMatches": when("Other", "False")}), false),
            (json!({"actions": actions, "decisionMatches": [{}]}), false),
        ];
        for (spec, holds) in cases {
            let expected: &[&str] = if holds { &["a", "b"] } else { &[] };
            assert_eq!(remedy_actions(&[&remedy(&spec)], &cluster("False")), expected, "{spec}");
        }
        let twice = remedy(&json!({"actions": ["a"]}));
        assert_eq!(remedy_actions(&[&twice, &twice], &cluster("True")), ["a"]);
    }

    #[test]
    fn a_report_keeps_the_actions() {
        let before = ClusterStatus { remedy_actions: vec!["a".into()], ..ClusterStatus::default() };
        let report = ClusterStatus { kubernetes_version: "v1".into(), ..ClusterStatus::default() };
        let after = with_kept_remedies(Some(&before), report.clone());
        assert_eq!((after.remedy_actions, after.kubernetes_version), (vec!["a".to_owned()], "v1".to_owned()));
        assert!(with_kept_remedies(None, report).remedy_actions.is_empty());
    }
}
