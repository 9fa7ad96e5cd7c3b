//! The decisions of the webhooks about a write: first defaults, then validation.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::overlay::overlay;
use crate::Settings;
use crate::api::{
    ClusterSpec, ClusterTaintPolicySpec, ConflictResolution, DEFAULT_SCHEDULER, OverridePolicySpec,
    PropagationPolicySpec,
};
use crate::rules::Rules;

/// A write of an object that the webhooks are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The object's kind.
    pub kind: &'a str,
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: &'a str,
    /// The object's namespace; empty where it has none.
    pub namespace: &'a str,
    /// The object as it would be stored.
    pub object: &'a Value,
    /// The object as it is stored.
    pub old: Option<&'a Value>,
    /// A UUID of this write, which becomes the permanent id of the object; empty: the object gets none.
    pub id: &'a str,
}

impl<'a> Write<'a> {
    /// A write of `object`, whose namespace is the one that it names.
    #[must_use]
    pub fn of(kind: &'a str, operation: &'a str, object: &'a Value, old: Option<&'a Value>) -> Self {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
        Self { kind, operation, namespace, object, old, id: "" }
    }
}

/// Sets the defaults of an object that is being written, and validates it.
/// `Ok(None)`: nothing changes, as for kinds without a webhook.
///
/// # Errors
/// The reason of the refusal.
pub fn admit(settings: &Settings, rules: &dyn Rules, write: Write<'_>) -> Result<Option<Value>, String> {
    let changed = mutate(settings, rules, write)?;
    validate(settings, rules, Write { object: changed.as_ref().unwrap_or(write.object), ..write })?;
    Ok(changed)
}

/// Sets the defaults of an object. `Ok(None)`: nothing changes.
///
/// # Errors
/// The reason of the refusal.
pub(super) fn mutate(
    settings: &Settings,
    rules: &dyn Rules,
    write: Write<'_>,
) -> Result<Option<Value>, String> {
    match (write.operation, write.kind) {
        ("CREATE" | "UPDATE", "PropagationPolicy" | "ClusterPropagationPolicy") => {
            let name = write.object.pointer("/metadata/name").and_then(Value::as_str);
            rules.validate_policy_name(write.kind, name.unwrap_or_default())?;
            let filled =
                changed(write.object, |policy| set_defaults(settings, rules, write.namespace, policy))?;
            let filled = with_id(rules, write, filled.as_ref().unwrap_or(write.object)).or(filled);
            Ok(with_finalizer(rules, write.kind, filled.as_ref().unwrap_or(write.object)).or(filled))
        }
        ("CREATE", "ResourceBinding" | "ClusterResourceBinding" | "Work") => {
            Ok(with_id(rules, write, write.object))
        }
        ("CREATE" | "UPDATE", "Cluster") if settings.gates.customized_cluster_resource_modeling => {
            changed(write.object, |cluster: &mut ClusterSpec| {
                rules.default_models(&mut cluster.resource_models);
            })
        }
        ("CREATE" | "UPDATE", "OverridePolicy") => {
            changed(write.object, |policy: &mut OverridePolicySpec| {
                rules.default_selectors(&mut policy.resource_selectors, write.namespace);
            })
        }
        _ => Ok(None),
    }
}

/// The object with its permanent id; `None` if it has one, or gets none.
fn with_id(rules: &dyn Rules, write: Write<'_>, object: &Value) -> Option<Value> {
    if write.id.is_empty() {
        return None;
    }
    let mut identified = object.clone();
    rules.identify(write.kind, &mut identified, write.id);
    (identified != *object).then_some(identified)
}

/// The policy with its finalizer; `None` if it has it, gets none, or is being deleted.
fn with_finalizer(rules: &dyn Rules, kind: &str, policy: &Value) -> Option<Value> {
    let finalizer = rules.policy_finalizer(kind)?;
    let metadata = &policy["metadata"];
    let finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
    if finalizers.iter().any(|one| one == finalizer) || !metadata["deletionTimestamp"].is_null() {
        return None;
    }
    let mut kept = policy.clone();
    kept["metadata"]["finalizers"] = [finalizers, vec![finalizer.into()]].concat().into();
    Some(kept)
}

