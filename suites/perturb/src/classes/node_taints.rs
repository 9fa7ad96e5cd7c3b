//! Wrong behaviour about the health taints of nodes.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{
    TAINTS, add_health_taint, array, condition, has_health_taint, health_taints, is_away, is_ready,
    remove_health_taints, taints,
};
use crate::recording::Recording;
use crate::track::Track;

use super::nodes::someone_ready;
use super::taints::{tainted_of, with_other_taint};

const COMES: &[&str] = &["NODE-02", "NODE-05", "NODE-14"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("node-no-schedule-never", ViolationKind::Never, &["TAINT-01"], |all| {
        absent(all, "NoSchedule", false)
    }),
    Class::new("node-no-schedule-too-late", ViolationKind::TooLate, &["TAINT-01"], |all| {
        absent(all, "NoSchedule", true)
    }),
    Class::new("node-no-schedule-undone", ViolationKind::Undone, &["TAINT-01"], |all| {
        undone(all, "NoSchedule")
    }),
    Class::new("node-no-schedule-stays", ViolationKind::Stale, &["TAINT-03"], |all| {
        stays(all, "NoSchedule", false)
    }),
    Class::new("node-no-schedule-stays-too-long", ViolationKind::TooLate, &["TAINT-03"], |all| {
        stays(all, "NoSchedule", true)
    }),
    Class::new("node-no-schedule-on-a-ready-node", ViolationKind::Causeless, &["TAINT-03"], |all| {
        causeless(all, "NoSchedule")
    }),
    Class::new("node-no-schedule-for-both-conditions", ViolationKind::Twice, &["TAINT-05"], |all| {
        both(all, "NoSchedule")
    }),
    Class::new("node-no-execute-never", ViolationKind::Never, COMES, |all| absent(all, "NoExecute", false)),
    Class::new("node-no-execute-too-late", ViolationKind::TooLate, COMES, |all| {
        absent(all, "NoExecute", true)
    }),
    Class::new("node-no-execute-undone", ViolationKind::Undone, COMES, |all| undone(all, "NoExecute")),
    Class::new("node-no-execute-stays", ViolationKind::Stale, &["NODE-05"], |all| {
        stays(all, "NoExecute", false)
    }),
    Class::new("node-no-execute-stays-too-long", ViolationKind::TooLate, &["NODE-05"], |all| {
        stays(all, "NoExecute", true)
    }),
    Class::new("node-no-execute-on-a-ready-node", ViolationKind::Causeless, &["NODE-05"], |all| {
        causeless(all, "NoExecute")
    }),
    Class::new("node-no-execute-for-both-conditions", ViolationKind::Twice, &["TAINT-05"], |all| {
        both(all, "NoExecute")
    }),
    Class::new(
        "node-no-execute-of-the-other-condition",
        ViolationKind::Other,
        &["NODE-05", "NODE-02"],
        other_condition,
    ),
    Class::new("nodes-tainted-at-once", ViolationKind::TooEarly, &["NODE-03"], at_once),
    Class::new("node-tainted-while-all-are-away", ViolationKind::TooEarly, &["NODE-04"], while_halted),
    Class::new("node-taint-of-a-person-lost", ViolationKind::Lost, &["NODE-12"], foreign_lost),
    Class::new(
        "node-taint-stamp-renewed",
        ViolationKind::Other,
        &["NODE-14", "NODE-03", "NODE-05"],
        stamp_renewed,
    ),
];

fn is_asked(recording: &Recording<'_>, effect: &str) -> bool {
    effect == "NoSchedule" || recording.has(Feature::ZonedEvictions)
}

/// The versions with which a node gets a health taint of this effect, with the end of its condition.
fn tainted<'r>(
    recording: &'r Recording<'_>,
    effect: &'r str,
) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    let nodes = recording.tracks("Node").filter(move |_| is_asked(recording, effect));
    tainted_of(recording, nodes, effect)
}

/// The longest time until a taint must be there, after it was really there.
fn slack(recording: &Recording<'_>, effect: &str) -> f64 {
    let nodes = recording.tracks("Node").count() as f64;
    let pause = recording.slowest_pause();
    recording.beyond(if effect == "NoExecute" {
        3.0 * recording.timing("monitorPeriod") + (nodes + 1.0) * pause
    } else {
        0.0
    })
}

