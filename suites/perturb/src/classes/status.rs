//! Wrong behaviour about what bindings, Works and templates report.

use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{
    assigned, change_report, condition, health, is_assigned, is_leaving, items, ready_replicas, report,
    set_condition, template, wanted,
};
use crate::recording::Recording;
use crate::track::Track;

const HEALTHY: &[&str] = &["STATUS-01"];
const EARLY: &[&str] = &["STATUS-01", "STATUS-03", "EVICTION-03", "EVICTION-02"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("health-never-reported", ViolationKind::Never, HEALTHY, |all| unreported(all, false)),
    Class::new("health-reported-too-late", ViolationKind::TooLate, HEALTHY, |all| unreported(all, true)),
    Class::new("health-lost", ViolationKind::Lost, HEALTHY, health_lost),
    Class::new(
        "object-without-status-never-healthy",
        ViolationKind::Never,
        &["LIVENESS-06"],
        statusless_unreported,
    ),
    Class::new("health-reported-too-early", ViolationKind::TooEarly, EARLY, too_early),
    Class::new("status-of-a-left-member-stays", ViolationKind::Stale, &["STATUS-02"], left_stays),
    Class::new(
        "status-of-a-member-without-a-manifest",
        ViolationKind::Causeless,
        &["STATUS-02"],
        foreign_status,
    ),
    Class::new("ready-replicas-miscounted", ViolationKind::Other, &["STATUS-03"], miscounted),
    Class::new("status-of-the-template-stale", ViolationKind::Stale, &["STATUS-03"], template_stale),
    Class::new("status-of-the-template-never", ViolationKind::Never, &["STATUS-03"], template_never),
    Class::new("scheduled-never-reported", ViolationKind::Never, &["LIVENESS-01"], scheduled_never),
    Class::new("fully-applied-never", ViolationKind::Never, &["LIVENESS-02"], |all| {
        not_fully_applied(all, false)
    }),
    Class::new("fully-applied-too-late", ViolationKind::TooLate, &["LIVENESS-02"], |all| {
        not_fully_applied(all, true)
    }),
    Class::new("fully-applied-undone", ViolationKind::Undone, &["LIVENESS-02"], applied_undone),
    Class::new(
        "fully-applied-too-early",
        ViolationKind::TooEarly,
        &["DELIVERY-06", "STATUS-03"],
        applied_too_early,
    ),
];

/// The bindings with their copies in members.
fn copies<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track)> {
    recording.bindings().flat_map(move |binding| {
        let (kind, name) = template(&binding.versions[0].object);
        recording
            .members()
            .filter_map(move |member| Some((binding, recording.track(member.short(), &kind, &name)?)))
    })
}

/// The track of the Work for the copy of a binding in a member.
fn work<'r>(recording: &'r Recording<'_>, binding: &Track, member: &str) -> Option<&'r Track> {
    let asked = template(&binding.versions[0].object);
    let namespace = format!("karmada-es-{member}");
    recording.tracks("Work").find(|work| {
        work.namespace() == namespace
            && work.versions.first().is_some_and(|first| wanted(&first.object) == asked)
    })
}

/// Changes the health that a binding and the Work report for a member.
fn with_health(
    recording: &Recording<'_>,
    binding: &Track,
    member: &str,
    from: f64,
    until: Option<f64>,
    health: &str,
) -> Edit {
    let mut edit = binding.alter(from, until, |object| {
        change_report(object, member, |report| report["health"] = json!(health));
    });
    if let Some(work) = work(recording, binding, member) {
        edit.extend(work.alter(from, until, |object| {
            let statuses = object.pointer_mut("/status/manifestStatuses").and_then(Value::as_array_mut);
            for one in statuses.into_iter().flatten() {
                one["health"] = json!(health);
            }
        }));
    }
    edit
}

