//! Wrong behaviour about the copies in members.

use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::{Change, Edit};
use crate::object::{condition, wanted};
use crate::recording::Recording;
use crate::track::Track;

const COPY: &[&str] = &["DELIVERY-04"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("copy-never", ViolationKind::Never, COPY, |all| missing(all, false)),
    Class::new("copy-too-late", ViolationKind::TooLate, COPY, |all| missing(all, true)),
    Class::new("copy-lost", ViolationKind::Lost, COPY, lost),
    Class::new("copy-with-other-replicas", ViolationKind::Other, COPY, |all| drifted(all, replicas)),
    Class::new("copy-with-another-image", ViolationKind::Other, COPY, |all| drifted(all, image)),
    Class::new("copy-with-other-environment", ViolationKind::Other, COPY, |all| drifted(all, environment)),
    Class::new("copy-with-other-data", ViolationKind::Other, COPY, |all| drifted(all, data)),
    Class::new("copy-not-updated", ViolationKind::Stale, COPY, not_updated),
    Class::new("copy-stays", ViolationKind::Stale, &["DELIVERY-05"], |all| stays(all, false)),
    Class::new("copy-stays-too-long", ViolationKind::TooLate, &["DELIVERY-05"], |all| stays(all, true)),
    Class::new("copy-comes-back", ViolationKind::Undone, &["DELIVERY-05"], comes_back),
];

/// The Works with their copies and members.
fn pairs<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Track, &'r str)> {
    recording.tracks("Work").filter_map(|work| {
        let member = work.namespace().strip_prefix("karmada-es-")?;
        let (kind, name) = wanted(&work.versions.first()?.object);
        Some((work, recording.track(member, &kind, &name)?, member))
    })
}

/// Whether the Work asks for the copy all the time, and is not suspended.
fn asks(work: &Track, from: f64, until: f64) -> bool {
    let manifest = |object: &Value| object["spec"]["workload"].clone();
    let Some(asked) = work.object_at(until).map(manifest) else { return false };
    let last = work.object_at(until).is_some_and(|object| condition(object, "Applied") == "True");
    last && work.stays(from, until)
        && work.holds(from, until, |object| {
            object["spec"]["suspendDispatching"] != true && manifest(object) == asked
        })
}

fn missing(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    let places = pairs(recording).filter_map(|(work, copy, member)| {
        let created = copy.created().filter(|_| work.created().is_some())?;
        let due = created + recording.beyond(0.0);
        let calm =
            asks(work, created, due + 0.2) && recording.is_untroubled(member, work.created()?, due + 0.2);
        let single = copy.removal().is_none_or(|number| copy.versions[number].at > due)
            && recording.shows(member, copy, created)
            && recording.shows_kind(copy, due)
            && recording.member(member).is_some_and(|member| member.stays(created, due));
        (calm && single).then(|| if late { copy.created_at(due) } else { copy.never() })
    });
    places.collect()
}

/// Whether the copy carries the name of its Work.
fn is_managed(copy: &Value) -> bool {
    let metadata = &copy["metadata"];
    ["labels", "annotations"].iter().any(|part| !metadata[*part]["work.karmada.io/name"].is_null())
}

/// The moments at which a copy could be changed, and nobody has a reason to.
fn settled<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64)> {
    let lasting = recording.beyond(0.0);
    pairs(recording).flat_map(move |(work, copy, member)| {
        let moments = recording.moments(lasting).into_iter();
        let is_settled = move |at: &f64| {
            asks(work, at - 1.0, at + lasting)
                && copy.stays(at - 1.0, at + lasting)
                && recording.is_untroubled(member, at - 1.0, at + lasting)
                && recording.member(member).is_some_and(|member| member.stays(at - 1.0, at + lasting))
                && copy.object_at(*at).is_some_and(is_managed)
                && !recording
                    .steps()
                    .any(|(step, mark)| (step - at).abs() < lasting && mark.contains_key("object"))
        };
        moments.filter(is_settled).map(move |at| (copy, at))
    })
}

fn lost(recording: &Recording<'_>) -> Vec<Edit> {
    settled(recording).map(|(copy, at)| copy.lose(at, None)).collect()
}

