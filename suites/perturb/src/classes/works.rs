//! Wrong behaviour about manifests (Works) and their contents.

use capsize_history::EventType;
use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::{Change, Edit};
use crate::object::{is_assigned, is_evicted, is_leaving, items, manifest, task, template, wanted};
use crate::recording::Recording;
use crate::track::{Track, without};

const MISSING: &[&str] = &["DELIVERY-01", "DELIVERY-13", "DELIVERY-16"];
const KEPT: &[&str] = &["DELIVERY-02", "DELIVERY-16", "LIVENESS-05"];
const CONTENT: &[&str] = &["DELIVERY-11"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("manifest-never", ViolationKind::Never, MISSING, never),
    Class::new("manifest-too-late", ViolationKind::TooLate, MISSING, too_late),
    Class::new("manifest-lost", ViolationKind::Lost, MISSING, lost),
    Class::new(
        "manifest-for-the-wrong-member",
        ViolationKind::Other,
        &["DELIVERY-01", "DELIVERY-02"],
        wrong_member,
    ),
    Class::new("manifest-without-assignment", ViolationKind::Causeless, &["DELIVERY-02"], causeless),
    Class::new("manifest-twice", ViolationKind::Twice, &["DELIVERY-03"], twice),
    Class::new("manifest-stays", ViolationKind::Stale, KEPT, |all| stays(all, false)),
    Class::new("manifest-stays-too-long", ViolationKind::TooLate, KEPT, |all| stays(all, true)),
    Class::new("manifest-deleted-but-not-gone", ViolationKind::Never, &["RECOVERY-01"], not_gone),
    Class::new(
        "manifest-of-a-task-lost",
        ViolationKind::TooEarly,
        &["EVICTION-03", "DELIVERY-01", "DELIVERY-08"],
        old_lost,
    ),
    Class::new("manifest-of-other-replicas", ViolationKind::Other, CONTENT, |all| {
        content(all, |it| bump(&mut it["spec"]["replicas"]))
    }),
    Class::new("manifest-of-another-image", ViolationKind::Other, CONTENT, |all| content(all, image)),
    Class::new("manifest-without-a-label", ViolationKind::Lost, CONTENT, label_lost),
    Class::new("manifest-with-other-environment", ViolationKind::Other, CONTENT, |all| {
        content(all, environment)
    }),
    Class::new("manifest-with-other-data", ViolationKind::Other, CONTENT, |all| content(all, data)),
    Class::new("manifest-stale-after-an-update", ViolationKind::Stale, CONTENT, |all| stale(all, false)),
    Class::new("manifest-updated-too-late", ViolationKind::TooLate, CONTENT, |all| stale(all, true)),
    Class::new("manifest-reverted", ViolationKind::Undone, CONTENT, reverted),
    Class::new(
        "manifest-changes-during-an-eviction",
        ViolationKind::Other,
        &["DELIVERY-08"],
        changed_while_leaving,
    ),
    Class::new(
        "new-manifest-before-the-old-is-purged",
        ViolationKind::TooEarly,
        &["DELIVERY-07"],
        before_the_purge,
    ),
    Class::new("preserved-state-lost", ViolationKind::Lost, &["DELIVERY-09"], state_lost),
    Class::new("suspended-manifest-dispatched", ViolationKind::TooEarly, &["DELIVERY-14"], dispatched),
];

/// The member of a Work.
fn member(work: &Track) -> &str {
    work.namespace().strip_prefix("karmada-es-").unwrap_or_default()
}

/// The copy that a Work asks for.
fn copy_of<'r>(recording: &'r Recording<'_>, work: &Track) -> Option<&'r Track> {
    let (kind, name) = wanted(&work.versions[0].object);
    recording.track(member(work), &kind, &name)
}

/// The binding that a Work belongs to.
fn binding<'r>(recording: &'r Recording<'_>, work: &Track) -> Option<&'r Track> {
    let asked = wanted(&work.versions.first()?.object);
    recording.bindings().find(|binding| template(&binding.versions[0].object) == asked)
}

