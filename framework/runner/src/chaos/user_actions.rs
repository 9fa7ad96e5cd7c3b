//! Draws user actions that are undone later: changed or deleted policies, templates, members, copies.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::one_of;
use super::faults::DrawFault;
use super::fleet::Fleet;
use super::objects::{deployment, policy};
use capsize_judge::profile::{Feature, Profile};

/// The actions, with the feature that a target needs for each.
const ACTIONS: [(DrawFault, Option<Feature>); 12] = [
    (ghost, Some(Feature::PullMembers)),
    (leave, None),
    (withdraw, None),
    (forget_policy, None),
    (lose_copy, None),
    (drift, None),
    (release, None),
    (shut_out, None),
    (namespace, Some(Feature::NamespaceSync)),
    (suspend, Some(Feature::SuspendedDispatching)),
    (hold, Some(Feature::SuspendedDispatching)),
    (take_over, Some(Feature::PolicyPreemption)),
];

/// The actions for this target.
pub(super) fn known(profile: &Profile) -> Vec<DrawFault> {
    let known = ACTIONS.iter().filter(|(_, needs)| needs.is_none_or(|feature| profile.has(feature)));
    known.map(|(act, _)| *act).collect()
}

/// The features that the target needs for these actions.
pub(super) fn needs(profile: &Profile) -> impl Iterator<Item = Feature> {
    ACTIONS.iter().filter_map(|(_, needs)| *needs).filter(|feature| profile.has(*feature))
}

/// A member leaves the fleet and joins it again.
fn leave(rng: &mut Stream, fleet: &Fleet) -> Value {
    json!({"deleteMember": fleet.any_member(rng)})
}

/// A member in pull mode joins, but its agent never starts.
fn ghost(_: &mut Stream, _: &Fleet) -> Value {
    apply(&json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "ghost"},
        "spec": {"syncMode": "Pull"},
    }))
}

/// A template is deleted.
fn withdraw(rng: &mut Stream, fleet: &Fleet) -> Value {
    delete(&deployment(fleet.any_workload(rng), &json!({})))
}

fn forget_policy(rng: &mut Stream, fleet: &Fleet) -> Value {
    delete(&policy(fleet.any_workload(rng), &json!({})))
}

fn delete(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().map(|fields| fields.remove("spec"));
    json!({"delete": {"from": "controlPlane", "object": object}})
}

/// A copy is deleted in its member.
fn lose_copy(rng: &mut Stream, fleet: &Fleet) -> Value {
    let workload = fleet.any_workload(rng);
    let mut lost = delete(&deployment(workload, &json!({})));
    lost["delete"]["from"] = json!({"carrying": workload});
    lost
}

/// A copy is changed in its member.
fn drift(rng: &mut Stream, fleet: &Fleet) -> Value {
    let workload = fleet.any_workload(rng);
    let changes = match rng.random_bool(0.5) {
        true => json!({"replicas": rng.random_range(0..=9)}),
        false => image("0.1"),
    };
    json!({"apply": {"to": {"carrying": workload}, "object": deployment(workload, &changes)}})
}

/// The image of a template is changed.
fn release(rng: &mut Stream, fleet: &Fleet) -> Value {
    apply(&deployment(fleet.any_workload(rng), &image("4.0")))
}

fn image(tag: &str) -> Value {
    let container = json!({"name": "main", "image": format!("registry.k8s.io/pause:{tag}")});
    json!({"template": {"spec": {"containers": [container]}}})
}

/// A policy excludes a member.
fn shut_out(rng: &mut Stream, fleet: &Fleet) -> Value {
    let affinity = json!({"clusterAffinity": {"exclude": [fleet.any_member(rng)]}});
    apply(&policy(fleet.any_workload(rng), &json!({"placement": affinity})))
}

/// A namespace is created. It may be one that is not propagated to members.
fn namespace(rng: &mut Stream, _: &Fleet) -> Value {
    let name = *one_of(rng, &["shop", "shop", "kube-shop", "inner"]);
    let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if name == "inner" {
        namespace["metadata"]["labels"] = json!({"namespace.karmada.io/skip-auto-propagation": "true"});
    }
    apply(&namespace)
}

/// Delivery to some members or to all is suspended.
fn suspend(rng: &mut Stream, fleet: &Fleet) -> Value {
    let some = json!({"dispatchingOnClusters": {"clusterNames": [fleet.any_member(rng)]}});
    let suspension = if rng.random_bool(0.5) { some } else { json!({"dispatching": true}) };
    apply(&policy(fleet.any_workload(rng), &json!({"suspension": suspension})))
}

/// Scheduling of a workload is suspended.
fn hold(rng: &mut Stream, fleet: &Fleet) -> Value {
    let name = format!("{}-deployment", fleet.any_workload(rng));
    apply(&json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"suspension": {"scheduling": true}},
    }))
}

/// Another policy selects a template of the first one, with or without preemption.
fn take_over(rng: &mut Stream, fleet: &Fleet) -> Value {
    let preemption = *one_of(rng, &["Always", "Never"]);
    let spec = json!({
        "resourceSelectors": [{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": fleet.any_workload(rng),
        }],
        "priority": 5,
        "preemption": preemption,
        "placement": {"clusterAffinity": {"clusterNames": [fleet.any_member(rng)]}},
    });
    apply(&policy("rival", &spec))
}

fn apply(object: &Value) -> Value {
    json!({"apply": {"to": "controlPlane", "object": object}})
}
