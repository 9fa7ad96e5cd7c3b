//! Wrong behaviour about the choice of members.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{
    ASSIGNED, CLUSTERS, assigned, clusters, condition, copy, has_no_execute, is_assigned, is_away,
    is_divided, is_evicted, is_leaving, is_ready, items, replicas, spread, taints, tasks,
};
use crate::recording::Recording;
use crate::track::Track;

const LEFT: &[&str] = &["PLACEMENT-01", "PLACEMENT-07", "PLACEMENT-11"];
const MOVED: &[&str] = &["PLACEMENT-01", "PLACEMENT-07", "PLACEMENT-11"];
const NOT_REPLACED: &[&str] = &["PLACEMENT-08", "PLACEMENT-07", "PLACEMENT-14", "REPLICAS-03", "LIVENESS-01"];
const EXCLUDED: &[&str] = &["PLACEMENT-04", "PLACEMENT-07", "PLACEMENT-15"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("healthy-member-left", ViolationKind::Lost, LEFT, |all| left(all, false)),
    Class::new("all-members-left", ViolationKind::Lost, LEFT, |all| left(all, true)),
    Class::new("healthy-member-exchanged", ViolationKind::Other, MOVED, exchanged),
    Class::new("member-left-with-its-readiness", ViolationKind::TooEarly, LEFT, left_with_readiness),
    Class::new(
        "tainted-member-chosen",
        ViolationKind::Other,
        &["PLACEMENT-03", "PLACEMENT-16"],
        tainted_chosen,
    ),
    Class::new("excluded-member-chosen", ViolationKind::Other, EXCLUDED, excluded_chosen),
    Class::new("member-without-the-kind-chosen", ViolationKind::Other, &["PLACEMENT-05"], kindless_chosen),
    Class::new("leaving-member-chosen", ViolationKind::Other, &["PLACEMENT-06"], leaving_chosen),
    Class::new("one-member-too-many", ViolationKind::Twice, &["PLACEMENT-02"], too_many),
    Class::new("one-member-too-few", ViolationKind::Lost, &["PLACEMENT-02", "PLACEMENT-07"], too_few),
    Class::new(
        "never-placed",
        ViolationKind::Never,
        &["LIVENESS-01", "PLACEMENT-07", "PLACEMENT-08", "PLACEMENT-14", "REPLICAS-03"],
        never_placed,
    ),
    Class::new("replacement-never", ViolationKind::Never, NOT_REPLACED, |all| unreplaced(all, false)),
    Class::new("replacement-too-late", ViolationKind::TooLate, NOT_REPLACED, |all| unreplaced(all, true)),
    Class::new(
        "divided-moves-back",
        ViolationKind::Undone,
        &["PLACEMENT-11", "PLACEMENT-01", "REPLICAS-07"],
        moves_back,
    ),
    Class::new(
        "back-while-the-taint-stays",
        ViolationKind::Undone,
        &["PLACEMENT-16", "PLACEMENT-03", "EVICTION-04"],
        back_while_tainted,
    ),
    Class::new(
        "change-of-placement-ignored",
        ViolationKind::Stale,
        &[
            "PLACEMENT-04",
            "PLACEMENT-07",
            "PLACEMENT-08",
            "PLACEMENT-14",
            "PLACEMENT-15",
            "REPLICAS-03",
            "REPLICAS-06",
            "PLACEMENT-02",
        ],
        change_ignored,
    ),
    Class::new("suspended-and-placed", ViolationKind::TooEarly, &["PLACEMENT-13"], suspended_placed),
];

/// The bindings with a moment from which their assignment stays for longer than any tolerance.
/// Each binding has its object at that moment.
fn settled<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64, &'r Value)> {
    let lasting = recording.beyond(0.0);
    recording.bindings().flat_map(move |binding| {
        let moments = recording.moments(lasting).into_iter();
        moments.filter_map(move |at| {
            let now = binding.object_at(at)?;
            let spec = &now["spec"];
            let is_settled = recording.is_calm(at - lasting, at + lasting)
                && !assigned(now).is_empty()
                && binding.holds(at - 1.0, at + lasting, |object| {
                    object["spec"]["clusters"] == spec["clusters"]
                        && object["spec"]["placement"] == spec["placement"]
                        && tasks(object).is_empty()
                        && !is_leaving(object)
                });
            is_settled.then_some((binding, at, now))
        })
    })
}

/// Whether the member is ready and has no taint around `at`.
pub(super) fn is_healthy(recording: &Recording<'_>, member: &str, at: f64) -> bool {
    let clean = |object: &Value| is_ready(object) && taints(object).is_empty() && !is_leaving(object);
    let lasting = recording.beyond(0.0);
    recording.member(member).is_some_and(|track| track.holds(at - lasting.min(at - 0.6), at + 1.0, clean))
}

