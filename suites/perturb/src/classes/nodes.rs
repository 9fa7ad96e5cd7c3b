//! Wrong behaviour about the conditions of nodes.

use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{HEALTH, condition, is_away, is_ready, items, set_condition};
use crate::recording::{Fault, Recording};
use crate::track::Track;

const UNKNOWN: &[&str] = &["NODE-01", "HEALTH-02"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("node-unknown-too-early", ViolationKind::TooEarly, &["NODE-01"], too_early),
    Class::new("node-unknown-too-late", ViolationKind::TooLate, UNKNOWN, |all| silent(all, true)),
    Class::new("node-unknown-never", ViolationKind::Never, UNKNOWN, |all| silent(all, false)),
    Class::new("node-unknown-without-silence", ViolationKind::Causeless, &["NODE-01"], causeless),
    Class::new("new-node-unknown-too-early", ViolationKind::TooEarly, &["NODE-09"], new_too_early),
    Class::new("new-node-unknown-never", ViolationKind::Never, &["NODE-09"], new_never),
    Class::new("only-ready-turns-unknown", ViolationKind::Stale, &["NODE-10"], only_ready),
    Class::new("another-condition-turns-unknown", ViolationKind::Other, &["NODE-10"], another_condition),
    Class::new("unknown-for-the-wrong-reason", ViolationKind::Other, &["NODE-11"], wrong_reason),
    Class::new("node-back-without-a-report", ViolationKind::Causeless, &["NODE-10"], no_report),
    Class::new("beta-label-differs", ViolationKind::Stale, &["NODE-07"], beta_label),
    Class::new("pressure-taint-never", ViolationKind::Never, &["NODE-06"], |all| derived(all, true)),
    Class::new("pressure-taint-stays", ViolationKind::Stale, &["NODE-06"], |all| derived(all, false)),
    Class::new("pressure-taint-without-pressure", ViolationKind::Causeless, &["NODE-06"], no_pressure),
];

/// Returns the versions with which silent nodes become Unknown.
/// Each version has the fault, if one is marked, and the end of the state.
fn unknown<'r>(
    recording: &'r Recording<'_>,
) -> impl Iterator<Item = (&'r Track, usize, Option<&'r Fault>, f64)> {
    recording.tracks("Node").flat_map(move |node| {
        let became = node.begins(|object| condition(object, "Ready") == "Unknown").into_iter();
        became.map(move |number| {
            let at = node.versions[number].at;
            let fault =
                recording.faults_of(node.short()).filter(|fault| fault.begin < at && fault.end >= at).last();
            let until = node
                .holds_until(number, recording.end + 1.0, |object| condition(object, "Ready") == "Unknown");
            (node, number, fault, until)
        })
    })
}

/// The last heartbeat of a node before `at`: the last renewal of its Lease, or its last own report.
fn heartbeat(recording: &Recording<'_>, node: &Track, at: f64) -> Option<f64> {
    let lease = recording.track("control-plane", "Lease", &format!("kube-node-lease/{}", node.short()))?;
    // The first version that is observed may be old.
    let mut renewals = lease.versions.iter().skip(1).map(|version| version.at);
    renewals.rfind(|renewed| *renewed < at)
}

fn reported_before(node: &Track, number: usize) -> bool {
    node.versions[..number].iter().any(|version| !condition(&version.object, "Ready").is_empty())
}

fn too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let grace = recording.timing("monitorGracePeriod");
    let places = unknown(recording).filter_map(|(node, number, _, _)| {
        let at = node.versions[number].at;
        let early = heartbeat(recording, node, at)? + 0.4 * grace;
        let ready = node.holds(early - 0.1, early, is_ready) && reported_before(node, number);
        (grace > 2.0 && ready && early + 1.5 < at && recording.is_calm(early, at))
            .then(|| node.advance(number, early, &HEALTH))
    });
    places.collect()
}

