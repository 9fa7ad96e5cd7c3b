//! Wrong behaviour about the pods of nodes.

use capsize_history::EventType;
use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{array, condition, has_no_execute, is_away, items, set_condition, taints};
use crate::recording::Recording;
use crate::track::{Track, without};

const DELETED: &[&str] = &["TOLERATION-01", "TOLERATION-02"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("pod-evicted-too-early", ViolationKind::TooEarly, &["TOLERATION-01"], too_early),
    Class::new("pod-evicted-too-late", ViolationKind::TooLate, &["TOLERATION-01"], |all| overdue(all, true)),
    Class::new("pod-evicted-never", ViolationKind::Never, &["TOLERATION-01"], |all| overdue(all, false)),
    Class::new("tolerant-pod-evicted", ViolationKind::Causeless, DELETED, tolerant),
    Class::new("pod-evicted-after-the-taint", ViolationKind::Causeless, DELETED, after_the_taint),
    Class::new("pod-evicted-without-a-taint", ViolationKind::Causeless, DELETED, without_taint),
    Class::new("pods-of-an-unknown-node-stay-ready", ViolationKind::Never, &["NODE-08"], |all| {
        stay_ready(all, false)
    }),
    Class::new("pods-of-an-unknown-node-unready-too-late", ViolationKind::TooLate, &["NODE-08"], |all| {
        stay_ready(all, true)
    }),
    Class::new("disruption-not-reported", ViolationKind::Never, &["NODE-13"], no_disruption),
    Class::new("drained-too-early", ViolationKind::TooEarly, &["NODE-16"], drained_too_early),
    Class::new("drained-never", ViolationKind::Never, &["NODE-15"], drained_never),
    Class::new("pod-of-a-daemon-drained", ViolationKind::Causeless, &["NODE-16"], daemon_drained),
];

fn node<'r>(recording: &'r Recording<'_>, pod: &Track) -> Option<&'r Track> {
    recording.member(pod.versions.last()?.object["spec"]["nodeName"].as_str()?)
}

fn is_disrupted(object: &Value) -> bool {
    condition(object, "DisruptionTarget") == "True"
}

/// The pods whose deletion by a taint was observed, with the version, and the time of the taint.
fn evicted<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track, usize, f64)> {
    let pods = recording
        .tracks("Pod")
        .filter(|_| recording.has(Feature::NoExecuteTaints) && recording.is_of_nodes());
    pods.filter_map(move |pod| {
        let number = pod.deletion().filter(|number| *number > 0)?;
        let at = pod.versions[number].at;
        let node = node(recording, pod)?;
        let began =
            node.begins(has_no_execute).into_iter().rfind(|number| node.versions[*number].at <= at)?;
        let since = node.versions[began].at;
        let tainted = node.holds(since, at, has_no_execute);
        let caused = !recording.has(Feature::TellsDisruption)
            || pod.versions.iter().any(|version| is_disrupted(&version.object));
        (tainted && caused && recording.is_calm(since, at)).then_some((pod, node, number, since))
    })
}

