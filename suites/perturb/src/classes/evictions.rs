//! Wrong behaviour about evictions and their tasks.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{
    ASSIGNED, CLUSTERS, TASKS, array, assigned, change_task, clusters, copy, evict, has_no_execute, health,
    is_assigned, is_evicted, is_leaving, items, remove_task, replicas, taints, task, tasks,
};
use crate::recording::Recording;
use crate::track::Track;

const CAUSE: &[&str] = &["TOLERATION-01", "TOLERATION-02"];
const ENDS: &[&str] = &["EVICTION-01", "EVICTION-02"];
const ENDS_EARLY: &[&str] = &["EVICTION-02", "EVICTION-03", "EVICTION-08"];
const AGAIN: &[&str] = &["EVICTION-02", "TOLERATION-01", "TOLERATION-02", "EVICTION-12"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("eviction-too-early", ViolationKind::TooEarly, &["TOLERATION-01", "EVICTION-13"], too_early),
    Class::new("eviction-too-late", ViolationKind::TooLate, &["TOLERATION-01"], too_late),
    Class::new("eviction-never", ViolationKind::Never, &["TOLERATION-01"], never),
    Class::new("eviction-of-the-tolerant", ViolationKind::Causeless, CAUSE, tolerant),
    Class::new("eviction-after-the-taint", ViolationKind::Causeless, CAUSE, after_the_taint),
    Class::new("eviction-without-taint", ViolationKind::Causeless, CAUSE, without_taint),
    Class::new(
        "eviction-from-the-wrong-member",
        ViolationKind::Other,
        &["TOLERATION-01", "TOLERATION-02", "PLACEMENT-01"],
        wrong_member,
    ),
    Class::new("task-never-stamped", ViolationKind::Never, &["EVICTION-08"], never_stamped),
    Class::new("task-stamped-too-late", ViolationKind::TooLate, &["EVICTION-08"], stamped_too_late),
    Class::new("task-stamp-renewed", ViolationKind::Other, &["EVICTION-07"], stamp_renewed),
    Class::new("task-stamp-lost", ViolationKind::Lost, &["EVICTION-07", "EVICTION-08"], stamp_lost),
    Class::new("task-of-other-replicas", ViolationKind::Other, &["EVICTION-06"], other_replicas),
    Class::new("task-changes-its-replicas", ViolationKind::Other, &["EVICTION-07"], changed_replicas),
    Class::new("task-twice", ViolationKind::Twice, &["EVICTION-05"], twice),
    Class::new("task-lost", ViolationKind::Lost, ENDS_EARLY, lost),
    Class::new("task-ends-too-early", ViolationKind::TooEarly, ENDS_EARLY, ends_too_early),
    Class::new("task-ends-too-late", ViolationKind::TooLate, ENDS, ends_too_late),
    Class::new("task-ends-never", ViolationKind::Never, ENDS, ends_never),
    Class::new("task-comes-back", ViolationKind::Undone, AGAIN, comes_back),
    Class::new("task-with-its-own-timeout", ViolationKind::Other, &["EVICTION-09"], own_timeout),
    Class::new("task-suppresses-the-deletion", ViolationKind::Other, &["EVICTION-09"], suppressed),
    Class::new("task-of-the-other-purge-mode", ViolationKind::Other, &["EVICTION-14"], other_purge_mode),
    Class::new("evicted-and-still-assigned", ViolationKind::Stale, &["EVICTION-04"], still_assigned),
    Class::new(
        "evicted-and-chosen-again",
        ViolationKind::Undone,
        &["EVICTION-04", "PLACEMENT-16"],
        chosen_again,
    ),
    Class::new("end-of-eviction-not-announced", ViolationKind::Never, &["EVICTION-16"], not_announced),
];

/// One eviction: a task of a binding from its first version to its end.
struct Eviction<'r> {
    binding: &'r Track,
    member: String,
    /// The number of the version with which the task begins.
    number: usize,
    begin: f64,
    /// The end, or a time after the end of the history.
    end: f64,
}