pub(super) fn is_propagated_alone(binding: &Value) -> bool {
    items(binding, "/spec/requiredBy").is_empty() && !binding["spec"]["placement"].is_null()
}

fn left(recording: &Recording<'_>, all: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, at, now) in settled(recording) {
        let names: Vec<String> = assigned(now).into_iter().map(str::to_owned).collect();
        if !is_propagated_alone(now) || !names.iter().all(|name| is_healthy(recording, name, at)) {
            continue;
        }
        let dropped: Vec<String> = if all { names } else { names.into_iter().take(1).collect() };
        edits.push(binding.alter(at, None, |object| {
            clusters(object).retain(|cluster| !dropped.iter().any(|name| cluster["name"] == name.as_str()));
        }));
    }
    edits
}

/// Members that the placement surely admits, by their names.
pub(super) fn admitted(binding: &Value) -> Option<Vec<&str>> {
    let names = items(binding, "/spec/placement/clusterAffinity/clusterNames");
    (!names.is_empty()).then(|| names.iter().filter_map(Value::as_str).collect())
}

fn exchanged(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, at, now) in settled(recording) {
        let names = assigned(now);
        let healthy = names.iter().all(|name| is_healthy(recording, name, at));
        let free: Vec<String> = admitted(now)
            .unwrap_or_default()
            .into_iter()
            .filter(|name| !names.contains(name) && is_healthy(recording, name, at))
            .map(str::to_owned)
            .collect();
        let (Some(old), Some(new)) = (names.last(), free.first()) else { continue };
        let old = (*old).to_owned();
        if healthy && is_propagated_alone(now) {
            edits.push(binding.alter(at, None, |object| {
                for cluster in clusters(object).iter_mut().filter(|cluster| cluster["name"] == old.as_str()) {
                    cluster["name"] = json!(new);
                }
            }));
        }
    }
    edits
}

/// Makes a workload leave a member at the moment when the member is reported as not ready.
/// There is no taint that evicts the workload.
fn left_with_readiness(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for member in recording.tracks("Cluster") {
        for number in member.begins(is_away) {
            let at = member.versions[number].at + 0.2;
            let quiet = member.object_at(at).is_some_and(|object| !has_no_execute(object) && is_away(object));
            for binding in recording.bindings().filter(|_| quiet && recording.is_calm(at, at)) {
                let Some(now) = binding.object_at(at) else { continue };
                let since = recording.beyond(0.0).min(at - 0.6);
                let held = binding.holds(at - since, at, |object| is_assigned(object, member.short()));
                if held && tasks(now).is_empty() && is_propagated_alone(now) {
                    edits.push(binding.alter(at, None, |object| {
                        clusters(object).retain(|cluster| cluster["name"] != member.short());
                    }));
                }
            }
        }
    }
    edits
}

/// Adds the members for which `is_wrong` holds at the time to settled assignments.
fn chosen(recording: &Recording<'_>, is_wrong: impl Fn(&Value, &Value, &str) -> bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    let lasting = recording.beyond(0.0);
    for (binding, at, now) in settled(recording) {
        let wrong = recording.tracks("Cluster").find(|member| {
            let name = member.short();
            !is_assigned(now, name)
                && member.holds(at - lasting.min(at - 0.6), at + 0.5, |object| is_wrong(now, object, name))
        });
        let Some(member) = wrong.map(Track::short).filter(|_| is_propagated_alone(now)) else { continue };
        let replicas = replicas(now);
        edits.push(binding.alter(at, None, |object| {
            clusters(object).push(json!({"name": member, "replicas": replicas}));
        }));
    }
    edits
}

/// Whether a toleration could match the taint.
fn may_tolerate(binding: &Value, taint: &Value) -> bool {
    items(binding, "/spec/placement/clusterTolerations")
        .iter()
        .any(|one| one["key"].as_str().unwrap_or_default().is_empty() || one["key"] == taint["key"])
}

fn is_admitted(binding: &Value, name: &str) -> bool {
    admitted(binding).is_some_and(|names| names.contains(&name))
}

fn tainted_chosen(recording: &Recording<'_>) -> Vec<Edit> {
    chosen(recording, |binding, member, _| {
        taints(member).iter().any(|one| {
            (one["effect"] == "NoSchedule" || one["effect"] == "NoExecute") && !may_tolerate(binding, one)
        })
    })
}

fn excluded_chosen(recording: &Recording<'_>) -> Vec<Edit> {
    chosen(recording, |binding, member, name| {
        is_ready(member)
            && taints(member).is_empty()
            && admitted(binding).is_some()
            && !is_admitted(binding, name)
    })
}

