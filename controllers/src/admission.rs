//! The policy webhook, as a function for an API server in the same process.

use serde_json::Value;

use crate::Settings;
use crate::api::{OverridePolicySpec, Placement};
use crate::rules::Rules;

/// Fills in and checks a policy that is being written: tolerations of the health taints, what the placement leaves
/// open. `Ok(None)`: nothing to do, as for every other kind.
///
/// # Errors
/// Why the policy is refused.
pub fn admit(
    settings: &Settings,
    rules: &dyn Rules,
    kind: &str,
    operation: &str,
    object: &Value,
) -> Result<Option<Value>, String> {
    if !matches!(operation, "CREATE" | "UPDATE") {
        return Ok(None);
    }
    match kind {
        "PropagationPolicy" | "ClusterPropagationPolicy" => admit_policy(settings, rules, object),
        "OverridePolicy" | "ClusterOverridePolicy" => {
            let spec = object.get("spec").cloned().unwrap_or_default();
            let spec: OverridePolicySpec =
                serde_json::from_value(spec).map_err(|error| format!("spec: {error}"))?;
            rules.validate_overrides(&spec).map(|()| None)
        }
        _ => Ok(None),
    }
}

fn admit_policy(settings: &Settings, rules: &dyn Rules, object: &Value) -> Result<Option<Value>, String> {
    let given =
        object.pointer("/spec/placement").cloned().unwrap_or_else(|| Value::Object(Default::default()));
    let mut placement: Placement =
        serde_json::from_value(given.clone()).map_err(|error| format!("spec.placement: {error}"))?;
    rules.default_placement(&mut placement);
    let (not_ready, unreachable) = (settings.not_ready_toleration, settings.unreachable_toleration);
    placement.cluster_tolerations =
        rules.default_tolerations(&placement.cluster_tolerations, not_ready, unreachable);
    rules.validate_placement(&placement)?;
    let mut admitted = object.clone();
    let Some(spec) = admitted.get_mut("spec").and_then(Value::as_object_mut) else {
        return Err("spec: required".into());
    };
    let placement = serde_json::to_value(&placement).map_err(|error| error.to_string())?;
    spec.insert("placement".into(), placement);
    spec.entry("schedulerName").or_insert_with(|| "default-scheduler".into());
    spec.entry("priority").or_insert_with(|| 0.into());
    Ok((admitted != *object).then_some(admitted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::Reference;

    fn ask(kind: &str, operation: &str, object: &Value) -> Result<Option<Value>, String> {
        admit(&Settings::default(), &Reference, kind, operation, object)
    }

    #[test]
    fn a_policy_gets_its_tolerations_once() {
        let policy = json!({"spec": {"resourceSelectors": [], "placement": {}}});
        let admitted = ask("PropagationPolicy", "CREATE", &policy).unwrap().unwrap();
        let tolerations = admitted["spec"]["placement"]["clusterTolerations"].as_array().unwrap();
        assert_eq!(tolerations.len(), 2);
        assert_eq!(tolerations[0]["tolerationSeconds"], 300);
        assert_eq!(ask("PropagationPolicy", "UPDATE", &admitted), Ok(None));
    }

    #[test]
    fn other_kinds_and_deletions_pass_as_they_are() {
        let object = json!({"spec": {}});
        assert_eq!(ask("Deployment", "CREATE", &object), Ok(None));
        assert_eq!(ask("PropagationPolicy", "DELETE", &object), Ok(None));
    }

    #[test]
    fn a_policy_that_makes_no_sense_is_refused() {
        let spread = json!({"spec": {"placement": {"spreadConstraints": [
            {"spreadByField": "cluster", "minGroups": 3, "maxGroups": 2}]}}});
        assert!(
            ask("ClusterPropagationPolicy", "CREATE", &spread).unwrap_err().contains("spreadConstraints[0]")
        );
        let both = json!({"spec": {"overrideRules": [{"overriders": {}}], "overriders": {}}});
        assert!(ask("OverridePolicy", "CREATE", &both).is_err());
        let shape = json!({"spec": {"placement": {"clusterTolerations": 5}}});
        assert!(ask("PropagationPolicy", "CREATE", &shape).unwrap_err().starts_with("spec.placement"));
    }
}
