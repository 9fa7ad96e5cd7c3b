//! Wrong behaviour about the taints of clusters.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{
    TAINTS, add_health_taint, array, condition, has_health_taint, health_taints, is_away, is_leaving,
    is_ready, remove_health_taints, taints,
};
use crate::recording::Recording;
use crate::track::Track;

const NO_EXECUTE: &[&str] = &["TAINT-02", "TAINT-04", "TAINT-06", "TAINT-07", "TAINT-08", "TAINT-10"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("no-schedule-never", ViolationKind::Never, &["TAINT-01"], |all| {
        absent(all, "NoSchedule", false)
    }),
    Class::new("no-schedule-too-late", ViolationKind::TooLate, &["TAINT-01"], |all| {
        absent(all, "NoSchedule", true)
    }),
    Class::new("no-schedule-undone", ViolationKind::Undone, &["TAINT-01"], |all| undone(all, "NoSchedule")),
    Class::new("no-schedule-stays", ViolationKind::Stale, &["TAINT-03"], |all| {
        stays(all, "NoSchedule", false)
    }),
    Class::new("no-schedule-stays-too-long", ViolationKind::TooLate, &["TAINT-03"], |all| {
        stays(all, "NoSchedule", true)
    }),
    Class::new("no-schedule-of-the-other-condition", ViolationKind::Other, &["TAINT-01"], other_condition),
    Class::new("no-schedule-for-both-conditions", ViolationKind::Twice, &["TAINT-05"], |all| {
        both(all, "NoSchedule")
    }),
    Class::new("no-schedule-on-a-ready-member", ViolationKind::Causeless, &["TAINT-03"], |all| {
        causeless(all, "NoSchedule")
    }),
    Class::new("no-execute-too-early", ViolationKind::TooEarly, NO_EXECUTE, no_execute_too_early),
    Class::new("no-execute-never", ViolationKind::Never, NO_EXECUTE, |all| absent(all, "NoExecute", false)),
    Class::new("no-execute-too-late", ViolationKind::TooLate, NO_EXECUTE, |all| {
        absent(all, "NoExecute", true)
    }),
    Class::new("no-execute-undone", ViolationKind::Undone, NO_EXECUTE, |all| undone(all, "NoExecute")),
    Class::new("no-execute-stays", ViolationKind::Stale, NO_EXECUTE, |all| stays(all, "NoExecute", false)),
    Class::new("no-execute-stays-too-long", ViolationKind::TooLate, NO_EXECUTE, |all| {
        stays(all, "NoExecute", true)
    }),
    Class::new("no-execute-for-both-conditions", ViolationKind::Twice, &["TAINT-05"], |all| {
        both(all, "NoExecute")
    }),
    Class::new("no-execute-on-a-ready-member", ViolationKind::Causeless, NO_EXECUTE, |all| {
        causeless(all, "NoExecute")
    }),
    Class::new("no-execute-without-a-policy", ViolationKind::Causeless, &["TAINT-06"], without_a_policy),
    Class::new("taint-of-a-person-lost", ViolationKind::Lost, &["TAINT-09"], foreign_lost),
];

/// The versions with which a cluster gets a health taint of this effect.
/// Each version has the end of the bad health of the cluster.
fn tainted<'r>(
    recording: &'r Recording<'_>,
    effect: &'r str,
) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    let is_known = effect == "NoSchedule" || !recording.policies_are_hidden();
    tainted_of(recording, recording.tracks("Cluster").filter(move |_| is_known), effect)
}

/// Returns the versions with which one of `members` gets a health taint of this effect.
/// Each version has the end of the bad health of the member.
pub(super) fn tainted_of<'r>(
    recording: &'r Recording<'_>,
    members: impl Iterator<Item = &'r Track>,
    effect: &'r str,
) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    members.flat_map(move |member| {
        let began = member.begins(|object| has_health_taint(object, effect)).into_iter();
        began.filter_map(move |number| {
            let object = &member.versions[number].object;
            let status = condition(object, "Ready");
            let same = |object: &Value| condition(object, "Ready") == status;
            let until = member.holds_until(number, recording.end + 1.0, same);
            is_away(object).then_some((member, number, until))
        })
    })
}