fn set_defaults(settings: &Settings, rules: &dyn Rules, namespace: &str, policy: &mut PropagationPolicySpec) {
    if !namespace.is_empty() {
        rules.default_selectors(&mut policy.resource_selectors, namespace);
    }
    rules.default_placement(&mut policy.placement);
    let tolerations = &mut policy.placement.cluster_tolerations;
    *tolerations = rules.default_tolerations(
        tolerations,
        settings.not_ready_toleration,
        settings.unreachable_toleration,
    );
    if let Some(failover) = policy.failover.as_mut().and_then(|failover| failover.application.as_mut()) {
        rules.default_failover(failover);
    }
    policy.propagate_deps |= rules.needs_dependencies(&policy.resource_selectors);
    // In the real system these are defaults of the schema.
    if rules.behaviour().resolves_conflicts {
        policy.conflict_resolution.get_or_insert(ConflictResolution::Abort);
        if policy.preemption.is_empty() {
            policy.preemption = "Never".into();
        }
    }
    policy.priority.get_or_insert(0);
    if policy.scheduler_name.is_empty() {
        policy.scheduler_name = DEFAULT_SCHEDULER.into();
    }
}

/// Refuses an invalid object.
///
/// # Errors
/// The reason of the refusal.
pub(super) fn validate(settings: &Settings, rules: &dyn Rules, write: Write<'_>) -> Result<(), String> {
    match (write.operation, write.kind) {
        ("CREATE" | "UPDATE", "PropagationPolicy" | "ClusterPropagationPolicy") => {
            let before = write.old.map(spec).transpose()?;
            let policy = spec(write.object)?;
            rules.validate_policy(&policy, before.as_ref())?;
            rules.validate_selectors(&policy.resource_selectors, write.namespace)
        }
        ("CREATE" | "UPDATE", "OverridePolicy" | "ClusterOverridePolicy") => {
            let policy = spec(write.object)?;
            rules.validate_overrides(&policy)?;
            rules.validate_selectors(&policy.resource_selectors, write.namespace)
        }
        ("CREATE" | "UPDATE", "ClusterTaintPolicy") => {
            let spec: ClusterTaintPolicySpec = spec(write.object)?;
            rules.validate_taint_policy(&spec, settings.allow_no_execute_taint_policy)
        }
        ("CREATE", "Cluster") => {
            let name = write.object.pointer("/metadata/name").and_then(Value::as_str);
            rules.validate_cluster_name(name.unwrap_or_default())
        }
        _ => Ok(()),
    }
}

/// Reads the spec from its text, because a tree would need the code of another reader for each kind.
fn spec<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    let text = object.get("spec").unwrap_or_default().to_string();
    serde_json::from_str(&text).map_err(|error| {
        // The position is that in a text that nobody has written.
        format!("spec: {}", error.to_string().split(" at line ").next().unwrap_or_default())
    })
}