fn container(object: &mut Value) -> Option<&mut Value> {
    object.pointer_mut("/spec/template/spec/containers/0")
}

fn replicas(object: &mut Value) -> bool {
    let old = object["spec"]["replicas"].as_u64();
    if let Some(old) = old {
        object["spec"]["replicas"] = json!(old + 2);
    }
    old.is_some()
}

fn image(object: &mut Value) -> bool {
    container(object).map(|it| it["image"] = json!("registry.example/other:9")).is_some()
}

fn environment(object: &mut Value) -> bool {
    container(object).map(|it| it["env"] = json!([{"name": "MODE", "value": "other"}])).is_some()
}

fn data(object: &mut Value) -> bool {
    let is_data =
        object["kind"] == "ConfigMap" && object["data"].as_object().is_some_and(|data| !data.is_empty());
    if is_data {
        object["data"] = json!({"other": "value"});
    }
    is_data
}

fn drifted(recording: &Recording<'_>, change: impl Fn(&mut Value) -> bool) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(copy, at)| {
        let mut object = copy.object_at(at)?.clone();
        change(&mut object).then(|| {
            copy.alter(at, None, |object| {
                change(object);
            })
        })
    });
    places.collect()
}

fn not_updated(recording: &Recording<'_>) -> Vec<Edit> {
    let places = pairs(recording).flat_map(|(work, copy, member)| {
        let windows = copy.versions.windows(2).enumerate();
        windows.filter_map(move |(before, pair)| {
            let (was, now) = (&pair[0].object["spec"], &pair[1].object["spec"]);
            let at = pair[1].at;
            let due = at + recording.beyond(0.0);
            let asked = work.object_at(at)?["spec"]["workload"]["manifests"][0]["spec"].clone();
            let differs = ["replicas", "template"]
                .iter()
                .any(|part| was[*part] != now[*part] && !asked[*part].is_null());
            let same = asks(work, at, due) && copy.holds(at, due, |object| &object["spec"] == now);
            let by_work = work.begins(|object| object["spec"]["workload"]["manifests"][0]["spec"] == asked);
            let caused = by_work.iter().any(|number| {
                work.versions[*number].at <= at
                    && at - work.versions[*number].at < 2.0 + recording.timing("latency")
            });
            (differs && caused && same && recording.is_untroubled(member, at - 1.0, due))
                .then(|| copy.hold(before + 1, None, &["/spec"]))
        })
    });
    places.collect()
}

/// The copies that go with their Works, with the version of the end and the time when it is overdue.
fn deleted<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize, f64)> {
    pairs(recording).filter_map(move |(work, copy, member)| {
        let number = copy.deletion()?;
        let gone = work.versions[work.removal()?].at;
        let at = copy.versions[number].at;
        let due = gone.max(at) + recording.beyond(0.0);
        let preserved =
            work.versions.iter().any(|version| version.object["spec"]["preserveResourcesOnDeletion"] == true);
        let again = recording.tracks("Work").filter(|other| {
            other.namespace() == work.namespace()
                && wanted(&other.versions[0].object) == wanted(&work.versions[0].object)
        });
        let single = again.count() == 1 && work.at(due).is_none() && copy.at(due).is_none();
        let present = recording.member(member).is_some_and(|member| member.stays(at, due));
        (single && present && !preserved && recording.is_untroubled(member, at.min(gone), due + 0.2))
            .then_some((copy, number, due))
    })
}

fn stays(recording: &Recording<'_>, late: bool) -> Vec<Edit> {
    deleted(recording).map(|(copy, number, due)| copy.survives(number, late.then_some(due))).collect()
}

fn comes_back(recording: &Recording<'_>) -> Vec<Edit> {
    let places =
        deleted(recording).filter(|(_, _, due)| recording.is_calm(*due, due + recording.beyond(0.0)));
    let edit = |(copy, number, due): (&Track, usize, f64)| {
        let mut last = copy.versions[number.saturating_sub(1)].object.clone();
        last["metadata"]["uid"] = json!("4d3c1f6a-0000-4000-8000-000000000001");
        vec![Change::Insert(due, copy.on.clone(), capsize_history::EventType::Added, last)]
    };
    places.map(edit).collect()
}