/// A silent node becomes Unknown too late, or never.
fn silent(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let places = unknown(recording).filter_map(|(node, number, fault, until)| {
        let at = node.versions[number].at;
        let begin = heartbeat(recording, node, at).or_else(|| fault.map(|fault| fault.begin))?;
        let bound = recording.timing("monitorGracePeriod") + 4.0 * recording.timing("monitorPeriod");
        let due = (begin + recording.beyond(bound))
            .max(at + recording.beyond(2.0 * recording.timing("monitorPeriod")));
        let quiet = fault.is_some_and(|fault| fault.end > due + 0.5);
        let others = someone_ready(recording, begin, due);
        let lasts = quiet
            && others
            && due + 0.5 < until
            && reported_before(node, number)
            && recording.is_calm(begin, due + 0.5);
        lasts.then(|| node.hold(number, Some(if late { due } else { until }), &HEALTH))
    });
    places.collect()
}

/// Whether some node is ready from `from` to `until`.
pub(super) fn someone_ready(recording: &Recording<'_>, from: f64, until: f64) -> bool {
    recording.tracks("Node").any(|node| node.holds(from, until, is_ready))
}

fn causeless(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for node in recording.tracks("Node").filter(|_| recording.is_marked) {
        for at in recording.moments(2.0) {
            let grace = recording.timing("monitorGracePeriod");
            let healthy = node.holds(at - 1.0, at + 1.0, is_ready)
                && recording.faults_of(node.short()).all(|fault| fault.begin > at || fault.end < at - grace);
            let beats = heartbeat(recording, node, at).is_some_and(|last| at - last < grace / 2.0);
            if healthy && beats && recording.is_calm(at - grace, at + 1.0) {
                edits.push(node.alter(at, Some(at + 1.0), |object| {
                    for name in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
                        set_condition(object, name, "Unknown", "NodeStatusUnknown");
                    }
                }));
            }
        }
    }
    edits
}

/// Nodes that never reported and became Unknown, with the version.
fn never_reported<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    unknown(recording).filter_map(|(node, number, ..)| {
        let created = node.created()?;
        (!reported_before(node, number)).then_some((node, number, created))
    })
}

fn new_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let start = recording.timing("startupGracePeriod");
    let places = never_reported(recording).filter_map(|(node, number, created)| {
        let early = created + 0.4 * start;
        (start > 3.0
            && early + 2.0 < node.versions[number].at
            && recording.is_calm(created, node.versions[number].at))
        .then(|| node.advance(number, early, &HEALTH))
    });
    places.collect()
}

fn new_never(recording: &Recording<'_>) -> Vec<Edit> {
    let places = never_reported(recording).filter_map(|(node, number, created)| {
        let bound = recording.timing("startupGracePeriod") + 3.0 * recording.timing("monitorPeriod") + 1.0;
        let due = created + recording.beyond(bound);
        let until =
            node.holds_until(number, recording.end + 1.0, |object| condition(object, "Ready") == "Unknown");
        let others = someone_ready(recording, node.versions[number].at, due);
        (due < until && others && recording.is_calm(created, due))
            .then(|| node.hold(number, Some(until), &HEALTH))
    });
    places.collect()
}

const PRESSURES: [&str; 3] = ["MemoryPressure", "DiskPressure", "PIDPressure"];

fn only_ready(recording: &Recording<'_>) -> Vec<Edit> {
    let places = unknown(recording).filter_map(|(node, number, _, until)| {
        let (was, now) = (&node.versions[number - 1].object, &node.versions[number].object);
        let turned = |name: &&str| condition(now, name) == "Unknown" && condition(was, name) == "False";
        let names: Vec<&str> = PRESSURES.into_iter().filter(turned).collect();
        (!names.is_empty() && reported_before(node, number)).then(|| {
            node.alter(node.versions[number].at, Some(until), |object| {
                for name in &names {
                    set_condition(object, name, "False", "KubeletHasSufficient");
                }
            })
        })
    });
    places.collect()
}

