//! Validation of propagation policies, of their names, and of the names of clusters.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/validation/validation.go`, `pkg/webhook/propagationpolicy/validating.go`, with
//! their messages.

use super::errors::{all_of, invalid};
use super::names::{LABEL_VALUE_LENGTH, not_a_cluster_name};
use super::placement::placement_errors;
use crate::Behaviour;
use crate::api::{ApplicationFailover, DispatchSuspension, PropagationPolicySpec, ResourceSelector};

/// Refuses a policy with conflicting fields, or a change of its scheduler.
///
/// # Errors
/// The invalid fields, with reasons.
pub fn validate_policy(
    behaviour: Behaviour,
    policy: &PropagationPolicySpec,
    before: Option<&PropagationPolicySpec>,
) -> Result<(), String> {
    if before.is_some_and(|before| before.scheduler_name != policy.scheduler_name) {
        return Err("the schedulerName should not be updated".into());
    }
    let mut errors = placement_errors(&policy.placement, "spec.placement");
    if let Some(failover) = policy.failover.as_ref().and_then(|failover| failover.application.as_ref()) {
        if !policy.propagate_deps {
            let why = "application failover is set, propagateDeps must be true";
            errors.push(invalid("spec.propagateDeps", false, why));
        }
        errors.extend(failover_errors(behaviour, failover, "spec.failover.application"));
    }
    errors.extend(preemption_errors(policy));
    errors.extend(policy.suspension.as_ref().and_then(suspension_error));
    all_of(errors)
}

/// Refuses selectors of another namespace than that of their policy.
/// That namespace is empty for a cluster-scoped policy.
///
/// # Errors
/// The selectors of other namespaces; as from 1.17.
pub fn validate_selectors(
    behaviour: Behaviour,
    selectors: &[ResourceSelector],
    policy_namespace: &str,
) -> Result<(), String> {
    if !behaviour.refuses_foreign_selectors || policy_namespace.is_empty() {
        return Ok(());
    }
    let why = "namespace of resource selector must be the same as the namespace of the policy";
    let namespaces = selectors.iter().map(|selector| &selector.namespace).enumerate();
    let foreign = namespaces.filter(|(_, namespace)| *namespace != policy_namespace);
    let error =
        |(index, namespace)| invalid(&format!("spec.resourceSelectors[{index}].namespace"), namespace, why);
    all_of(foreign.map(error).collect())
}

/// As from 1.6. A grace period is valid only if the old copy stays for a time.
fn failover_errors(behaviour: Behaviour, failover: &ApplicationFailover, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let toleration = failover.decision_conditions.toleration_seconds;
    if toleration < 0 {
        let field = format!("{at}.decisionConditions.tolerationSeconds");
        errors.push(invalid(&field, toleration, "must be greater than or equal to 0"));
    }
    let Some(grace) = failover.grace_period_seconds else { return errors };
    let field = format!("{at}.gracePeriodSeconds");
    if !behaviour.is_graceful(failover.purge_mode) {
        let why = "only takes effect when purgeMode is graciously or gracefully";
        errors.push(invalid(&field, grace, why));
    }
    if grace <= 0 {
        errors.push(invalid(&field, grace, "must be greater than 0"));
    }
    errors
}

/// As from 1.11. Dispatching is suspended for all members or for the listed ones.
fn suspension_error(suspension: &DispatchSuspension) -> Option<String> {
    let some = suspension.dispatching_on_clusters.as_ref().is_some_and(|some| !some.cluster_names.is_empty());
    let why = "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames";
    (some && suspension.dispatching == Some(true)).then(|| invalid("spec.suspension", suspension, why))
}

/// Refuses a preempting policy that does not name its templates.
/// Without names, the policy would take over more than intended (as from 1.7).
fn preemption_errors(policy: &PropagationPolicySpec) -> Vec<String> {
    let why = "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption";
    let nameless =
        policy.resource_selectors.iter().enumerate().filter(|(_, selector)| selector.name.is_empty());
    let nameless = nameless.filter(|_| policy.preemption == "Always");
    nameless.map(|(index, _)| invalid(&format!("spec.resourceSelectors[{index}].name"), "", why)).collect()
}

/// Refuses a policy whose name is too long.
/// The templates of the policy have its name as the value of a label.
///
/// # Errors
/// The name is too long.
pub fn validate_policy_name(kind: &str, name: &str) -> Result<(), String> {
    if name.len() > LABEL_VALUE_LENGTH {
        return Err(format!("{kind}'s name should be no more than {LABEL_VALUE_LENGTH} characters"));
    }
    Ok(())
}