fn kindless_chosen(recording: &Recording<'_>) -> Vec<Edit> {
    chosen(recording, |binding, member, _| {
        let kind = &binding["spec"]["resource"]["kind"];
        let groups = items(member, "/status/apiEnablements");
        let serves =
            |group: &Value| items(group, "/resources").iter().any(|resource| &resource["kind"] == kind);
        is_ready(member)
            && !groups.is_empty()
            && !groups.iter().any(serves)
            && condition(member, "CompleteAPIEnablements") == "True"
    })
}

fn leaving_chosen(recording: &Recording<'_>) -> Vec<Edit> {
    chosen(recording, |_, member, _| is_leaving(member))
}

/// The versions with which a binding gets its first assignment.
pub(super) fn placed<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize)> {
    recording.bindings().filter_map(move |binding| {
        let number = binding.begins(|object| !assigned(object).is_empty()).into_iter().next()?;
        let created = binding.created()? - 0.1;
        let fresh = binding.versions[..number].iter().all(|version| assigned(&version.object).is_empty());
        let calm = recording.is_calm(created, binding.versions[number].at);
        let alone = is_propagated_alone(&binding.versions[number].object);
        (fresh && calm && alone).then_some((binding, number))
    })
}

/// The end of the assignment that begins with version `number`.
pub(super) fn until(recording: &Recording<'_>, binding: &Track, number: usize) -> f64 {
    let clusters = &binding.versions[number].object["spec"]["clusters"];
    binding.holds_until(number, recording.end + 1.0, |object| &object["spec"]["clusters"] == clusters)
}

fn too_many(recording: &Recording<'_>) -> Vec<Edit> {
    let places = placed(recording).filter_map(|(binding, number)| {
        let version = &binding.versions[number];
        let (_, most) = spread(&version.object).filter(|_| recording.has(Feature::SpreadConstraints))?;
        let names = assigned(&version.object);
        let mut members = recording.tracks("Cluster").map(Track::short);
        let other = members.find(|name| !names.contains(name) && is_admitted(&version.object, name))?;
        let counts = !is_divided(&version.object) && names.len() == most;
        let replicas = replicas(&version.object);
        counts.then(|| {
            binding.alter(version.at, Some(until(recording, binding, number)), |object| {
                clusters(object).push(json!({"name": other, "replicas": replicas}));
            })
        })
    });
    places.collect()
}

fn too_few(recording: &Recording<'_>) -> Vec<Edit> {
    let places = placed(recording).filter_map(|(binding, number)| {
        let version = &binding.versions[number];
        let names = assigned(&version.object);
        let least = spread(&version.object).map_or(names.len(), |(least, _)| least);
        let ends = until(recording, binding, number);
        let lasts = ends.min(recording.end) > version.at + recording.beyond(0.0);
        let counts = !is_divided(&version.object) && names.len() == least && names.len() > 1 && lasts;
        let last = (*names.last()?).to_owned();
        let all_healthy = names.iter().all(|name| is_healthy(recording, name, version.at + 1.0));
        (counts && all_healthy && recording.is_calm(version.at, version.at + recording.beyond(0.0))).then(
            || {
                binding.alter(version.at, Some(ends), |object| {
                    clusters(object).retain(|it| it["name"] != last.as_str());
                })
            },
        )
    });
    places.collect()
}

fn never_placed(recording: &Recording<'_>) -> Vec<Edit> {
    let places = placed(recording).filter_map(|(binding, number)| {
        let at = binding.versions[number].at;
        let due = at + recording.beyond(0.0);
        let lasts = binding.stays(at, due) && recording.is_calm(at, due);
        lasts.then(|| {
            binding.alter(at, None, |object| {
                clusters(object).clear();
                object["status"] = json!({});
            })
        })
    });
    places.collect()
}

/// The versions with which a member is chosen after an eviction.
fn replacements<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize)> {
    recording.bindings().flat_map(move |binding| {
        let pairs = binding.versions.windows(2).enumerate();
        pairs.filter_map(move |(before, pair)| {
            let (was, now) = (&pair[0].object, &pair[1].object);
            let new = assigned(now).into_iter().any(|name| !is_assigned(was, name) && !is_evicted(now, name));
            let evicting = !tasks(now).is_empty() && was["spec"]["placement"] == now["spec"]["placement"];
            (new && evicting && is_propagated_alone(now)).then_some((binding, before + 1))
        })
    })
}

