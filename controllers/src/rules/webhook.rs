//! What the policy webhook adds to a policy, and what it refuses.
//!
//! karmada-io/karmada v1.5.0 `pkg/webhook/propagationpolicy/mutating.go`, `pkg/util/helper/{taint,policy}.go`,
//! `pkg/util/validation/validation.go`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Toleration;

use crate::api::{NO_EXECUTE, Placement, SpreadConstraint, TAINT_NOT_READY, TAINT_UNREACHABLE};

/// The tolerations of a policy, with one of each health taint's NoExecute for as long as the settings say, unless
/// it has a toleration of that key already. Never of NoSchedule: a sick cluster gets nothing new.
#[must_use]
pub fn default_tolerations(
    given: &[Toleration],
    not_ready: Duration,
    unreachable: Duration,
) -> Vec<Toleration> {
    let mut tolerations = given.to_vec();
    for (key, patience) in [(TAINT_NOT_READY, not_ready), (TAINT_UNREACHABLE, unreachable)] {
        if !given.iter().any(|toleration| toleration.key.as_deref() == Some(key)) {
            tolerations.push(Toleration {
                key: Some(key.into()),
                operator: Some("Exists".into()),
                effect: Some(NO_EXECUTE.into()),
                toleration_seconds: Some(i64::try_from(patience.as_secs()).unwrap_or(i64::MAX)),
                value: None,
            });
        }
    }
    tolerations
}

/// Fills in what a placement leaves open: a constraint spreads by cluster, over one group at least; what is divided
/// is divided by weight.
pub fn default_placement(placement: &mut Placement) {
    for constraint in &mut placement.spread_constraints {
        if constraint.spread_by_field.is_empty() && constraint.spread_by_label.is_empty() {
            constraint.spread_by_field = "cluster".into();
        }
        if constraint.min_groups == 0 && constraint.max_groups == 0 {
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

/// Refuses a placement that contradicts itself.
///
/// # Errors
/// What is wrong, with the field.
pub fn validate_placement(placement: &Placement) -> Result<(), String> {
    let constraints = &placement.spread_constraints;
    for (index, constraint) in constraints.iter().enumerate() {
        let at = |what: &str| Err(format!("spec.placement.spreadConstraints[{index}]: {what}"));
        let SpreadConstraint { spread_by_field, spread_by_label, max_groups, min_groups } = constraint;
        if !spread_by_field.is_empty() && !spread_by_label.is_empty() {
            return at("spreadByField and spreadByLabel should not co-exist");
        }
        if *max_groups < 0 || *min_groups < 0 {
            return at("maxGroups and minGroups must not be negative");
        }
        if *max_groups > 0 && max_groups < min_groups {
            return at("maxGroups lower than minGroups is not allowed");
        }
    }
    let spreads_by = |field: &str| constraints.iter().any(|constraint| constraint.spread_by_field == field);
    if ["region", "zone", "provider"].into_iter().any(spreads_by) && !spreads_by("cluster") {
        return Err("spec.placement.spreadConstraints: the cluster spread constraint must be enabled".into());
    }
    let weights = placement.replica_scheduling.iter().flat_map(|scheduling| &scheduling.weight_preference);
    if weights.flat_map(|weights| &weights.static_weight_list).any(|rule| rule.weight < 1) {
        return Err("spec.placement.replicaScheduling.weightPreference.staticWeightList: \
                    weight must be at least 1"
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn contradictions_are_refused() {
        let constraint = |by: &str, min: i64, max: i64| json!({"spreadConstraints": [{"spreadByField": by, "minGroups": min, "maxGroups": max}]});
        let weight = |weight: i64| {
            json!({"replicaScheduling": {"weightPreference": {"staticWeightList": [
                {"targetCluster": {}, "weight": weight}]}}})
        };
        let cases = [
            (json!({}), true),
            (constraint("cluster", 2, 2), true),
            (constraint("cluster", 1, 0), true),
            (constraint("cluster", 3, 2), false),
            (constraint("cluster", -1, 2), false),
            (constraint("region", 1, 2), false),
            (weight(1), true),
            (weight(0), false),
        ];
        for (placement, accepted) in cases {
            let parsed: Placement = serde_json::from_value(placement.clone()).unwrap();
            assert_eq!(validate_placement(&parsed).is_ok(), accepted, "{placement}");
        }
    }

    #[test]
    fn what_is_left_open_is_filled_in() {
        let mut placement: Placement =
            serde_json::from_value(json!({"spreadConstraints": [{}], "replicaScheduling": {}})).unwrap();
        default_placement(&mut placement);
        let expected: Placement = serde_json::from_value(json!({
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1}],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
        }))
        .unwrap();
        assert_eq!(placement, expected);
    }
}