/// The object with its spec changed; `None` if that changes nothing.
fn changed<T: Clone + Serialize + DeserializeOwned>(
    object: &Value,
    change: impl FnOnce(&mut T),
) -> Result<Option<Value>, String> {
    let before: T = spec(object)?;
    let mut after = before.clone();
    change(&mut after);
    let known = |spec: &T| serde_json::to_value(spec).map_err(|error| format!("spec: {error}"));
    let mut changed = object.clone();
    overlay(&mut changed["spec"], &known(&before)?, &known(&after)?);
    Ok((changed != *object).then_some(changed))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::{Gates, ReferenceRules, Release};

    fn ask(kind: &str, operation: &str, object: &Value) -> Result<Option<Value>, String> {
        let write = Write { kind, operation, namespace: "default", object, old: None, id: "a1" };
        admit(&Settings::default(), &ReferenceRules, write)
    }

    #[test]
    fn a_policy_gets_its_tolerations_once_and_keeps_unknown_fields() {
        let policy = json!({"metadata": {"name": "p"}, "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "placement": {"later": 1}}});
        let admitted = ask("PropagationPolicy", "CREATE", &policy).unwrap().unwrap();
        let tolerations = admitted["spec"]["placement"]["clusterTolerations"].as_array().unwrap();
        assert_eq!(tolerations.len(), 2);
        assert_eq!(tolerations[0]["tolerationSeconds"], 300);
        assert_eq!(admitted["spec"]["placement"]["later"], 1);
        assert_eq!(admitted["spec"]["resourceSelectors"][0]["namespace"], "default");
        assert_eq!(admitted["spec"]["schedulerName"], "default-scheduler");
        assert_eq!(ask("PropagationPolicy", "UPDATE", &admitted), Ok(None));
    }

    #[test]
    fn a_later_release_adds_no_tolerations() {
        let policy = json!({"metadata": {"name": "p"}, "spec": {"resourceSelectors": []}});
        let write = Write {
            kind: "ClusterPropagationPolicy",
            operation: "CREATE",
            namespace: "",
            object: &policy,
            old: None,
            id: "a1",
        };
        let admitted = admit(&Settings::default(), &Release::of("1.18"), write).unwrap().unwrap();
        assert_eq!(admitted["spec"].get("placement"), None);
        assert_eq!(admitted["spec"]["conflictResolution"], "Abort");
        assert_eq!(
            admitted["metadata"]["labels"],
            json!({"clusterpropagationpolicy.karmada.io/permanent-id": "a1"})
        );
        let finalizers = json!(["karmada.io/cluster-propagation-policy-controller"]);
        assert_eq!(admitted["metadata"]["finalizers"], finalizers);
        let again = Write { operation: "UPDATE", object: &admitted, id: "b2", ..write };
        assert_eq!(admit(&Settings::default(), &Release::of("1.18"), again), Ok(None));
        let mut going = admitted.clone();
        going["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
        going["metadata"]["finalizers"] = json!([]);
        let last = Write { operation: "UPDATE", object: &going, ..again };
        assert_eq!(admit(&Settings::default(), &Release::of("1.18"), last), Ok(None));
    }

    #[test]
    fn the_dependencies_of_a_service_import_are_propagated_with_it() {
        let selector = json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport"});
        let policy = json!({"metadata": {"name": "p"}, "spec": {"resourceSelectors": [selector]}});
        let admitted = ask("PropagationPolicy", "CREATE", &policy).unwrap().unwrap();
        assert_eq!(admitted["spec"]["propagateDeps"], true);
    }

    #[test]
    fn other_kinds_and_deletions_are_not_changed() {
        let object = json!({"spec": {}});
        assert_eq!(ask("Deployment", "CREATE", &object), Ok(None));
        assert_eq!(ask("PropagationPolicy", "DELETE", &object), Ok(None));
    }

    #[test]
    fn a_cluster_gets_grades_if_the_gate_is_on() {
        let cluster = json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "later": 1}});
        let graded = ask("Cluster", "CREATE", &cluster).unwrap().unwrap();
        assert_eq!(graded["spec"]["resourceModels"].as_array().unwrap().len(), 9);
        assert_eq!(graded["spec"]["later"], 1);
        assert_eq!(ask("Cluster", "UPDATE", &graded), Ok(None));
        let gates = Gates { customized_cluster_resource_modeling: false, ..Gates::default() };
        let off = Settings { gates, ..Settings::default() };
        assert_eq!(admit(&off, &ReferenceRules, Write::of("Cluster", "CREATE", &cluster, None)), Ok(None));
    }

    #[test]
    fn invalid_objects_are_refused() {
        let policy = |name: &str, placement: Value| json!({"metadata": {"name": name}, "spec": {"resourceSelectors": [], "placement": placement}});
        let spread =
            json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 2}]});
        let overrides = json!({"spec": {"overrideRules": [{"overriders": {}}], "targetCluster": {}}});
        let evicting = json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}});
        let rows = [
            ("ClusterTaintPolicy", evicting, ""),
            ("ClusterPropagationPolicy", policy("p", spread), "spec.placement.spreadConstraints[0]"),
            ("PropagationPolicy", policy("p", json!({"clusterTolerations": 5})), "spec: "),
            ("PropagationPolicy", policy(&"p".repeat(64), json!({})), "PropagationPolicy's name should be"),
            ("OverridePolicy", overrides, "spec.targetCluster: Invalid value"),
            ("Cluster", json!({"metadata": {"name": "A"}, "spec": {}}), "metadata.name: Invalid value"),
        ];
        for (kind, object, why) in rows {
            let refused = ask(kind, "CREATE", &object).unwrap_err();
            assert!(refused.starts_with(why), "{kind}: {refused}");
        }
    }

    #[test]
    fn a_policy_keeps_its_scheduler() {
        let policy = |scheduler: &str| json!({"metadata": {"name": "p"}, "spec": {"resourceSelectors": [], "schedulerName": scheduler}});
        let (old, object) = (policy("default-scheduler"), policy("volcano"));
        let write = Write {
            kind: "PropagationPolicy",
            operation: "UPDATE",
            namespace: "default",
            object: &object,
            old: Some(&old),
            id: "",
        };
        let refused = admit(&Settings::default(), &ReferenceRules, write);
        assert_eq!(refused, Err("the schedulerName should not be updated".into()));
    }
}