impl Eviction<'_> {
    fn task(&self) -> &Value {
        task(&self.binding.versions[self.number].object, &self.member).unwrap_or(&Value::Null)
    }

    fn is_for_a_taint(&self) -> bool {
        self.task()["reason"] == "TaintUntolerated"
    }

    fn alter(&self, change: impl Fn(&mut Value)) -> Edit {
        self.binding.alter(self.begin, Some(self.end), |binding| change_task(binding, &self.member, &change))
    }

    /// The version with which the task is gone.
    fn last(&self, recording: &Recording<'_>) -> Option<usize> {
        (self.end <= recording.end).then_some(())?;
        self.binding.versions.iter().position(|version| version.at >= self.end)
    }
}

fn evictions<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = Eviction<'r>> {
    recording.bindings().flat_map(move |binding| {
        let named = binding.versions.iter().flat_map(|version| tasks(&version.object));
        let mut members: Vec<&str> = named.filter_map(|task| task["fromCluster"].as_str()).collect();
        members.sort_unstable();
        members.dedup();
        members.into_iter().flat_map(move |member| {
            let began = binding.begins(|object| is_evicted(object, member)).into_iter();
            began.map(move |number| Eviction {
                binding,
                member: member.to_owned(),
                number,
                begin: binding.versions[number].at,
                end: binding.holds_until(number, recording.end + 1.0, |object| is_evicted(object, member)),
            })
        })
    })
}

/// The time at which the member got the latest of its taints that evict before `at`.
fn tainted_since(recording: &Recording<'_>, member: &str, at: f64) -> Option<f64> {
    let member = recording.member(member)?;
    let began = member.begins(has_no_execute).into_iter();
    began.map(|number| member.versions[number].at).rfind(|began| *began <= at)
}

fn too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter(Eviction::is_for_a_taint).filter_map(|one| {
        let since = tainted_since(recording, &one.member, one.begin)?;
        let (early, before) = (since + 0.3 * (one.begin - since), one.binding.at(since)?);
        let same = one.binding.holds(since, early, |object| {
            is_assigned(object, &one.member) && !is_evicted(object, &one.member)
        });
        let waits = one.begin - early > 2.5 + recording.timing("skew") && recording.is_calm(since, one.begin);
        let only = tasks(&before.object).is_empty();
        (waits && same && only).then(|| one.binding.advance(one.number, early, &ASSIGNED))
    });
    places.collect()
}

/// The latest moment at which the eviction may come, seen from the moment at which it came.
fn latest(recording: &Recording<'_>, one: &Eviction<'_>) -> f64 {
    let queued = recording.bindings().count() as f64;
    let pace = recording.timing("evictionPace").max(recording.timing("latency"));
    one.begin + recording.beyond(recording.timing("recheck") + 3.0 * pace * queued)
}

/// Whether nothing but the eviction changes the assignment until `until`, and its taint stays.
fn is_due(recording: &Recording<'_>, one: &Eviction<'_>, until: f64) -> bool {
    let Some(member) = recording.member(&one.member) else { return false };
    let keys: Vec<Value> = member
        .object_at(one.begin)
        .map(|object| {
            let evicting = taints(object).iter().filter(|one| one["effect"] == "NoExecute");
            evicting.map(|one| one["key"].clone()).collect()
        })
        .unwrap_or_default();
    let stays = |object: &Value| {
        keys.iter()
            .all(|key| taints(object).iter().any(|one| &one["key"] == key && one["effect"] == "NoExecute"))
    };
    let Some(since) = tainted_since(recording, &one.member, one.begin) else { return false };
    let known = one.binding.at(since).is_some_and(|version| is_assigned(&version.object, &one.member));
    let member_stays = member.stays(since, until);
    let placement = &one.binding.versions[one.number].object["spec"]["placement"];
    let same = one.binding.holds(one.begin, until, |object| &object["spec"]["placement"] == placement);
    !keys.is_empty()
        && known
        && member_stays
        && same
        && member.holds(since, until, stays)
        && recording.is_calm(since, until)
}