/// Whether the zones of the nodes do not change, so that no eviction is halted or slowed down.
fn is_steady(recording: &Recording<'_>, from: f64, until: f64) -> bool {
    let same = |node: &Track| {
        let status = node.object_at(from).map(|object| condition(object, "Ready").to_owned());
        status.is_some_and(|status| node.holds(from, until, |object| condition(object, "Ready") == status))
    };
    recording.tracks("Node").all(same) && someone_ready(recording, from, until)
}

fn absent(recording: &Recording<'_>, effect: &str, late: bool) -> Vec<Edit> {
    let places = tainted(recording, effect).filter_map(|(node, number, until)| {
        let at = node.versions[number].at;
        let due = at + slack(recording, effect);
        let ends = node.holds_until(number, recording.end + 1.0, |object| has_health_taint(object, effect));
        let steady = effect == "NoSchedule" || is_steady(recording, at, due);
        let lasts =
            due + 0.5 < until.min(recording.end) && due < ends && steady && recording.is_calm(at, due + 0.5);
        lasts.then(|| {
            node.alter(at, Some(if late { due } else { until }), |object| {
                remove_health_taints(object, effect);
            })
        })
    });
    places.collect()
}

fn undone(recording: &Recording<'_>, effect: &str) -> Vec<Edit> {
    let places = tainted(recording, effect).filter_map(|(node, number, until)| {
        let from = node.versions[number].at + 0.5 + recording.timing("latency");
        let due = from + slack(recording, effect);
        let tainted = node.holds(from, due, |object| has_health_taint(object, effect));
        let steady = effect == "NoSchedule" || is_steady(recording, from, due);
        let lasts = due < until.min(recording.end) && tainted && steady && recording.is_calm(from, due);
        lasts.then(|| node.alter(from, Some(until), |object| remove_health_taints(object, effect)))
    });
    places.collect()
}

fn stays(recording: &Recording<'_>, effect: &str, late: bool) -> Vec<Edit> {
    let nodes = recording.tracks("Node").filter(move |_| is_asked(recording, effect));
    let places = nodes.flat_map(|node| {
        let ended = node.begins(|object| !has_health_taint(object, effect)).into_iter();
        ended.filter_map(move |number| {
            let at = node.versions[number].at;
            let until = node.holds_until(number, recording.end + 1.0, is_ready);
            let due = at + recording.beyond(3.0 * recording.timing("monitorPeriod"));
            let kept = health_taints(&node.versions[number - 1].object, effect);
            let was_away = node.versions[..number].iter().any(|version| is_away(&version.object));
            let ready = was_away && is_ready(&node.versions[number].object);
            (ready && due + 0.5 < until.min(recording.end) && recording.is_calm(at, due + 0.5)).then(|| {
                node.alter(at, late.then_some(due), |object| {
                    array(object, "spec", "taints").extend(kept.iter().cloned());
                })
            })
        })
    });
    places.collect()
}

fn causeless(recording: &Recording<'_>, effect: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let lasting = recording.beyond(3.0 * recording.timing("monitorPeriod"));
    for node in recording.tracks("Node").filter(|_| is_asked(recording, effect)) {
        for at in recording.moments(lasting) {
            let clean = |object: &Value| is_ready(object) && taints(object).is_empty();
            if node.holds(at - 1.0, at + lasting, clean) && recording.is_calm(at - 1.0, at + lasting) {
                let stamp = recording.stamp(at);
                edits.push(node.alter(at, Some(at + lasting), |object| {
                    add_health_taint(object, effect, "Unknown", &stamp);
                }));
            }
        }
    }
    edits
}

fn both(recording: &Recording<'_>, effect: &str) -> Vec<Edit> {
    tainted(recording, effect).map(|it| with_other_taint(recording, it, effect, false)).collect()
}

fn other_condition(recording: &Recording<'_>) -> Vec<Edit> {
    let places = tainted(recording, "NoExecute").filter_map(|(node, number, until)| {
        let at = node.versions[number].at;
        let due = at + slack(recording, "NoExecute");
        (due < until.min(recording.end) && is_steady(recording, at, due) && recording.is_calm(at, due))
            .then(|| with_other_taint(recording, (node, number, until), "NoExecute", true))
    });
    places.collect()
}