fn unreplaced(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let places = replacements(recording).filter_map(|(binding, number)| {
        let version = &binding.versions[number];
        let due = version.at + recording.beyond(0.0);
        let names: Vec<String> = assigned(&version.object).into_iter().map(str::to_owned).collect();
        let free = |name: &String| {
            let clean = |object: &Value| is_ready(object) && taints(object).is_empty();
            recording.member(name).is_some_and(|member| member.holds(version.at, due, clean))
        };
        // An eviction and the choice of another member may be in one version.
        let held =
            if tasks(&binding.versions[number - 1].object).is_empty() { return None } else { CLUSTERS };
        let stays = binding.stays(version.at, due + 0.5) && until(recording, binding, number) > due;
        let lasts = names.iter().all(free) && stays && recording.is_calm(version.at, due + 0.5);
        lasts.then(|| binding.hold(number, late.then_some(due), &held))
    });
    places.collect()
}

/// A divided workload returns to a member that is ready again.
fn moves_back(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, at, now) in settled(recording) {
        let earlier = binding
            .versions
            .iter()
            .filter(|version| version.at < at)
            .flat_map(|version| assigned(&version.object));
        let left =
            earlier.into_iter().find(|name| !is_assigned(now, name) && is_healthy(recording, name, at));
        let healthy = assigned(now).iter().all(|name| is_healthy(recording, name, at));
        let Some(left) = left.filter(|_| is_divided(now) && healthy && is_propagated_alone(now)) else {
            continue;
        };
        let left = left.to_owned();
        edits.push(binding.alter(at, None, |object| {
            if let Some(cluster) = clusters(object).first_mut() {
                cluster["name"] = json!(left);
            }
        }));
    }
    edits
}

/// A workload returns to a member after its eviction, while the taint that evicted it stays.
fn back_while_tainted(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, at, now) in settled(recording) {
        let evictions = binding
            .versions
            .iter()
            .filter(|version| version.at < at)
            .flat_map(|version| tasks(&version.object));
        let for_taints = evictions.filter(|task| task["reason"] == "TaintUntolerated");
        let back = for_taints.filter_map(|task| task["fromCluster"].as_str()).find(|name| {
            let began = binding.begins(|object| is_evicted(object, name));
            let since = began.last().map(|number| binding.versions[*number].at);
            let tainted =
                since.and_then(|since| Some(recording.member(name)?.holds(since, at, has_no_execute)));
            !is_assigned(now, name) && tainted == Some(true)
        });
        let Some(back) =
            back.filter(|_| recording.has(Feature::EvictedNotRechosen) && is_propagated_alone(now))
        else {
            continue;
        };
        let (back, replicas) = (back.to_owned(), replicas(now));
        edits.push(binding.alter(at, None, |object| {
            clusters(object).push(json!({"name": back, "replicas": replicas}));
        }));
    }
    edits
}

fn change_ignored(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        for (before, pair) in binding.versions.windows(2).enumerate() {
            let (was, now) = (&pair[0].object, &pair[1].object);
            if was["spec"]["placement"] == now["spec"]["placement"] || assigned(was).is_empty() {
                continue;
            }
            let at = pair[1].at;
            let later = binding.versions.iter().position(|version| {
                version.at >= at && version.object["spec"]["clusters"] != was["spec"]["clusters"]
            });
            let due = at + recording.beyond(0.0);
            let names = later.map(|number| assigned(&binding.versions[number].object)).unwrap_or_default();
            let fits = names.iter().all(|name| is_healthy(recording, name, at));
            let healthy = assigned(was).iter().all(|name| is_healthy(recording, name, at));
            let soon = later.is_some_and(|number| binding.versions[number].at < due);
            let same = binding.stays(at, due) && recording.is_calm(at, due) && is_propagated_alone(now);
            if soon && same && fits && healthy && before > 0 {
                let held = was.clone();
                edits.push(binding.alter(at, None, |object| copy(object, &held, &ASSIGNED)));
            }
        }
    }
    edits
}

fn suspended_placed(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        let is_suspended = |object: &Value| {
            object["spec"]["suspension"]["scheduling"] == true && assigned(object).is_empty()
        };
        let placed = binding.versions.iter().find(|version| !assigned(&version.object).is_empty());
        let suspended = binding.versions.iter().find(|version| is_suspended(&version.object));
        if let (Some(placed), Some(suspended)) = (placed, suspended) {
            let from = suspended.at + recording.beyond(0.0);
            let held = placed.object.clone();
            if binding.holds(suspended.at, from + 0.1, is_suspended) && recording.is_calm(suspended.at, from)
            {
                edits.push(binding.alter(from, Some(placed.at.max(from + 0.1)), |object| {
                    copy(object, &held, &CLUSTERS);
                }));
            }
        }
    }
    edits
}