fn too_late(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter(Eviction::is_for_a_taint).filter_map(|one| {
        let until = latest(recording, &one);
        let lasts = until + 0.5 < recording.end && is_due(recording, &one, until + 0.5);
        lasts.then(|| one.binding.hold(one.number, Some(until), &ASSIGNED))
    });
    places.collect()
}

fn never(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter(Eviction::is_for_a_taint).filter_map(|one| {
        is_due(recording, &one, latest(recording, &one))
            .then(|| one.binding.hold(one.number, None, &ASSIGNED))
    });
    places.collect()
}

/// The assigned members of each binding with the times from which they are assigned without a task.
fn holders<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, String)> {
    recording.bindings().flat_map(|binding| {
        let mut names: Vec<&str> =
            binding.versions.iter().flat_map(|version| assigned(&version.object)).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(move |name| (binding, name.to_owned()))
    })
}

/// Whether a toleration of the placement covers every taint of the member that evicts, for ever.
fn tolerates_for_ever(binding: &Value, member: &Value) -> bool {
    let tolerations = items(binding, "/spec/placement/clusterTolerations");
    let covers = |taint: &Value| {
        let matching: Vec<&Value> = tolerations
            .iter()
            .filter(|one| {
                let key = one["key"].as_str().unwrap_or_default();
                (key.is_empty() || one["key"] == taint["key"])
                    && (one["effect"].is_null() || one["effect"] == "" || one["effect"] == taint["effect"])
            })
            .collect();
        !matching.is_empty()
            && matching.iter().all(|one| one["tolerationSeconds"].is_null() && one["operator"] == "Exists")
    };
    taints(member).iter().filter(|one| one["effect"] == "NoExecute").all(covers)
}

fn evicted_at(recording: &Recording<'_>, binding: &Track, member: &str, at: f64) -> Edit {
    let stamp = recording.stamp(at);
    binding.alter(at, None, |object| {
        if is_assigned(object, member) && !is_evicted(object, member) {
            evict(object, member, &stamp);
        }
    })
}

fn tolerant(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, name) in holders(recording).filter(|_| recording.has(Feature::NoExecuteTaints)) {
        let Some(member) = recording.member(&name) else { continue };
        for number in member.begins(has_no_execute) {
            let at = member.versions[number].at + 1.0 + recording.timing("latency");
            let until = member.holds_until(number, recording.end, has_no_execute);
            let Some(object) = binding.object_at(at) else { continue };
            let stays = binding
                .holds(at - 1.0, at, |object| is_assigned(object, &name) && !is_evicted(object, &name));
            if at < until
                && stays
                && tolerates_for_ever(object, &member.versions[number].object)
                && recording.is_calm(at, at)
            {
                edits.push(evicted_at(recording, binding, &name, at));
            }
        }
    }
    edits
}

fn after_the_taint(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, name) in holders(recording).filter(|_| recording.has(Feature::NoExecuteTaints)) {
        let Some(member) = recording.member(&name) else { continue };
        for number in member.begins(|object| !has_no_execute(object)) {
            let gone = member.versions[number].at;
            let at = gone + recording.beyond(1.0);
            let stays = binding
                .holds(gone - 2.0, at, |object| is_assigned(object, &name) && !is_evicted(object, &name));
            let clean = member.holds(gone, at, |object| taints(object).is_empty() && !is_leaving(object));
            if stays && clean && recording.is_calm(gone, at) {
                edits.push(evicted_at(recording, binding, &name, at));
            }
        }
    }
    edits
}