/// The Works of bindings, with the binding and the member.
fn works<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track, &'r str)> {
    recording.tracks("Work").filter_map(|work| Some((work, binding(recording, work)?, member(work))))
}

fn is_target(object: &Value, member: &str) -> bool {
    let required = items(object, "/spec/requiredBy").iter();
    let mut required = required.flat_map(|one| items(one, "/clusters"));
    is_assigned(object, member) || required.any(|one| one["name"] == member)
}

/// The new Works that are due, with the time from which each is surely missing.
fn due<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64)> {
    works(recording).filter_map(move |(work, binding, member)| {
        let created = work.created()?;
        let due = created + recording.beyond(5.0);
        let suspended = |object: &Value| !object["spec"]["suspension"]["dispatching"].is_null();
        let held = |object: &Value| is_target(object, member) && !suspended(object) && !is_leaving(object);
        let wanted = binding.holds(created, due + 0.5, held);
        // Another manifest shows that the history records manifests.
        let is_shown =
            works(recording).any(|(other, ..)| other.name != work.name && other.versions[0].at < due);
        (wanted && is_shown && work.stays(created, due + 0.5) && recording.is_calm(created, due + 0.5))
            .then_some((work, due))
    })
}

/// The edit that takes the copy of a Work away as long as the Work is missing.
fn with_copy(recording: &Recording<'_>, work: &Track, until: Option<f64>, mut edit: Edit) -> Edit {
    if let Some(copy) = copy_of(recording, work) {
        let created = work.versions[0].at;
        if copy.created().is_some_and(|at| at >= created) {
            edit.extend(match until {
                None => copy.never(),
                Some(until) => copy.created_at(until),
            });
        }
    }
    edit
}

fn never(recording: &Recording<'_>) -> Vec<Edit> {
    due(recording).map(|(work, _)| with_copy(recording, work, None, work.never())).collect()
}

fn too_late(recording: &Recording<'_>) -> Vec<Edit> {
    due(recording)
        .map(|(work, due)| with_copy(recording, work, Some(due + 0.2), work.created_at(due)))
        .collect()
}

/// A Work whose workload stays on the member is deleted, with its copy.
fn lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (work, binding, member) in works(recording) {
        for at in recording.moments(recording.beyond(0.0)) {
            let until = at + recording.beyond(0.0);
            let held = |object: &Value| {
                is_assigned(object, member) && !is_evicted(object, member) && !is_leaving(object)
            };
            let stays = work.stays(at, until) && binding.holds(at, until, held);
            let present = recording.member(member).is_some_and(|member| member.stays(at, until));
            if stays && present && recording.is_untroubled(member, at, until) {
                let mut edit = work.lose(at, None);
                if let Some(copy) = copy_of(recording, work) {
                    edit.extend(copy.lose(at + 0.05, None));
                }
                edits.push(edit);
            }
        }
    }
    edits
}

/// The Work moved to the namespace of another member.
fn elsewhere(work: &Track, other: &str, object: &Value) -> Change {
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!(format!("karmada-es-{other}"));
    work.insert(work.versions[0].at, EventType::Added, object)
}

/// A cluster that a workload is not on at any time.
fn stranger<'r>(recording: &'r Recording<'_>, binding: &Track) -> Option<&'r str> {
    let mut members = recording.tracks("Cluster").map(Track::short);
    members.find(|name| {
        binding
            .versions
            .iter()
            .all(|version| !is_target(&version.object, name) && !is_evicted(&version.object, name))
    })
}

fn wrong_member(recording: &Recording<'_>) -> Vec<Edit> {
    let places = due(recording).filter_map(|(work, _)| {
        let other = stranger(recording, binding(recording, work)?)?;
        let mut edit = with_copy(recording, work, None, work.never());
        edit.push(elsewhere(work, other, &work.versions.last()?.object));
        Some(edit)
    });
    places.collect()
}

