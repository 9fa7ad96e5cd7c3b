//! Defaults that the webhooks add to a policy.
//!
//! karmada-io/karmada `pkg/webhook/{propagationpolicy,overridepolicy}/mutating.go`,
//! `pkg/util/helper/{taint,policy}.go`, of v1.5.0 and v1.18.2.

use std::time::Duration;

use k8s_openapi::api::core::v1::Toleration;

use crate::Behaviour;
use crate::api::{
    ApplicationFailover, NO_EXECUTE, Placement, ResourceSelector, TAINT_NOT_READY, TAINT_UNREACHABLE,
};

/// Returns the tolerations of a policy with one toleration for each NoExecute taint of ill health.
/// The toleration is for the configured time. No toleration is added for a key for which the policy has a toleration
/// already. NoSchedule is never tolerated, so that an unhealthy cluster gets no new workloads.
#[must_use]
pub fn default_tolerations(
    given: &[Toleration],
    not_ready: Duration,
    unreachable: Duration,
) -> Vec<Toleration> {
    let mut tolerations = given.to_vec();
    for (key, tolerated) in [(TAINT_NOT_READY, not_ready), (TAINT_UNREACHABLE, unreachable)] {
        if !given.iter().any(|toleration| toleration.key.as_deref() == Some(key)) {
            tolerations.push(Toleration {
                key: Some(key.into()),
                operator: Some("Exists".into()),
                effect: Some(NO_EXECUTE.into()),
                toleration_seconds: Some(i64::try_from(tolerated.as_secs()).unwrap_or(i64::MAX)),
                value: None,
            });
        }
    }
    tolerations
}

/// Fills in the defaults of a placement.
/// A constraint spreads by cluster, over at least one group, whatever its maximum is. Divided replicas are divided by
/// weight.
pub fn default_placement(placement: &mut Placement) {
    for constraint in &mut placement.spread_constraints {
        if constraint.spread_by_field.is_empty() && constraint.spread_by_label.is_empty() {
            constraint.spread_by_field = "cluster".into();
        }
        if constraint.min_groups == 0 {
            constraint.min_groups = 1;
        }
    }
    if let Some(scheduling) = &mut placement.replica_scheduling
        && scheduling.replica_scheduling_type == "Divided"
        && scheduling.replica_division_preference.is_empty()
    {
        scheduling.replica_division_preference = "Weighted".into();
    }
}

/// Sets how long the old copy of a failing workload stays at most.
/// The default is set if the purge mode is graceful and the policy has no grace period (`SetDefaultGracePeriodSeconds`;
/// as from 1.6).
pub fn default_failover(behaviour: Behaviour, failover: &mut ApplicationFailover) {
    if behaviour.is_graceful(failover.purge_mode) {
        failover.grace_period_seconds.get_or_insert(600);
    }
}

/// Gives selectors without a namespace the namespace of their policy.
pub fn default_selectors(selectors: &mut [ResourceSelector], policy_namespace: &str) {
    for selector in selectors.iter_mut().filter(|selector| selector.namespace.is_empty()) {
        selector.namespace = policy_namespace.into();
    }
}

/// Returns true if dependencies are propagated whatever the policy says.
/// This holds for the dependencies of a `ServiceImport` (`ContainsServiceImport`).
#[must_use]
pub fn needs_dependencies(selectors: &[ResourceSelector]) -> bool {
    selectors.iter().any(|selector| {
        selector.kind == "ServiceImport" && selector.api_version == "multicluster.x-k8s.io/v1alpha1"
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn each_health_taint_is_tolerated_for_a_while_unless_the_policy_says_otherwise() {
        let of = |key: &str, seconds: i64| Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            effect: Some(NO_EXECUTE.into()),
            toleration_seconds: Some(seconds),
            value: None,
        };
        let (five, six) = (Duration::from_secs(300), Duration::from_secs(360));
        assert_eq!(
            default_tolerations(&[], five, six),
            [of(TAINT_NOT_READY, 300), of(TAINT_UNREACHABLE, 360)]
        );
        let forever = Toleration { toleration_seconds: None, ..of(TAINT_NOT_READY, 0) };
        assert_eq!(
            default_tolerations(std::slice::from_ref(&forever), five, six),
            [forever, of(TAINT_UNREACHABLE, 360)]
        );
    }

    #[test]
    fn what_is_left_open_is_filled_in() {
        let mut placement: Placement = from_json(json!({"spreadConstraints": [{}], "replicaScheduling": {}}));
        default_placement(&mut placement);
        let expected: Placement = from_json(json!({
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1}],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
        }));
        assert_eq!(placement, expected);
        let cases = [
            (
                json!({"spreadByField": "zone", "minGroups": 2}),
                json!({"spreadByField": "zone", "minGroups": 2}),
            ),
            (
                json!({"spreadByLabel": "a", "maxGroups": 2}),
                json!({"spreadByLabel": "a", "minGroups": 1, "maxGroups": 2}),
            ),
        ];
        for (given, expected) in cases {
            let of = |constraint: &serde_json::Value| -> Placement {
                from_json(json!({"spreadConstraints": [constraint]}))
            };
            let mut placement = of(&given);
            default_placement(&mut placement);
            assert_eq!(placement.spread_constraints, of(&expected).spread_constraints, "{given}");
        }
    }

    #[test]
    fn what_stays_for_a_while_stays_for_ten_minutes() {
        let after = |failover: serde_json::Value| {
            let mut failover: ApplicationFailover = from_json(failover);
            default_failover(Behaviour::default(), &mut failover);
            failover.grace_period_seconds
        };
        let conditions = json!({"tolerationSeconds": 5});
        assert_eq!(after(json!({"decisionConditions": conditions})), Some(600));
        assert_eq!(after(json!({"decisionConditions": conditions, "gracePeriodSeconds": 5})), Some(5));
        assert_eq!(after(json!({"decisionConditions": conditions, "purgeMode": "Never"})), None);
    }

    #[test]
    fn a_selector_is_of_its_policys_namespace_unless_it_says_otherwise() {
        let selector = |namespace: &str, kind: &str| ResourceSelector {
            api_version: "multicluster.x-k8s.io/v1alpha1".into(),
            kind: kind.into(),
            namespace: namespace.into(),
            ..ResourceSelector::default()
        };
        let mut selectors = [selector("", "ServiceExport"), selector("other", "ServiceExport")];
        default_selectors(&mut selectors, "own");
        assert_eq!(selectors.each_ref().map(|selector| selector.namespace.as_str()), ["own", "other"]);
        assert!(!needs_dependencies(&selectors));
        assert!(needs_dependencies(&[selector("", "ServiceImport")]));
    }
}