fn without_taint(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (binding, name) in holders(recording).filter(|_| recording.has(Feature::NoExecuteTaints)) {
        let Some(member) = recording.member(&name) else { continue };
        for at in recording.moments(1.0) {
            let from = at - recording.beyond(recording.timing("recheck"));
            let never =
                member.versions.iter().all(|version| version.at > at || !has_no_execute(&version.object));
            let clean = never && member.stays(at - 1.0, at);
            let stays =
                binding.holds(at - 1.0, at, |object| is_assigned(object, &name) && tasks(object).is_empty());
            if stays && clean && recording.is_calm(from, at) {
                edits.push(evicted_at(recording, binding, &name, at));
            }
        }
    }
    edits
}

fn wrong_member(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter(Eviction::is_for_a_taint).filter_map(|one| {
        let before = &one.binding.versions[one.number - 1].object;
        let mut others = assigned(before).into_iter().filter(|name| *name != one.member);
        let other = others.find(|name| {
            let clean = |object: &Value| !has_no_execute(object) && !is_leaving(object);
            let member = recording.member(name);
            member.is_some_and(|member| {
                member.versions.iter().all(|version| version.at > one.begin || clean(&version.object))
            }) && !is_evicted(&one.binding.versions[one.number].object, name)
        })?;
        recording.is_calm(one.begin, one.begin).then(|| {
            one.binding.alter(one.begin, None, |object| {
                let stamp = task(object, &one.member).map(|task| task["creationTimestamp"].clone());
                remove_task(object, &one.member);
                if let Some(kept) =
                    items(before, "/spec/clusters").iter().find(|it| it["name"] == one.member.as_str())
                    && !is_assigned(object, &one.member)
                {
                    clusters(object).push(kept.clone());
                }
                if let Some(stamp) = stamp {
                    evict(object, other, &stamp);
                } else {
                    clusters(object).retain(|it| it["name"] != other);
                }
            })
        })
    });
    places.collect()
}

/// The tasks that last for longer than any tolerance.
fn lasting<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = Eviction<'r>> {
    evictions(recording).filter(move |one| one.end - one.begin > 0.2)
}

fn never_stamped(recording: &Recording<'_>) -> Vec<Edit> {
    let places = lasting(recording).filter(|one| {
        let due = one.begin + recording.beyond(0.0);
        (due < one.end || one.end <= recording.end)
            && recording.is_calm(one.begin, due.min(one.end).min(recording.end))
    });
    places.map(|one| one.alter(|task| task["creationTimestamp"] = Value::Null)).collect()
}

fn stamped_too_late(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let due = one.begin + recording.beyond(0.0);
        let lasts = due + 0.5 < one.end.min(recording.end) && recording.is_calm(one.begin, due);
        lasts.then(|| {
            one.binding.alter(one.begin, Some(due), |binding| {
                change_task(binding, &one.member, |task| task["creationTimestamp"] = Value::Null);
            })
        })
    });
    places.collect()
}

/// Changes the task from some time after its stamp.
fn changed_midway(recording: &Recording<'_>, change: impl Fn(&mut Value, &Value)) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let stamped = one.binding.versions[one.number..].iter().find(|version| {
            task(&version.object, &one.member).is_some_and(|task| !task["creationTimestamp"].is_null())
        })?;
        let (from, until) = (stamped.at, one.end.min(recording.end));
        let at = f64::midpoint(from, until);
        let stamp = recording.stamp(at + 5.0);
        (until - from > 0.5).then(|| {
            one.binding.alter(at, Some(one.end), |binding| {
                change_task(binding, &one.member, |task| change(task, &stamp));
            })
        })
    });
    places.collect()
}

fn stamp_renewed(recording: &Recording<'_>) -> Vec<Edit> {
    changed_midway(recording, |task, stamp| task["creationTimestamp"] = stamp.clone())
}

fn stamp_lost(recording: &Recording<'_>) -> Vec<Edit> {
    changed_midway(recording, |task, _| task["creationTimestamp"] = Value::Null)
}

