//! Draws what a workload may have beside its placement. Each option is drawn on its own.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::{Draw, one_of};
use super::fleet::Fleet;
use super::objects::{cluster_policy, deployment, policy};
use capsize_judge::profile::Feature;

/// The steps that create the options of the workload `name`.
pub(super) fn draw(
    rng: &mut Stream,
    draw: &mut Draw<'_>,
    fleet: &Fleet,
    (name, scoped): (&str, bool),
) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut spec = json!({});
    if rng.random_bool(0.2) && draw.may(Feature::PurgeModes) {
        spec["failover"]["cluster"] = json!({"purgeMode": one_of(rng, &["Directly", "Gracefully"])});
    }
    if !scoped {
        if rng.random_bool(0.15) && draw.may(Feature::ApplicationFailover) {
            spec["failover"]["application"] = application_failover(rng, draw);
            spec["propagateDeps"] = json!(true);
        }
        if rng.random_bool(0.1) && draw.may(Feature::PropagatesDependencies) {
            spec["propagateDeps"] = json!(true);
            steps.extend(dependency(name));
        }
        if rng.random_bool(0.05) && draw.may(Feature::LazyActivation) {
            spec["activationPreference"] = json!("Lazy");
        }
        if rng.random_bool(0.15) && draw.may(Feature::Overrides) {
            let clusters = [fleet.any_member(rng)];
            steps.push(json!({"override": {"workload": name, "clusters": clusters, "imageTag": "3.9"}}));
        }
    }
    if spec != json!({}) {
        let policy = if scoped { cluster_policy(name, &spec) } else { policy(name, &spec) };
        steps.push(json!({"apply": {"to": "controlPlane", "object": policy}}));
    }
    steps
}

/// How long the workload may be unhealthy, and what happens to the copy then.
/// The time is longer than any start-up time: otherwise each new copy would be evicted while it starts, for ever.
fn application_failover(rng: &mut Stream, draw: &mut Draw<'_>) -> Value {
    let mut failover = json!({
        "decisionConditions": {"tolerationSeconds": rng.random_range(75..=180)},
        "purgeMode": one_of(rng, &["Directly", "Gracefully"]),
    });
    if rng.random_bool(0.5) && draw.may(Feature::PreservedState) {
        let rule = json!({"aliasLabelName": "example.com/ready", "jsonPath": "{.readyReplicas}"});
        failover["statePreservation"] = json!({"rules": [rule]});
    }
    failover
}

/// A `ConfigMap` that the workload needs, and that is propagated with it.
fn dependency(name: &str) -> [Value; 2] {
    let needed = format!("{name}-needs");
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": needed, "namespace": "default"}, "data": {"k": "v"},
    });
    let container = json!({"name": "main", "envFrom": [{"configMapRef": {"name": needed}}]});
    let needs = json!({"template": {"spec": {"containers": [container]}}});
    [object, deployment(name, &needs)]
        .map(|object| json!({"apply": {"to": "controlPlane", "object": object}}))
}

/// A taint policy of the user: members that are not ready get a taint with a key of its own.
pub(super) fn taint_policy(rng: &mut Stream, draw: &mut Draw<'_>) -> Option<Value> {
    if !rng.random_bool(0.1) || !draw.may(Feature::ClusterTaintPolicies) {
        return None;
    }
    let when =
        |operator: &str| json!([{"conditionType": "Ready", "operator": operator, "statusValues": ["True"]}]);
    let effect = one_of(rng, &["NoSchedule", "NoExecute"]);
    Some(json!({"apply": {"to": "controlPlane", "object": {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "evacuate"},
        "spec": {
            "addOnConditions": when("NotIn"), "removeOnConditions": when("In"),
            "taints": [{"key": "example.com/evacuate", "effect": effect}],
        },
    }}}))
}