/// Returns the bindings with the version that reports a member as healthy.
/// Each binding also has the time when the report is overdue.
fn healed<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r str, usize, f64)> {
    copies(recording).flat_map(move |(binding, copy)| {
        let member = copy.on.as_str();
        let began = binding.begins(|object| health(object, member) == "Healthy").into_iter();
        began.filter_map(move |number| {
            let at = binding.versions[number].at;
            let due = at + recording.beyond(recording.timing("latency"));
            let runs = |object: &Value| !is_leaving(object) && ready_replicas(object) > 0;
            let spec = copy.object_at(at)?["spec"].clone();
            let stays = copy.holds(at, due + 0.2, |object| runs(object) && object["spec"] == spec)
                && binding.holds(at, due + 0.2, |object| {
                    is_assigned(object, member) && health(object, member) == "Healthy"
                });
            (stays && recording.is_untroubled(member, at, due + 0.2))
                .then_some((binding, member, number, due))
        })
    })
}

fn unreported(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let edit = |(binding, member, number, due): (&Track, &str, usize, f64)| {
        let ends =
            binding.holds_until(number, recording.end + 1.0, |object| health(object, member) == "Healthy");
        let until = if late { due } else { ends };
        with_health(recording, binding, member, binding.versions[number].at, Some(until), "Unhealthy")
    };
    healed(recording).map(edit).collect()
}

/// A member is reported as unhealthy although its copy runs all the time.
fn health_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let places = healed(recording).filter_map(|(binding, member, number, due)| {
        let until = due + recording.beyond(recording.timing("latency"));
        let healthy = binding.holds(due, until, |object| health(object, member) == "Healthy");
        let ends =
            binding.holds_until(number, recording.end + 1.0, |object| health(object, member) == "Healthy");
        let (kind, name) = template(&binding.versions[0].object);
        let spec = |object: &Value| object["spec"].clone();
        let copy = recording.track(member, &kind, &name)?;
        let first = spec(copy.object_at(due)?);
        let same = copy.holds(due, until, |object| spec(object) == first && !is_leaving(object));
        (healthy && same && recording.is_untroubled(member, due, until))
            .then(|| with_health(recording, binding, member, due, Some(ends), "Unhealthy"))
    });
    places.collect()
}

/// An object that has no status stays unknown although it is applied.
fn statusless_unreported(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, copy) in copies(recording) {
        let member = copy.on.as_str();
        let statusless = copy
            .versions
            .iter()
            .all(|version| version.object["status"].is_null() && version.object["spec"].is_null());
        for number in binding.begins(|object| health(object, member) == "Healthy") {
            let at = binding.versions[number].at;
            let due = at + recording.beyond(recording.timing("latency"));
            let stays = binding
                .holds(at, due, |object| health(object, member) == "Healthy" && is_assigned(object, member));
            if statusless && stays && copy.stays(at, due) && recording.is_untroubled(member, at, due) {
                let ends = binding
                    .holds_until(number, recording.end + 1.0, |object| health(object, member) == "Healthy");
                edits.push(with_health(recording, binding, member, at, Some(ends), "Unknown"));
            }
        }
    }
    edits
}

/// A copy is reported as healthy long before it is.
fn too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, copy) in copies(recording) {
        let member = copy.on.as_str();
        let Some(created) = copy.created() else { continue };
        let wants = |object: &Value| object["spec"]["replicas"].as_u64().unwrap_or_default() > 0;
        let down = |object: &Value| ready_replicas(object) == 0 && wants(object);
        let ends = copy.holds_until(0, recording.end, down);
        let unhealthy = |object: &Value| health(object, member) == "Unhealthy";
        for number in binding.begins(unhealthy) {
            let from = binding.versions[number].at;
            let until = binding.holds_until(number, recording.end, unhealthy).min(ends);
            if from > created
                && until - from > recording.beyond(recording.timing("latency"))
                && recording.is_untroubled(member, from, until)
            {
                edits.push(with_health(recording, binding, member, from, Some(until), "Healthy"));
            }
        }
    }
    edits
}

