//! The taints that `ClusterTaintPolicy` objects add and remove, and the validation of these objects.
//!
//! karmada-io/karmada v1.18.2 `pkg/controllers/taint/clustertaintpolicy_controller.go`,
//! `pkg/webhook/clustertaintpolicy/validating.go`; as from 1.14.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::ResourceExt;

use crate::api::{Cluster, ClusterTaintPolicy, ClusterTaintPolicySpec, MatchCondition, NO_EXECUTE};
use crate::{Zones, affinity_matches};

/// Returns the taints of a cluster after all policies that select it.
/// Policies are applied from the oldest to the youngest. If the conditions of a policy hold both for adding and for
/// removing, the taint is removed. A taint that exists already, by key and effect, keeps its value and time. Policies
/// of the same second are ordered by name, which the real controller leaves open.
#[must_use]
pub fn taints_by_policies(
    zones: Zones,
    policies: &[&ClusterTaintPolicy],
    cluster: &Cluster,
    now: Timestamp,
) -> Vec<Taint> {
    let mut policies = policies.to_vec();
    policies.sort_by_key(|policy| (policy.creation_timestamp().map(|created| created.0), policy.name_any()));
    let conditions = cluster.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let mut taints = cluster.spec.taints.clone();
    for ClusterTaintPolicy { spec, .. } in policies {
        if spec.target_clusters.as_ref().is_some_and(|target| !affinity_matches(zones, target, cluster)) {
            continue;
        }
        if all_hold(&spec.add_on_conditions, conditions) {
            for taint in &spec.taints {
                if !taints.iter().any(|there| there.key == taint.key && there.effect == taint.effect) {
                    taints.push(Taint {
                        key: taint.key.clone(),
                        effect: taint.effect.clone(),
                        value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
                        time_added: Some(Time(now)),
                    });
                }
            }
        }
        if all_hold(&spec.remove_on_conditions, conditions) {
            taints.retain(|there| {
                !spec.taints.iter().any(|taint| there.key == taint.key && there.effect == taint.effect)
            });
        }
    }
    taints
}

/// Whether the list is not empty and all its conditions hold.
/// A condition that the cluster does not have matches neither `In` nor `NotIn`.
fn all_hold(wanted: &[MatchCondition], conditions: &[Condition]) -> bool {
    let holds = |wanted: &MatchCondition| {
        let mut present = conditions.iter().filter(|condition| condition.type_ == wanted.condition_type);
        present.any(|condition| match wanted.operator.as_str() {
            "In" => wanted.status_values.contains(&condition.status),
            "NotIn" => !wanted.status_values.contains(&condition.status),
            _ => false,
        })
    };
    !wanted.is_empty() && wanted.iter().all(holds)
}