/// The longest time until a taint of this effect must be there, after it was really there.
fn slack(recording: &Recording<'_>, effect: &str) -> f64 {
    let monitored = 3.0 * recording.timing("monitorPeriod");
    recording.beyond(if effect == "NoExecute" { monitored } else { 0.0 })
}

/// The taint is missing from the moment when it comes, for good or for too long.
fn absent(recording: &Recording<'_>, effect: &str, late: bool) -> Vec<Edit> {
    let places = tainted(recording, effect).filter_map(|(member, number, until)| {
        let at = member.versions[number].at;
        let due = at + slack(recording, effect);
        let lasts = due + 0.5 < until.min(recording.end) && recording.is_calm(at, due);
        let until = if late { due } else { until };
        let ends = member.holds_until(number, recording.end + 1.0, |object| has_health_taint(object, effect));
        (lasts && ends > due)
            .then(|| member.alter(at, Some(until), |object| remove_health_taints(object, effect)))
    });
    places.collect()
}

/// The taint is lost in the middle of the bad health.
fn undone(recording: &Recording<'_>, effect: &str) -> Vec<Edit> {
    let places = tainted(recording, effect).filter_map(|(member, number, until)| {
        let from = member.versions[number].at + 0.5 + recording.timing("latency");
        let due = from + slack(recording, effect);
        let tainted =
            member.holds(from, (due + 0.5).min(recording.end), |object| has_health_taint(object, effect));
        let lasts = due + 0.5 < until.min(recording.end) && recording.is_calm(from, due);
        (lasts && tainted)
            .then(|| member.alter(from, Some(until), |object| remove_health_taints(object, effect)))
    });
    places.collect()
}

/// The versions with which a cluster that is ready loses a health taint of this effect.
fn untainted<'r>(
    recording: &'r Recording<'_>,
    effect: &'r str,
) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    recording.tracks("Cluster").flat_map(move |member| {
        let ended = member.begins(|object| !has_health_taint(object, effect)).into_iter();
        ended.filter_map(move |number| {
            let until = member.holds_until(number, recording.end + 1.0, is_ready);
            is_ready(&member.versions[number].object).then_some((member, number, until))
        })
    })
}

/// The taint stays on a member that is ready again, for good or for too long.
fn stays(recording: &Recording<'_>, effect: &str, late: bool) -> Vec<Edit> {
    let places = untainted(recording, effect).filter_map(|(member, number, until)| {
        let at = member.versions[number].at;
        let due = at + slack(recording, effect);
        let kept = health_taints(&member.versions[number - 1].object, effect);
        let lasts = due + 0.5 < until.min(recording.end) && recording.is_calm(at, due);
        lasts.then(|| {
            member.alter(at, late.then_some(due), |object| {
                array(object, "spec", "taints").extend(kept.iter().cloned());
            })
        })
    });
    places.collect()
}

/// Returns the edit after which a member has the taint of the other bad health.
/// The member has the taint from version `number` to `until`. It replaces the right taint, or is beside it.
pub(super) fn with_other_taint(
    recording: &Recording<'_>,
    (member, number, until): (&Track, usize, f64),
    effect: &str,
    replaces: bool,
) -> Edit {
    let version = &member.versions[number];
    let other = if condition(&version.object, "Ready") == "Unknown" { "False" } else { "Unknown" };
    let stamp = recording.stamp(version.at);
    member.alter(version.at, Some(until), |object| {
        if replaces {
            remove_health_taints(object, effect);
        }
        add_health_taint(object, effect, other, &stamp);
    })
}

fn other_condition(recording: &Recording<'_>) -> Vec<Edit> {
    let places = tainted(recording, "NoSchedule").filter_map(|(member, number, until)| {
        let at = member.versions[number].at;
        let due = at + slack(recording, "NoSchedule");
        let lasts = due + 0.5 < until.min(recording.end) && recording.is_calm(at, due);
        lasts.then(|| with_other_taint(recording, (member, number, until), "NoSchedule", true))
    });
    places.collect()
}

fn both(recording: &Recording<'_>, effect: &str) -> Vec<Edit> {
    tainted(recording, effect).map(|it| with_other_taint(recording, it, effect, false)).collect()
}