fn other_replicas(recording: &Recording<'_>) -> Vec<Edit> {
    let places =
        evictions(recording).filter(|one| one.task()["replicas"].as_u64().is_some_and(|number| number > 0));
    places
        .map(|one| {
            one.alter(|task| task["replicas"] = json!(task["replicas"].as_u64().unwrap_or_default() + 1))
        })
        .collect()
}

fn changed_replicas(recording: &Recording<'_>) -> Vec<Edit> {
    changed_midway(recording, |task, _| {
        task["replicas"] = json!(task["replicas"].as_u64().unwrap_or_default() + 1);
    })
}

fn twice(recording: &Recording<'_>) -> Vec<Edit> {
    // Until 1.5, nothing kept a member from a second task.
    let is_promised = recording.has(Feature::EvictedNotRechosen);
    let edit = |one: Eviction<'_>| {
        one.binding.alter(one.begin, Some(one.end), |binding| {
            if let Some(task) = task(binding, &one.member).cloned() {
                array(binding, "spec", "gracefulEvictionTasks").push(task);
            }
        })
    };
    evictions(recording).filter(|_| is_promised).map(edit).collect()
}

/// Whether every assigned member is reported as healthy.
fn is_replaced(binding: &Value) -> bool {
    !assigned(binding).is_empty() && assigned(binding).iter().all(|name| health(binding, name) == "Healthy")
}

/// The graceful evictions whose replacement is not healthy at `at`, given as a part of their time.
fn unfinished<'r>(recording: &'r Recording<'_>, part: f64) -> impl Iterator<Item = (Eviction<'r>, f64)> {
    let whole = recording.timing("gracefulEvictionTimeout");
    evictions(recording).filter_map(move |one| {
        let at = one.begin + part * (one.end.min(recording.end) - one.begin);
        let open = one.binding.holds(one.begin, at, |binding| !is_replaced(binding));
        let early = at - one.begin < whole - 2.0 - recording.timing("skew") && at > one.begin + 0.1;
        let graceful =
            !matches!(one.task()["purgeMode"].as_str(), Some("Immediately" | "Directly" | "Never"));
        let plain = one.task()["gracePeriodSeconds"].is_null();
        let calm = recording.is_calm(one.begin, at);
        (open && early && graceful && plain && calm).then_some((one, at))
    })
}

fn without_task(one: &Eviction<'_>, at: f64) -> Edit {
    one.binding.alter(at, Some(one.end), |binding| remove_task(binding, &one.member))
}

/// The task is lost before it is stamped.
fn lost(recording: &Recording<'_>) -> Vec<Edit> {
    let whole = unfinished(recording, 0.5);
    let places = whole.filter_map(|(one, _)| {
        let next = one.binding.versions.get(one.number + 1)?.at;
        (next < one.end && one.binding.object_at(next).is_some_and(|object| !is_replaced(object)))
            .then(|| without_task(&one, next))
    });
    places.collect()
}

fn ends_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    unfinished(recording, 0.6).map(|(one, at)| without_task(&one, at)).collect()
}

/// The latest moment at which the task may end, seen from the moment at which it ended.
fn prolonged(recording: &Recording<'_>, one: &Eviction<'_>) -> Option<(usize, f64)> {
    let polls = 1.0 / f64::from(recording.polls().max(1)) * recording.timing("gracefulEvictionTimeout");
    let until = one.end + recording.beyond(polls);
    let number = one.last(recording)?;
    let (assigned, spec) = (&one.binding.versions[number].object["spec"]["clusters"], until + 0.5);
    let same = one.binding.holds(one.end, spec, |object| {
        &object["spec"]["clusters"] == assigned && !is_evicted(object, &one.member)
    });
    let settled = one.binding.holds(one.end, spec, is_replaced)
        || one.end - one.begin > recording.timing("gracefulEvictionTimeout") - 2.0;
    (same && settled && recording.is_calm(one.begin, spec)).then_some((number, until))
}

