//! What people do to a fleet for a while, and take back: they change and delete policies, templates, members and copies.

use capsize_clock::Stream;
use rand::RngExt;
use serde_json::{Value, json};

use super::draw::one_of;
use super::faults::DrawFault;
use super::fleet::Fleet;
use super::objects::{deployment, policy};
use capsize_judge::profile::{Feature, Profile};

/// How one of it is drawn on a fleet with workloads, and what a target needs for it.
const ACTS: [(DrawFault, Option<Feature>); 12] = [
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

/// Those that a target knows.
pub(super) fn acts(profile: &Profile) -> Vec<DrawFault> {
    let known = ACTS.iter().filter(|(_, needs)| needs.is_none_or(|feature| profile.has(feature)));
    known.map(|(act, _)| *act).collect()
}

/// What a target needs for all of those that it knows.
pub(super) fn needs(profile: &Profile) -> impl Iterator<Item = Feature> {
    ACTS.iter().filter_map(|(_, needs)| *needs).filter(|feature| profile.has(*feature))
}

/// A member leaves the fleet, and joins it again.
fn leave(chance: &mut Stream, fleet: &Fleet) -> Value {
    json!({"deleteMember": fleet.any_member(chance)})
}

/// A member joins whose agent never comes.
fn ghost(_: &mut Stream, _: &Fleet) -> Value {
    apply(&json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "ghost"},
        "spec": {"syncMode": "Pull"},
    }))
}

/// A template goes.
fn withdraw(chance: &mut Stream, fleet: &Fleet) -> Value {
    delete(&deployment(fleet.any_workload(chance), &json!({})))
}

fn forget_policy(chance: &mut Stream, fleet: &Fleet) -> Value {
    delete(&policy(fleet.any_workload(chance), &json!({})))
}

fn delete(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().map(|fields| fields.remove("spec"));
    json!({"delete": {"from": "controlPlane", "object": object}})
}

/// A copy vanishes from its member.
fn lose_copy(chance: &mut Stream, fleet: &Fleet) -> Value {
    let workload = fleet.any_workload(chance);
    let mut lost = delete(&deployment(workload, &json!({})));
    lost["delete"]["from"] = json!({"carrying": workload});
    lost
}

/// A copy is changed in its member.
fn drift(chance: &mut Stream, fleet: &Fleet) -> Value {
    let workload = fleet.any_workload(chance);
    let changes = match chance.random_bool(0.5) {
        true => json!({"replicas": chance.random_range(0..=9)}),
        false => image("0.1"),
    };
    json!({"apply": {"to": {"carrying": workload}, "object": deployment(workload, &changes)}})
}

/// A template runs another image.
fn release(chance: &mut Stream, fleet: &Fleet) -> Value {
    apply(&deployment(fleet.any_workload(chance), &image("4.0")))
}

fn image(tag: &str) -> Value {
    let container = json!({"name": "main", "image": format!("registry.k8s.io/pause:{tag}")});
    json!({"template": {"spec": {"containers": [container]}}})
}

/// A policy no longer allows a member.
fn shut_out(chance: &mut Stream, fleet: &Fleet) -> Value {
    let affinity = json!({"clusterAffinity": {"exclude": [fleet.any_member(chance)]}});
    apply(&policy(fleet.any_workload(chance), &json!({"placement": affinity})))
}

/// A namespace comes, which may be one that is not for the members.
fn namespace(chance: &mut Stream, _: &Fleet) -> Value {
    let name = *one_of(chance, &["shop", "shop", "kube-shop", "inner"]);
    let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if name == "inner" {
        namespace["metadata"]["labels"] = json!({"namespace.karmada.io/skip-auto-propagation": "true"});
    }
    apply(&namespace)
}

/// What is written to members is held back, in some of them or in all.
fn suspend(chance: &mut Stream, fleet: &Fleet) -> Value {
    let some = json!({"dispatchingOnClusters": {"clusterNames": [fleet.any_member(chance)]}});
    let suspension = if chance.random_bool(0.5) { some } else { json!({"dispatching": true}) };
    apply(&policy(fleet.any_workload(chance), &json!({"suspension": suspension})))
}

/// A workload is not placed any more, and stays where it is.
fn hold(chance: &mut Stream, fleet: &Fleet) -> Value {
    let name = format!("{}-deployment", fleet.any_workload(chance));
    apply(&json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"suspension": {"scheduling": true}},
    }))
}

/// Another policy wants a template, and takes it from its own or may not.
fn take_over(chance: &mut Stream, fleet: &Fleet) -> Value {
    let preemption = *one_of(chance, &["Always", "Never"]);
    let spec = json!({
        "resourceSelectors": [{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": fleet.any_workload(chance),
        }],
        "priority": 5,
        "preemption": preemption,
        "placement": {"clusterAffinity": {"clusterNames": [fleet.any_member(chance)]}},
    });
    apply(&policy("rival", &spec))
}

fn apply(object: &Value) -> Value {
    json!({"apply": {"to": "controlPlane", "object": object}})
}