/// The moments at which a cluster is ready and untainted, and stays so for longer than any bound.
fn settled<'r>(recording: &'r Recording<'_>, lasting: f64) -> impl Iterator<Item = (&'r Track, f64)> {
    recording.tracks("Cluster").flat_map(move |member| {
        let moments = recording.moments(lasting).into_iter();
        let is_settled = move |at: &f64| {
            recording.is_calm(at - 1.0, at + lasting)
                && member.holds(at - 1.0, at + lasting, |object| {
                    is_ready(object) && taints(object).is_empty() && !is_leaving(object)
                })
                && !recording.steps().any(|(_, mark)| mark.get("step") == Some(&json!("taint")))
        };
        moments.filter(is_settled).map(move |at| (member, at))
    })
}

fn causeless(recording: &Recording<'_>, effect: &str) -> Vec<Edit> {
    let lasting = slack(recording, effect);
    let edit = |(member, at): (&Track, f64)| {
        let stamp = recording.stamp(at);
        member.alter(at, Some(at + lasting), |object| add_health_taint(object, effect, "False", &stamp))
    };
    let is_applicable =
        effect == "NoSchedule" || recording.has(Feature::NoExecuteTaints) && !recording.policies_are_hidden();
    let members = settled(recording, lasting).filter(|_| is_applicable);
    members.map(edit).collect()
}

fn no_execute_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let wait = recording.timing("failoverEvictionTimeout");
    let is_paced = recording.has(Feature::AutomaticNoExecute) && wait >= 2.0;
    let places = tainted(recording, "NoExecute").filter_map(|(member, number, _)| {
        let at = member.versions[number].at;
        let since =
            member.versions[..number].iter().rev().take_while(|version| is_away(&version.object)).last()?.at;
        let pulls = member.versions[number].object["spec"]["syncMode"] == "Pull";
        let known = member.versions.first().is_some_and(|first| first.at < since);
        let early = since + 0.3 * wait;
        (is_paced && known && !pulls && early + 0.5 < at && recording.is_calm(since, at))
            .then(|| member.advance(number, early, &TAINTS))
    });
    places.collect()
}

/// A member that is not ready gets an automatic taint in a release that has none.
fn without_a_policy(recording: &Recording<'_>) -> Vec<Edit> {
    let is_free = recording.tracks("ClusterTaintPolicy").next().is_none()
        && !recording.has(Feature::AutomaticNoExecute)
        && recording.has(Feature::NoExecuteTaints)
        && !recording.policies_are_hidden();
    let places = tainted(recording, "NoSchedule").filter_map(|(member, number, until)| {
        let status = condition(&member.versions[number].object, "Ready").to_owned();
        let from = member.versions[number].at + 1.0;
        let never = member.versions.iter().all(|version| !has_health_taint(&version.object, "NoExecute"));
        let stamp = recording.stamp(from);
        (is_free && never && from < until.min(recording.end)).then(|| {
            member.alter(from, Some(until), |object| add_health_taint(object, "NoExecute", &status, &stamp))
        })
    });
    places.collect()
}

/// A taint that a person has set is lost in a version that changes something else.
fn foreign_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let records_steps = recording.steps().next().is_some();
    for member in recording.tracks("Cluster").filter(|_| records_steps) {
        let foreign = |object: &Value| {
            taints(object).iter().any(|one| {
                let key = one["key"].as_str().unwrap_or_default();
                !key.contains("karmada.io/") && !recording.is_in_a_policy(key)
            })
        };
        for number in member.begins(foreign) {
            let until = member.holds_until(number, recording.end, foreign);
            // The step that set the taint explains nothing that happens much later.
            let from = f64::midpoint(member.versions[number].at, until);
            if from + 1.0 < until && recording.is_calm(from, until) {
                let steps = recording
                    .steps()
                    .filter(|(at, mark)| (*at - from).abs() < 5.0 && mark.contains_key("cluster"));
                if steps.count() == 0 {
                    edits.push(member.alter(from, Some(until), |object| {
                        array(object, "spec", "taints")
                            .retain(|one| one["key"].as_str().unwrap_or_default().contains("karmada.io/"));
                    }));
                }
            }
        }
    }
    edits
}