/// The bindings with the version in which the report on a member is removed.
fn forgotten<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, String, usize)> {
    recording.bindings().flat_map(move |binding| {
        let pairs = binding.versions.windows(2).enumerate();
        pairs.flat_map(move |(before, pair)| {
            let reports = items(&pair[0].object, "/status/aggregatedStatus").iter();
            let names = reports.filter_map(|one| one["clusterName"].as_str());
            let gone = names.filter(|name| report(&pair[1].object, name).is_none());
            gone.map(move |name| (binding, name.to_owned(), before + 1)).collect::<Vec<_>>()
        })
    })
}

fn left_stays(recording: &Recording<'_>) -> Vec<Edit> {
    let places = forgotten(recording).filter_map(|(binding, member, number)| {
        let at = binding.versions[number].at;
        let due = at + recording.beyond(recording.timing("latency"));
        let left = |object: &Value| {
            !is_assigned(object, &member) && report(object, &member).is_none() && !is_leaving(object)
        };
        let stale = report(&binding.versions[number - 1].object, &member)?.clone();
        let lasts = binding.holds(at, due, left) && recording.is_untroubled(&member, at, due);
        lasts.then(|| {
            binding.alter(at, None, |object| {
                if report(object, &member).is_none() {
                    crate::object::array(object, "status", "aggregatedStatus").push(stale.clone());
                }
            })
        })
    });
    places.collect()
}

/// The bindings with a moment from which everything stays as it is.
fn settled<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64)> {
    let lasting = recording.beyond(recording.timing("latency"));
    recording.bindings().flat_map(move |binding| {
        let moments = recording.moments(lasting).into_iter();
        let is_settled = move |at: &f64| {
            let Some(now) = binding.object_at(*at) else { return false };
            let untroubled =
                assigned(now).iter().all(|name| recording.is_untroubled(name, at - 1.0, at + lasting));
            !assigned(now).is_empty()
                && untroubled
                && recording.is_calm(at - 1.0, at + lasting)
                && binding.holds(at - 1.0, at + lasting, |object| {
                    object["status"] == now["status"] && object["spec"] == now["spec"] && !is_leaving(object)
                })
        };
        moments.filter(is_settled).map(move |at| (binding, at))
    })
}

/// A member that the workload never was on is reported.
fn foreign_status(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(binding, at)| {
        let now = binding.object_at(at)?;
        let first = items(now, "/status/aggregatedStatus").first()?.clone();
        let mut members = recording.tracks("Cluster").map(Track::short);
        let other = members.find(|name| {
            report(now, name).is_none() && !is_assigned(now, name) && work(recording, binding, name).is_none()
        })?;
        let calm = recording.is_untroubled(other, at, at + recording.beyond(recording.timing("latency")));
        calm.then(|| {
            binding.alter(at, None, |object| {
                let mut report = first.clone();
                report["clusterName"] = json!(other);
                crate::object::array(object, "status", "aggregatedStatus").push(report);
            })
        })
    });
    places.collect()
}

/// The templates of settled bindings that have replicas.
fn templates<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track, f64)> {
    let lasting = recording.beyond(recording.timing("latency"));
    settled(recording).filter_map(move |(binding, at)| {
        let (kind, name) = template(binding.object_at(at)?);
        let template = recording.track("control-plane", &kind, &name)?;
        let now = template.object_at(at)?.clone();
        let same = template.holds(at - 0.5, at + lasting, |object| {
            object["spec"] == now["spec"] && object["status"] == now["status"]
        });
        (same && ready_replicas(&now) > 0).then_some((binding, template, at))
    })
}

fn miscounted(recording: &Recording<'_>) -> Vec<Edit> {
    let edit = |(_, template, at): (&Track, &Track, f64)| {
        template.alter(at, None, |object| {
            let ready = ready_replicas(object);
            object["status"]["readyReplicas"] = json!(ready + 1);
        })
    };
    templates(recording).map(edit).collect()
}