/// Refuses a cluster whose name cannot be part of the name of its namespace.
/// The source is `pkg/util/validation/validation.go`, `ValidateClusterName`.
///
/// # Errors
/// The reasons why the name is invalid.
pub fn validate_cluster_name(name: &str) -> Result<(), String> {
    all_of(not_a_cluster_name(name).iter().map(|why| invalid("metadata.name", name, why)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn a_policy_keeps_its_scheduler_and_preempts_by_name() {
        let policy = |changes: Value| -> PropagationPolicySpec {
            let mut policy = json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]});
            policy.as_object_mut().unwrap().extend(changes.as_object().cloned().unwrap());
            from_json(policy)
        };
        let validated =
            |policy: &PropagationPolicySpec, before| validate_policy(Behaviour::default(), policy, before);
        let (plain, other) = (policy(json!({})), policy(json!({"schedulerName": "volcano"})));
        assert_eq!(validated(&plain, None), Ok(()));
        assert_eq!(validated(&other, Some(&other)), Ok(()));
        let moved = validated(&other, Some(&plain));
        assert_eq!(moved, Err("the schedulerName should not be updated".into()));
        let greedy = validated(&policy(json!({"preemption": "Always"})), None).unwrap_err();
        assert!(
            greedy.starts_with("spec.resourceSelectors[0].name: Invalid value: \"\": name cannot be empty")
        );
        let spread = policy(json!({"placement": {"spreadConstraints": [{"spreadByField": "zone"}]}}));
        assert!(
            validated(&spread, None).unwrap_err().contains("the cluster spread constraint must be enabled")
        );
    }

    #[test]
    fn failover_and_suspension_must_make_sense() {
        let failover = |changes: Value| {
            let mut application = json!({"decisionConditions": {"tolerationSeconds": 5}});
            application.as_object_mut().unwrap().extend(changes.as_object().cloned().unwrap());
            json!({"resourceSelectors": [], "propagateDeps": true, "failover": {"application": application}})
        };
        let mut alone = failover(json!({}));
        alone["propagateDeps"] = false.into();
        let suspension = |all: bool, names: &[&str]| {
            json!({"resourceSelectors": [], "suspension": {
                "dispatching": all, "dispatchingOnClusters": {"clusterNames": names}}})
        };
        let cases = [
            (failover(json!({})), ""),
            (failover(json!({"gracePeriodSeconds": 5})), ""),
            (failover(json!({"decisionConditions": {"tolerationSeconds": 0}})), ""),
            (failover(json!({"purgeMode": "Graciously", "gracePeriodSeconds": 5})), ""),
            (alone, "spec.propagateDeps: Invalid value: false: application failover is set"),
            (
                failover(json!({"decisionConditions": {"tolerationSeconds": -1}})),
                "spec.failover.application.decisionConditions.tolerationSeconds: Invalid value: -1: must be",
            ),
            (
                failover(json!({"purgeMode": "Directly", "gracePeriodSeconds": 5})),
                "gracePeriodSeconds: Invalid value: 5: only takes effect when purgeMode is",
            ),
            (
                failover(json!({"gracePeriodSeconds": 0})),
                "gracePeriodSeconds: Invalid value: 0: must be greater",
            ),
            (suspension(true, &[]), ""),
            (suspension(false, &["m1"]), ""),
            (suspension(true, &["m1"]), "suspension dispatching cannot co-exist"),
        ];
        for (policy, expected) in cases {
            let parsed: PropagationPolicySpec = from_json(policy.clone());
            let why = validate_policy(Behaviour::default(), &parsed, None).err().unwrap_or_default();
            assert_eq!(expected.is_empty(), why.is_empty(), "{policy}: {why}");
            assert!(why.contains(expected), "{policy}: {why}");
        }
    }

    #[test]
    fn selectors_are_of_the_namespace_of_their_policy_from_1_17_on() {
        let selectors = ["own", "other"]
            .map(|namespace| ResourceSelector { namespace: namespace.into(), ..ResourceSelector::default() });
        let validated = |release: &str, namespace: &str| {
            validate_selectors(Behaviour::of(release), &selectors, namespace)
        };
        let refused = "spec.resourceSelectors[1].namespace: Invalid value: \"other\": namespace of resource \
            selector must be the same as the namespace of the policy";
        for (release, namespace, expected) in [
            ("1.16", "own", Ok(())),
            ("1.17", "own", Err(refused.to_owned())),
            ("1.19", "own", Err(refused.to_owned())),
            ("1.19", "", Ok(())),
        ] {
            assert_eq!(validated(release, namespace), expected, "{release} {namespace:?}");
        }
    }

    #[test]
    fn names_have_their_lengths() {
        let long = "a".repeat(64);
        assert_eq!(validate_policy_name("PropagationPolicy", &long[..63]), Ok(()));
        let why = "PropagationPolicy's name should be no more than 63 characters";
        assert_eq!(validate_policy_name("PropagationPolicy", &long), Err(why.into()));
        assert_eq!(validate_cluster_name("member1"), Ok(()));
        let why = validate_cluster_name(&long[..49]).unwrap_err();
        assert!(why.ends_with("\": must be no more than 48 characters"), "{why}");
    }
}