/// The pod is deleted at `at`, with its condition.
fn deleted(recording: &Recording<'_>, pod: &Track, at: f64) -> Edit {
    let Some(now) = pod.object_at(at) else { return Edit::new() };
    let stamp = recording.stamp(at + 30.0);
    let mut object = now.clone();
    if recording.has(Feature::TellsDisruption) {
        disrupt(&mut object);
    }
    object["metadata"]["deletionTimestamp"] = stamp;
    object["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    let later = pod.versions.iter().filter(|version| version.at > at);
    let mut edit = without(later);
    edit.push(pod.insert(at, EventType::Modified, object));
    edit
}

fn disrupt(object: &mut Value) {
    let reason = "DeletionByTaintManager";
    array(object, "status", "conditions")
        .push(json!({"type": "DisruptionTarget", "status": "True", "reason": reason}));
}

fn too_early(recording: &Recording<'_>) -> Vec<Edit> {
    // Without the condition, a person may have deleted the pod.
    let shown = evicted(recording).filter(|_| recording.has(Feature::TellsDisruption));
    let places = shown.filter_map(|(pod, _, number, since)| {
        let at = pod.versions[number].at;
        let early = since + 0.3 * (at - since);
        let stays = pod.stays(since, early) && pod.versions[0].at < since;
        (at - early > 2.5 && stays).then(|| deleted(recording, pod, early))
    });
    places.collect()
}

fn overdue(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let places = evicted(recording).filter_map(|(pod, node, number, since)| {
        let at = pod.versions[number].at;
        let due = at + recording.beyond(0.0);
        let keys = |object: &Value| {
            taints(object)
                .iter()
                .filter(|one| one["effect"] == "NoExecute")
                .map(|one| one["key"].clone())
                .collect::<Vec<_>>()
        };
        let first = node.object_at(since).map(keys)?;
        let tainted = node.holds(since, due + 0.5, |object| keys(object) == first);
        let present = pod.versions[0].at < since;
        let gone = is_disrupted(&pod.versions[number - 1].object);
        let from = if gone { number - 1 } else { number };
        (tainted && present && recording.is_calm(since, due + 0.5)).then(|| {
            let mut edit = without(&pod.versions[from..]);
            if late {
                edit.push(pod.insert(due, EventType::Modified, pod.versions[number].object.clone()));
            }
            edit
        })
    });
    places.collect()
}

/// Whether the pod tolerates the taints that evict for ever.
fn is_tolerant(pod: &Value, node: &Value) -> bool {
    let covers = |taint: &Value| {
        let mut matching = items(pod, "/spec/tolerations")
            .iter()
            .filter(|one| {
                let key = one["key"].as_str().unwrap_or_default();
                let effect = one["effect"].as_str().unwrap_or_default();
                (key.is_empty() || one["key"] == taint["key"])
                    && (effect.is_empty() || effect == "NoExecute")
                    && one["operator"] == "Exists"
            })
            .peekable();
        matching.peek().is_some() && matching.all(|one| one["tolerationSeconds"].is_null())
    };
    taints(node).iter().filter(|one| one["effect"] == "NoExecute").all(covers)
}

fn pods<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track)> {
    let pods = recording
        .tracks("Pod")
        .filter(|_| recording.has(Feature::TellsDisruption) && recording.is_of_nodes());
    pods.filter_map(|pod| Some((pod, node(recording, pod)?)))
}

fn tolerant(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (pod, node) in pods(recording) {
        for number in node.begins(has_no_execute) {
            let since = node.versions[number].at;
            let until = node.holds_until(number, recording.end, has_no_execute);
            let at = f64::midpoint(since, until);
            let tolerates =
                pod.object_at(at).zip(node.object_at(at)).is_some_and(|(pod, node)| is_tolerant(pod, node));
            if tolerates && until - since > 1.0 && pod.stays(since, at) && recording.is_calm(since, at) {
                edits.push(deleted(recording, pod, at));
            }
        }
    }
    edits
}

fn after_the_taint(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (pod, node) in pods(recording) {
        for number in node.begins(|object| !has_no_execute(object)) {
            let gone = node.versions[number].at;
            let at = gone + recording.beyond(1.0);
            let clean = node.holds(gone, at, |object| !has_no_execute(object));
            if clean && pod.stays(gone - 0.5, at) && recording.is_calm(gone, at) {
                edits.push(deleted(recording, pod, at));
            }
        }
    }
    edits
}

/// A pod is evicted, with the condition of an eviction for a taint, from a node that never had one.
fn without_taint(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (pod, node) in pods(recording).filter(|_| recording.has(Feature::TellsDisruption)) {
        for at in recording.moments(1.0) {
            let never =
                node.versions.iter().all(|version| version.at > at || !has_no_execute(&version.object));
            if never
                && pod.stays(at - 1.0, at)
                && node.stays(at - 1.0, at + 0.5)
                && recording.is_calm(at - 1.0, at)
            {
                edits.push(deleted(recording, pod, at));
            }
        }
    }
    edits
}