fn causeless(recording: &Recording<'_>) -> Vec<Edit> {
    let places = works(recording).filter_map(|(work, binding, _)| {
        let other = stranger(recording, binding)?;
        let created = work.created()?;
        let calm = recording.is_untroubled(other, created, created + recording.beyond(0.0));
        calm.then(|| vec![elsewhere(work, other, &work.versions[0].object)])
    });
    places.collect()
}

fn twice(recording: &Recording<'_>) -> Vec<Edit> {
    let places = works(recording).filter_map(|(work, ..)| {
        let at = work.created()?;
        let mut second = work.versions[0].object.clone();
        second["metadata"]["name"] = json!(format!("{}-second", work.short()));
        let until = work.removal().map_or(recording.end, |number| work.versions[number].at);
        (until > at + 0.1).then(|| vec![work.insert(at + 0.02, EventType::Added, second)])
    });
    places.collect()
}

/// Returns the Works of workloads that leave a member.
/// Each Work has the version of the deletion, and the time when the deletion is overdue.
fn recalled<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    works(recording).filter_map(move |(work, binding, member)| {
        let number = work.deletion().filter(|number| *number > 0)?;
        let at = work.versions[number].at;
        let due = at + recording.beyond(3.0 * recording.timing("recheck"));
        let left = |object: &Value| !is_target(object, member) && !is_evicted(object, member);
        let gone = binding.at(due).is_none();
        let left = gone || binding.holds(at, due + 0.5, left);
        let is_leaving = recording.member(member).is_some_and(|member| !member.stays(at, due));
        (left && !is_leaving && recording.is_untroubled(member, at, due + 0.5)).then_some((work, number, due))
    })
}

fn stays(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let edit = |(work, number, due): (&Track, usize, f64)| {
        let mut edit = work.survives(number, late.then_some(due));
        if let Some(copy) = copy_of(recording, work)
            && let Some(removal) = copy.removal()
            && copy.versions[removal].at >= work.versions[number].at - 0.5
        {
            edit.extend(copy.survives(removal, late.then_some(due + 0.05)));
        }
        edit
    };
    recalled(recording).map(edit).collect()
}

/// The deletion of a Work begins and never ends, although its member answers.
fn not_gone(recording: &Recording<'_>) -> Vec<Edit> {
    let places = recalled(recording).filter_map(|(work, number, _)| {
        let removal = work.removal()?;
        let mut edit = without(&work.versions[removal..]);
        if let Some(copy) = copy_of(recording, work)
            && let Some(removal) = copy.removal()
        {
            edit.extend(copy.survives(removal, None));
        }
        let begun = &work.versions[number];
        (removal > number && is_leaving(&begun.object)).then_some(edit)
    });
    places.collect()
}

/// The old Work is deleted while its eviction goes on, and the replacement is not healthy.
fn old_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (work, binding, member) in works(recording) {
        for number in binding.begins(|object| is_evicted(object, member)) {
            let begin = binding.versions[number].at;
            let end = binding.holds_until(number, recording.end, |object| is_evicted(object, member));
            let at = f64::midpoint(begin, end).min(begin + recording.timing("gracefulEvictionTimeout") / 2.0);
            let graceful = task(&binding.versions[number].object, member)
                .is_some_and(|task| !matches!(task["purgeMode"].as_str(), Some("Immediately" | "Directly")));
            let healthy = |object: &Value| {
                items(object, "/spec/clusters").iter().all(|one| {
                    crate::object::health(object, one["name"].as_str().unwrap_or_default()) == "Healthy"
                })
            };
            let open = binding.holds(begin, end.min(at + 0.5), |object| !healthy(object));
            let leaving = recording.member(member).is_some_and(|member| !member.stays(begin, end));
            if graceful
                && open
                && !leaving
                && end - begin > 0.5
                && work.stays(begin, at + 0.1)
                && recording.is_calm(begin, at)
            {
                edits.push(work.lose(at, None));
            }
        }
    }
    edits
}

fn bump(number: &mut Value) -> bool {
    let old = number.as_u64();
    if let Some(old) = old {
        *number = json!(old + 3);
    }
    old.is_some()
}