fn ends_too_late(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let (number, until) = prolonged(recording, &one)?;
        Some(one.binding.hold(number, Some(until), &TASKS))
    });
    places.collect()
}

fn ends_never(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let (number, _) = prolonged(recording, &one)?;
        Some(one.binding.hold(number, None, &TASKS))
    });
    places.collect()
}

fn comes_back(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let number = one.last(recording)?;
        let from = one.end + recording.beyond(0.0);
        let before = one.binding.versions[number - 1].object.clone();
        let stays = one.binding.holds(one.end, from, |object| tasks(object).is_empty());
        let until = from + recording.beyond(recording.timing("gracefulEvictionTimeout"));
        let single = tasks(&before).len() == 1;
        (stays && single && recording.is_calm(one.end, until))
            .then(|| one.binding.alter(from, None, |object| copy(object, &before, &TASKS)))
    });
    places.collect()
}

/// Evictions for taints whose policy has no application failover.
fn for_taints<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = Eviction<'r>> {
    evictions(recording).filter(Eviction::is_for_a_taint)
}

fn own_timeout(recording: &Recording<'_>) -> Vec<Edit> {
    let places = for_taints(recording).filter(|_| recording.has(Feature::EvictedNotRechosen));
    places.map(|one| one.alter(|task| task["gracePeriodSeconds"] = json!(17))).collect()
}

fn suppressed(recording: &Recording<'_>) -> Vec<Edit> {
    let places = for_taints(recording).filter(|_| recording.has(Feature::EvictedNotRechosen));
    places.map(|one| one.alter(|task| task["suppressDeletion"] = json!(true))).collect()
}

fn other_purge_mode(recording: &Recording<'_>) -> Vec<Edit> {
    let is_set = |one: &Eviction<'_>| {
        let failover = &one.binding.versions[one.number].object["spec"]["failover"]["cluster"];
        recording.has(Feature::PurgeModes) && !failover["purgeMode"].is_null()
    };
    let other = |task: &mut Value| {
        let is_direct = task["purgeMode"] == "Directly" || task["purgeMode"] == "Immediately";
        task["purgeMode"] = json!(if is_direct { "Gracefully" } else { "Directly" });
    };
    for_taints(recording).filter(is_set).map(|one| one.alter(other)).collect()
}

fn still_assigned(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let due = one.begin + recording.beyond(recording.timing("recheck"));
        let before = one.binding.versions[one.number - 1].object.clone();
        let lasts = due < one.end.min(recording.end) && recording.is_calm(one.begin, due);
        let places = recording.has(Feature::EvictedNotRechosen) && lasts && is_assigned(&before, &one.member);
        places.then(|| one.binding.alter(one.begin, Some(one.end), |object| copy(object, &before, &CLUSTERS)))
    });
    places.collect()
}

fn chosen_again(recording: &Recording<'_>) -> Vec<Edit> {
    let places = evictions(recording).filter_map(|one| {
        let from = one.begin + 1.0 + recording.timing("latency");
        let due = from + recording.beyond(recording.timing("recheck"));
        let lasts = due < one.end.min(recording.end) && recording.is_calm(one.begin, due);
        (recording.has(Feature::EvictedNotRechosen) && lasts).then(|| {
            one.binding.alter(from, Some(one.end), |object| {
                let replicas = replicas(object);
                if !is_assigned(object, &one.member) {
                    clusters(object).push(json!({"name": one.member, "replicas": replicas}));
                }
            })
        })
    });
    places.collect()
}

fn not_announced(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for event in recording.tracks("Event") {
        let first = &event.versions[0];
        let announces = first.object["reason"]
            .as_str()
            .is_some_and(|reason| reason.starts_with("EvictWorkloadFromCluster"));
        if announces && recording.is_calm(first.at - 1.0, first.at + recording.beyond(0.0)) {
            edits.push(event.never());
        }
    }
    edits
}