fn template_stale(recording: &Recording<'_>) -> Vec<Edit> {
    let places = templates(recording).filter_map(|(_, template, at)| {
        let now = ready_replicas(template.object_at(at)?);
        let number = template
            .begins(|object| ready_replicas(object) == now)
            .into_iter()
            .rfind(|number| template.versions[*number].at <= at)?;
        let was = ready_replicas(&template.versions[number - 1].object);
        (was != now).then(|| template.hold(number, None, &["/status"]))
    });
    places.collect()
}

fn template_never(recording: &Recording<'_>) -> Vec<Edit> {
    let places = templates(recording).filter_map(|(_, template, _)| {
        template.created()?;
        Some(template.alter(template.versions[0].at, None, |object| object["status"] = json!({})))
    });
    places.collect()
}

fn without_condition(object: &mut Value, name: &str) {
    if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        conditions.retain(|one| one["type"] != name);
    }
}

fn scheduled_never(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        let Some(created) = binding.created() else { continue };
        let due = created + recording.beyond(0.0);
        let reported =
            binding.versions.iter().any(|version| !condition(&version.object, "Scheduled").is_empty());
        let placed = binding.versions[0].object["spec"]["placement"].is_object();
        if reported && placed && binding.stays(created, due) && recording.is_calm(created, due) {
            edits.push(binding.alter(created, None, |object| {
                without_condition(object, "Scheduled");
                if let Some(status) = object["status"].as_object_mut() {
                    status.remove("schedulerObservedGeneration");
                    status.remove("lastScheduledTime");
                }
            }));
        }
    }
    edits
}

fn is_applied(object: &Value) -> bool {
    condition(object, "FullyApplied") == "True"
}

fn not_fully_applied(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        for number in binding.begins(is_applied) {
            let at = binding.versions[number].at;
            let due = at + recording.beyond(0.0);
            let ends = binding.holds_until(number, recording.end + 1.0, is_applied);
            let clusters = &binding.versions[number].object["spec"]["clusters"];
            let same = binding
                .holds(at, due, |object| is_applied(object) && &object["spec"]["clusters"] == clusters);
            let untroubled = assigned(&binding.versions[number].object)
                .iter()
                .all(|name| recording.is_untroubled(name, at, due));
            if same && untroubled && recording.is_calm(at, due) && binding.stays(at, due) {
                edits.push(binding.alter(at, Some(if late { due } else { ends }), |object| {
                    set_condition(object, "FullyApplied", "False", "FullyAppliedFailed");
                }));
            }
        }
    }
    edits
}

fn applied_undone(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter(|(binding, at)| binding.object_at(*at).is_some_and(is_applied));
    let edit = |(binding, at): (&Track, f64)| {
        binding.alter(at, None, |object| set_condition(object, "FullyApplied", "False", "FullyAppliedFailed"))
    };
    places.map(edit).collect()
}

/// The last Work is not applied, and the workload is reported as fully applied nevertheless.
fn applied_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(binding, at)| {
        let now = binding.object_at(at).filter(|object| is_applied(object))?;
        let member = assigned(now).last().map(|name| (*name).to_owned())?;
        let work = work(recording, binding, &member).filter(|work| work.at(at).is_some())?;
        let fail = |conditions: Option<&mut Vec<Value>>| {
            for one in conditions.into_iter().flatten().filter(|one| one["type"] == "Applied") {
                one["status"] = json!("False");
                one["reason"] = json!("AppliedFailed");
            }
        };
        let mut edit = work.alter(at, None, |object| {
            fail(object.pointer_mut("/status/conditions").and_then(Value::as_array_mut));
        });
        edit.extend(binding.alter(at + 0.05, None, |object| {
            change_report(object, &member, |report| report["applied"] = json!(false));
        }));
        Some(edit)
    });
    places.collect()
}