fn container(object: &mut Value) -> Option<&mut Value> {
    object.pointer_mut("/spec/template/spec/containers/0")
}

fn image(object: &mut Value) -> bool {
    container(object).is_some_and(|it| {
        it["image"] = json!("registry.example/other:9");
        true
    })
}

fn environment(object: &mut Value) -> bool {
    container(object).is_some_and(|it| {
        it["env"] = json!([{"name": "MODE", "value": "other"}]);
        true
    })
}

fn data(object: &mut Value) -> bool {
    let is_data = object["data"].as_object().is_some_and(|data| !data.is_empty());
    if is_data {
        object["data"] = json!({"other": "b3RoZXI="});
    }
    is_data
}

/// The times during which a Work is settled: its template, binding and member do not change.
fn calm_times<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64, f64)> {
    works(recording).filter_map(move |(work, binding, member)| {
        let from = work.versions.first()?.at;
        let (kind, name) = wanted(&work.versions[0].object);
        let track = recording.track("control-plane", &kind, &name)?;
        let until = from + recording.beyond(0.0);
        let held = |object: &Value| is_target(object, member) && !is_evicted(object, member);
        let spec = track.object_at(until)?["spec"].clone();
        let settled = track.holds(until - 0.01, until, |object| object["spec"] == spec);
        let stays = work.stays(from, until)
            && binding.holds(from.max(binding.versions[0].at), until, held)
            && track.stays(from, until);
        (settled && stays && recording.is_calm(from, until)).then_some((work, from, until))
    })
}

/// Every version of a Work has another content.
fn content(recording: &Recording<'_>, change: impl Fn(&mut Value) -> bool) -> Vec<Edit> {
    let places = calm_times(recording).filter_map(|(work, from, _)| {
        let mut object = work.versions[0].object.clone();
        change(manifest(&mut object)).then(|| {
            work.alter(from, None, |object| {
                change(manifest(object));
            })
        })
    });
    places.collect()
}

fn label_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let own = |labels: &Value| {
        let labels = labels.as_object()?;
        labels.keys().find(|key| !key.contains("karmada.io")).cloned()
    };
    let places = calm_times(recording).filter_map(|(work, from, _)| {
        let (kind, name) = wanted(&work.versions[0].object);
        let template = recording.track("control-plane", &kind, &name)?;
        let key = own(&template.versions[0].object["metadata"]["labels"])?;
        Some(work.alter(from, None, |object| {
            if let Some(labels) = manifest(object)["metadata"]["labels"].as_object_mut() {
                labels.remove(&key);
            }
        }))
    });
    places.collect()
}

const MANIFESTS: [&str; 1] = ["/spec/workload"];

/// The versions with which a Work follows a change of its template.
fn updates<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    works(recording).flat_map(move |(work, binding, member)| {
        let pairs = work.versions.windows(2).enumerate();
        pairs.filter_map(move |(before, pair)| {
            let spec = |object: &Value| object["spec"]["workload"]["manifests"][0]["spec"].clone();
            let changed = spec(&pair[0].object) != spec(&pair[1].object);
            let at = pair[1].at;
            let due = at + recording.beyond(0.0);
            let now = spec(&pair[1].object);
            let held = |object: &Value| is_assigned(object, member) && !is_evicted(object, member);
            let same = work.holds(at, due, |object| spec(object) == now) && binding.holds(at, due, held);
            (changed && same && recording.is_untroubled(member, at, due)).then_some((work, before + 1, due))
        })
    })
}

fn stale(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let places = updates(recording).filter(|(_, _, due)| !late || due + 0.5 < recording.end);
    places.map(|(work, number, due)| work.hold(number, late.then_some(due), &MANIFESTS)).collect()
}

fn reverted(recording: &Recording<'_>) -> Vec<Edit> {
    let places =
        updates(recording).filter(|(_, _, due)| recording.is_calm(*due, due + recording.beyond(0.0)));
    let edit = |(work, number, due): (&Track, usize, f64)| {
        let before = work.versions[number - 1].object.clone();
        work.alter(due, None, |object| crate::object::copy(object, &before, &MANIFESTS))
    };
    places.map(edit).collect()
}