fn stay_ready(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    let unready = |object: &Value| condition(object, "Ready") == "False";
    let unknown = |object: &Value| condition(object, "Ready") == "Unknown";
    for pod in recording.tracks("Pod").filter(|_| recording.is_of_nodes()) {
        let Some(node) = node(recording, pod) else { continue };
        for number in pod.begins(unready) {
            let at = pod.versions[number].at;
            let due = at + recording.beyond(2.0 * recording.timing("monitorPeriod"));
            let caused = node.begins(unknown).iter().any(|began| {
                (node.versions[*began].at - at).abs() < 2.0 * recording.timing("monitorPeriod") + 1.0
            });
            let lasts = node.holds(
                at.max(
                    node.begins(unknown)
                        .iter()
                        .map(|began| node.versions[*began].at)
                        .rfind(|began| *began < at + 2.0)
                        .unwrap_or(at),
                ),
                due + 0.2,
                unknown,
            );
            if caused
                && lasts
                && pod.stays(at, due + 0.2)
                && pod.holds(at, due + 0.2, unready)
                && recording.is_calm(at, due + 0.2)
            {
                edits.push(pod.alter(at, late.then_some(due), |object| {
                    set_condition(object, "Ready", "True", "PodReady");
                }));
            }
        }
    }
    edits
}

fn no_disruption(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evicted(recording).filter(|_| recording.has(Feature::TellsDisruption));
    let edit = |(pod, _, _, _): (&Track, &Track, usize, f64)| {
        pod.alter(pod.versions[0].at, None, |object| {
            if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                conditions.retain(|one| one["type"] != "DisruptionTarget");
            }
        })
    };
    places.map(edit).collect()
}

/// The pods that a drain deletes, with the version, and the time from which their node is unhealthy.
fn drained<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track, usize, f64)> {
    let pods = recording.tracks("Pod").filter(|_| recording.has(Feature::DrainsAfterTimeout));
    pods.filter_map(move |pod| {
        let number = pod.deletion().filter(|number| *number > 0)?;
        let at = pod.versions[number].at;
        let node = node(recording, pod)?;
        let began = node.begins(is_away).into_iter().rfind(|number| node.versions[*number].at <= at)?;
        let since = node.versions[began].at;
        (node.holds(since, at, is_away) && recording.is_calm(since, at)).then_some((pod, node, number, since))
    })
}

fn drained_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let places = drained(recording).filter_map(|(pod, _, number, since)| {
        let early = since + 0.3 * recording.timing("failoverEvictionTimeout");
        let at = pod.versions[number].at;
        (at - early > 2.5 && pod.stays(since, early) && pod.versions[0].at < since)
            .then(|| deleted(recording, pod, early))
    });
    places.collect()
}

fn drained_never(recording: &Recording<'_>) -> Vec<Edit> {
    let places = drained(recording).filter_map(|(pod, node, number, since)| {
        let at = pod.versions[number].at;
        let nodes = recording.tracks("Node").count() as f64;
        let due = at
            + recording
                .beyond(3.0 * recording.timing("monitorPeriod") + (nodes + 1.0) * recording.slowest_pause());
        let lasts = node.holds(since, due, is_away) && super::nodes::someone_ready(recording, since, due);
        (lasts && recording.is_calm(since, due)).then(|| pod.survives(number, None))
    });
    places.collect()
}

fn daemon_drained(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for pod in recording.tracks("Pod").filter(|_| recording.has(Feature::DrainsAfterTimeout)) {
        let owners =
            pod.versions[0].object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let Some(node) = node(recording, pod) else { continue };
        for number in node.begins(is_away) {
            let since = node.versions[number].at;
            let until = node.holds_until(number, recording.end, is_away);
            let at = f64::midpoint(since, until);
            let daemon = owners.iter().any(|owner| owner["kind"] == "DaemonSet");
            if daemon && pod.stays(since, at) && until - since > 1.0 && recording.is_calm(since, at) {
                edits.push(deleted(recording, pod, at));
            }
        }
    }
    edits
}