/// Refuses a policy with a duplicate taint, or with a taint of effect NoExecute.
/// A taint of effect NoExecute is accepted if such taints are allowed (`--allow-no-execute-taint-policy`).
///
/// # Errors
/// The reason why the policy is refused.
pub fn validate_taint_policy(spec: &ClusterTaintPolicySpec, no_execute_allowed: bool) -> Result<(), String> {
    for (index, taint) in spec.taints.iter().enumerate() {
        let path = format!("spec.taints[{index}]");
        if taint.effect == NO_EXECUTE && !no_execute_allowed {
            return Err(format!("{path}: taints of effect NoExecute are not allowed"));
        }
        if spec.taints[..index].iter().any(|other| other.key == taint.key && other.effect == taint.effect) {
            return Err(format!("{path}: there is a taint {}:{} already", taint.key, taint.effect));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::set_unknown;
    use crate::test_values::{at, from_json};

    fn policy(name: &str, created: &str, spec: Value) -> ClusterTaintPolicy {
        let metadata = json!({"name": name, "creationTimestamp": created});
        from_json(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": metadata, "spec": spec}))
    }

    fn on(operator: &str, values: &[&str]) -> Value {
        json!([{"conditionType": "Ready", "operator": operator, "statusValues": values}])
    }

    /// A cluster whose `Ready` is unknown, and which has the taint `there`.
    fn cluster() -> Cluster {
        let mut cluster = Cluster::new("m1", Default::default());
        let conditions = &mut cluster.status.get_or_insert_default().conditions;
        set_unknown(conditions, "Ready", "R", "", at(0));
        let there = json!({"key": "there", "effect": "NoSchedule", "value": "old"});
        cluster.spec.taints = vec![from_json(there)];
        cluster
    }

    /// The keys of the taints after the policies.
    fn keys(policies: &[ClusterTaintPolicy]) -> Vec<String> {
        let policies: Vec<_> = policies.iter().collect();
        let taints = taints_by_policies(Zones::All, &policies, &cluster(), at(9));
        taints.into_iter().map(|taint| taint.key).collect()
    }

    #[test]
    fn taints_come_and_go_with_conditions() {
        let taints = json!([{"key": "new", "effect": "NoExecute"}]);
        let there = json!([{"key": "there", "effect": "NoSchedule"}]);
        let adding = |conditions: Value| json!({"addOnConditions": conditions, "taints": taints});
        let removing = |conditions: Value| json!({"removeOnConditions": conditions, "taints": there});
        let cases: [(&str, Value, &[&str]); 10] = [
            ("in", adding(on("In", &["False", "Unknown"])), &["there", "new"]),
            ("not in", adding(on("In", &["False"])), &["there"]),
            ("not among", adding(on("NotIn", &["True"])), &["there", "new"]),
            ("among", adding(on("NotIn", &["Unknown"])), &["there"]),
            ("no conditions", adding(json!([])), &["there"]),
            ("removed", removing(on("In", &["Unknown"])), &[]),
            ("not removed", removing(on("In", &["True"])), &["there"]),
            (
                "a condition that is not there",
                adding(json!([{"conditionType": "Other", "operator": "NotIn", "statusValues": ["True"]}])),
                &["there"],
            ),
            (
                "both at once: removed",
                json!({"addOnConditions": on("In", &["Unknown"]), "removeOnConditions": on("In", &["Unknown"]), "taints": taints}),
                &["there"],
            ),
            (
                "another cluster",
                json!({"targetClusters": {"clusterNames": ["m2"]}, "addOnConditions": on("In", &["Unknown"]), "taints": taints}),
                &["there"],
            ),
        ];
        for (about, spec, expected) in cases {
            assert_eq!(keys(&[policy("p", "2030-01-01T00:00:00Z", spec)]), expected, "{about}");
        }
    }

    #[test]
    fn the_youngest_policy_has_the_last_word() {
        let (first, second) = ("2030-01-01T00:00:00Z", "2030-01-01T00:00:01Z");
        let taints = json!([{"key": "new", "effect": "NoExecute"}]);
        let add = |created| {
            policy("a", created, json!({"addOnConditions": on("In", &["Unknown"]), "taints": taints}))
        };
        let remove = |created| {
            policy("b", created, json!({"removeOnConditions": on("In", &["Unknown"]), "taints": taints}))
        };
        assert_eq!(keys(&[remove(first), add(second)]), ["there", "new"]);
        assert_eq!(keys(&[add(second), remove(first)]), ["there", "new"]);
        assert_eq!(keys(&[remove(second), add(first)]), ["there"]);
        assert_eq!(keys(&[remove(first), add(first)]), ["there"]);
    }

    #[test]
    fn a_taint_that_is_there_stays_as_it_is() {
        let spec = json!({"addOnConditions": on("In", &["Unknown"]), "taints": [
            {"key": "there", "effect": "NoSchedule", "value": "new"}, {"key": "there", "effect": "NoExecute", "value": "new"}]});
        let policy = |spec| policy("p", "2030-01-01T00:00:00Z", spec);
        let taints = taints_by_policies(Zones::All, &[&policy(spec)], &cluster(), at(9));
        let summary =
            taints.iter().map(|taint| (&*taint.effect, taint.value.as_deref(), taint.time_added.clone()));
        let expected = [("NoSchedule", Some("old"), None), ("NoExecute", Some("new"), Some(Time(at(9))))];
        assert_eq!(summary.collect::<Vec<_>>(), expected);
        let other = json!({"removeOnConditions": on("In", &["Unknown"]), "taints": [{"key": "there", "effect": "NoExecute"}]});
        assert_eq!(keys(&[policy(other)]), ["there"], "one of another effect is another");
    }

    #[test]
    fn a_policy_that_evicts_needs_permission() {
        let spec = |taints: Value| from_json(json!({ "taints": taints }));
        let evicting = spec(json!([{"key": "a", "effect": "NoExecute"}]));
        assert!(validate_taint_policy(&evicting, false).is_err());
        assert!(validate_taint_policy(&evicting, true).is_ok());
        let twice =
            json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "v"}]);
        assert!(validate_taint_policy(&spec(twice), true).is_err());
        for other in [json!({"key": "a", "effect": "NoExecute"}), json!({"key": "b", "effect": "NoSchedule"})]
        {
            let two = json!([{"key": "a", "effect": "NoSchedule"}, other]);
            assert!(validate_taint_policy(&spec(two), true).is_ok());
        }
    }
}