fn changed_while_leaving(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (work, binding, member) in works(recording) {
        for number in binding.begins(|object| is_evicted(object, member)) {
            let begin = binding.versions[number].at;
            let end = binding.holds_until(number, recording.end, |object| is_evicted(object, member));
            let at = begin + 0.5 + 1.5 * recording.timing("latency");
            let chosen =
                binding.holds(begin, end.min(recording.end) - 0.01, |object| !is_target(object, member));
            let mut probe = work.versions[0].object.clone();
            if at + 0.2 < end
                && chosen
                && work.stays(begin, at + 0.1)
                && recording.is_calm(begin, at)
                && image(manifest(&mut probe))
            {
                edits.push(work.alter(at, Some(end), |object| {
                    image(manifest(object));
                }));
            }
        }
    }
    edits
}

/// With the purge mode Directly, the new Work comes while the old copy still exists.
fn before_the_purge(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (work, binding, member) in works(recording) {
        let Some(created) = work.created() else { continue };
        for number in binding.begins(|object| is_target(object, member)) {
            let chosen = binding.versions[number].at;
            let direct = crate::object::tasks(&binding.versions[number].object)
                .iter()
                .find(|task| task["purgeMode"] == "Directly" || task["purgeMode"] == "Immediately");
            let Some(left) = direct.and_then(|task| task["fromCluster"].as_str()) else { continue };
            let old = works(recording)
                .find(|(old, of, on)| old.name != work.name && of.name == binding.name && *on == left);
            let Some(gone) = old.and_then(|(old, ..)| Some(old.versions[old.removal()?].at)) else {
                continue;
            };
            let early = chosen + 0.6 * (gone - chosen);
            if recording.has(Feature::PurgeModes)
                && created > gone
                && gone - early > 0.005
                && recording.is_calm(chosen, created)
            {
                let added = work.insert(early, EventType::Added, work.versions[0].object.clone());
                edits.push(vec![added, Change::Remove(work.versions[0].place)]);
            }
        }
    }
    edits
}

/// The labels of the preserved state are missing in the manifest of the new copy.
fn state_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (work, binding, member) in works(recording).filter(|_| recording.has(Feature::PreservedState)) {
        let Some(created) = work.created() else { continue };
        let Some(now) = binding.object_at(created) else { continue };
        let states =
            crate::object::tasks(now).iter().filter_map(|task| task["preservedLabelState"].as_object());
        let keys: Vec<String> = states.flat_map(|state| state.keys().cloned()).collect();
        let labels = &work.versions[0].object["spec"]["workload"]["manifests"][0]["metadata"]["labels"];
        if is_target(now, member)
            && keys.iter().any(|key| !labels[key].is_null())
            && recording.is_calm(created, created)
        {
            edits.push(work.alter(created, None, |object| {
                if let Some(labels) = manifest(object)["metadata"]["labels"].as_object_mut() {
                    labels.retain(|key, _| !keys.contains(key));
                }
            }));
        }
    }
    edits
}

/// A Work whose dispatching is suspended is not marked as suspended.
fn dispatched(recording: &Recording<'_>) -> Vec<Edit> {
    let places = works(recording).filter_map(|(work, _, member)| {
        let is_suspended = |object: &Value| object["spec"]["suspendDispatching"] == true;
        let number = work.versions.iter().position(|version| is_suspended(&version.object))?;
        let at = work.versions[number].at;
        let until = work.holds_until(number, recording.end, is_suspended);
        let due = at + recording.beyond(0.0);
        let counts = recording.has(Feature::SuspendedDispatching)
            && due < until
            && recording.is_untroubled(member, at, due);
        counts.then(|| {
            work.alter(at, Some(until), |object| object["spec"]["suspendDispatching"] = json!(false))
        })
    });
    places.collect()
}