/// A node is tainted in the moment in which another node of its zone is tainted, without the pause.
fn at_once(recording: &Recording<'_>) -> Vec<Edit> {
    let mut all: Vec<(&Track, usize, f64)> = tainted(recording, "NoExecute").collect();
    all.sort_by(|one, other| one.0.versions[one.1].at.total_cmp(&other.0.versions[other.1].at));
    let zone = |node: &Track| {
        let labels = &node.versions[0].object["metadata"]["labels"];
        (labels["topology.kubernetes.io/region"].clone(), labels["topology.kubernetes.io/zone"].clone())
    };
    let places = all.windows(2).filter_map(|pair| {
        let ((first, one, _), (second, other, _)) = (pair[0], pair[1]);
        let (before, at) = (first.versions[one].at, second.versions[other].at);
        let early = before + 0.05;
        let away = second.holds(early, at - 0.01, is_away);
        let pause = recording.quickest_pause();
        let waits = pause > 2.0 * recording.timing("latency") + 1.0 && at - early > 1.0;
        (first.name != second.name
            && zone(first) == zone(second)
            && away
            && waits
            && recording.is_calm(before, at))
        .then(|| second.advance(other, early, &TAINTS))
    });
    places.collect()
}

/// A node gets its taint while no node at all is ready.
fn while_halted(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let lasting = recording.beyond(2.0 * recording.timing("monitorPeriod"));
    for node in recording.tracks("Node").filter(|_| is_asked(recording, "NoExecute")) {
        for at in recording.moments(0.5) {
            let from = at - lasting;
            let all_away = recording.tracks("Node").all(|node| node.holds(from, at + 0.3, is_away));
            let clean = node.holds(from, at + 0.3, |object| !has_health_taint(object, "NoExecute"));
            if all_away && clean && recording.is_calm(from, at + 0.3) {
                let status = condition(node.object_at(at).unwrap_or(&Value::Null), "Ready").to_owned();
                let stamp = recording.stamp(at);
                edits.push(node.alter(at, None, |object| {
                    if condition(object, "Ready") == status {
                        add_health_taint(object, "NoExecute", &status, &stamp);
                    }
                }));
            }
        }
    }
    edits
}

fn foreign_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let foreign = |object: &Value| {
        taints(object)
            .iter()
            .any(|one| !one["key"].as_str().unwrap_or_default().starts_with("node.kubernetes.io/"))
    };
    for node in recording.tracks("Node") {
        for number in node.begins(foreign) {
            let at = node.versions[number].at;
            let until = node.holds_until(number, recording.end, foreign);
            let middle = f64::midpoint(at, until);
            let steps = recording.steps().filter(|(step, mark)| {
                (step - middle).abs() < 3.0 && (mark.contains_key("node") || mark.contains_key("cluster"))
            });
            if until - at > 4.0
                && steps.count() == 0
                && recording.steps().next().is_some()
                && recording.is_calm(at, middle)
            {
                edits.push(node.alter(middle, Some(until), |object| {
                    array(object, "spec", "taints").retain(|one| {
                        one["key"].as_str().unwrap_or_default().starts_with("node.kubernetes.io/")
                    });
                }));
            }
        }
    }
    edits
}

/// The stamp of a taint is renewed while the node stays unhealthy, which prolongs every toleration.
fn stamp_renewed(recording: &Recording<'_>) -> Vec<Edit> {
    let places = tainted(recording, "NoExecute").filter_map(|(node, number, until)| {
        let at = node.versions[number].at;
        let ends = node
            .holds_until(number, recording.end, |object| has_health_taint(object, "NoExecute"))
            .min(until);
        let middle = f64::midpoint(at, ends.min(recording.end));
        let stamp = recording.stamp(middle + 2.0);
        let mut present = health_taints(&node.versions[number].object, "NoExecute").into_iter();
        let stamped = present.any(|one| !one["timeAdded"].is_null());
        (ends - at > 4.0 && stamped && recording.is_calm(at, middle)).then(|| {
            node.alter(middle, Some(ends), |object| {
                for one in
                    array(object, "spec", "taints").iter_mut().filter(|one| one["effect"] == "NoExecute")
                {
                    one["timeAdded"] = json!(stamp);
                }
            })
        })
    });
    places.collect()
}