/// A condition that no kubelet reports turns Unknown, too.
fn another_condition(recording: &Recording<'_>) -> Vec<Edit> {
    let places = unknown(recording).filter(|(node, number, ..)| reported_before(node, *number));
    let edit = |(node, number, _, until): (&Track, usize, Option<&Fault>, f64)| {
        let at = node.versions[number].at;
        let add = |status: &str| {
            let condition = json!({"type": "NetworkUnavailable", "status": status, "reason": "RouteCreated"});
            move |object: &mut Value| {
                if let Some(conditions) =
                    object.pointer_mut("/status/conditions").and_then(Value::as_array_mut)
                    && !conditions.iter().any(|one| one["type"] == "NetworkUnavailable")
                {
                    conditions.push(condition.clone());
                }
            }
        };
        let mut edit = node.alter(node.versions[0].at, Some(at), add("False"));
        edit.extend(node.alter(at, Some(until), add("Unknown")));
        edit.extend(node.alter(until, None, add("False")));
        edit
    };
    let has_own = |node: &Track| {
        node.versions.iter().any(|version| !condition(&version.object, "NetworkUnavailable").is_empty())
    };
    places.filter(|(node, ..)| !has_own(node)).map(edit).collect()
}

/// A silent node is Ready for a while, although its kubelet reports nothing.
fn no_report(recording: &Recording<'_>) -> Vec<Edit> {
    let places = unknown(recording).filter_map(|(node, number, fault, until)| {
        let (begin, end) = (node.versions[number].at + 1.0, fault?.end.min(until) - 1.0);
        let lasts = begin + recording.beyond(1.0) + 1.0 < end && reported_before(node, number);
        (lasts && recording.is_calm(begin, end)).then(|| {
            node.alter(begin, Some(end), |object| set_condition(object, "Ready", "True", "KubeletReady"))
        })
    });
    places.collect()
}

fn wrong_reason(recording: &Recording<'_>) -> Vec<Edit> {
    let places = unknown(recording).filter(|(node, number, ..)| {
        is_away(&node.versions[*number].object) && reported_before(node, *number)
    });
    let edit = |(node, number, _, until): (&Track, usize, Option<&Fault>, f64)| {
        node.alter(node.versions[number].at, Some(until), |object| {
            set_condition(object, "Ready", "Unknown", "KubeletNotReady");
        })
    };
    places.map(edit).collect()
}

fn beta_label(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for node in recording.tracks("Node") {
        for at in recording.moments(recording.beyond(0.0)) {
            let due = at + recording.beyond(0.0);
            let pair = |object: &Value| {
                let labels = &object["metadata"]["labels"];
                !labels["kubernetes.io/os"].is_null()
                    && labels["kubernetes.io/os"] == labels["beta.kubernetes.io/os"]
            };
            if node.holds(at, due, pair) && recording.is_calm(at, due) {
                edits.push(node.alter(at, None, |object| {
                    object["metadata"]["labels"]["beta.kubernetes.io/os"] = json!("other");
                }));
            }
        }
    }
    edits
}

const DERIVED: [&str; 4] = ["/memory-pressure", "/disk-pressure", "/pid-pressure", "/unschedulable"];

fn is_derived(taint: &Value) -> bool {
    taint["key"].as_str().is_some_and(|key| DERIVED.iter().any(|name| key.ends_with(name)))
}

fn has_derived(object: &Value) -> bool {
    items(object, "/spec/taints").iter().any(is_derived)
}

/// The taint of a pressure or of a cordon does not come, or does not go.
fn derived(recording: &Recording<'_>, comes: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    for node in recording.tracks("Node") {
        for number in node.begins(|object| has_derived(object) == comes) {
            let at = node.versions[number].at;
            let due = at + recording.beyond(0.0);
            if node.holds(at, due, |object| has_derived(object) == comes) && recording.is_calm(at, due) {
                edits.push(node.hold(number, None, &["/spec/taints"]));
            }
        }
    }
    edits
}

fn no_pressure(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for node in recording.tracks("Node") {
        for at in recording.moments(recording.beyond(0.0)) {
            let due = at + recording.beyond(0.0);
            let clean = |object: &Value| {
                is_ready(object)
                    && items(object, "/spec/taints").is_empty()
                    && condition(object, "MemoryPressure") == "False"
            };
            if node.holds(at - 1.0, due, clean) && recording.is_calm(at, due) {
                edits.push(node.alter(at, None, |object| {
                    crate::object::array(object, "spec", "taints")
                        .push(json!({"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}));
                }));
            }
        }
    }
    edits
}
