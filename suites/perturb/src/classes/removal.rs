//! Wrong behaviour about members that are removed.

use serde_json::json;

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{clusters, is_assigned, is_evicted, is_leaving, items};
use crate::recording::Recording;
use crate::track::{Track, without};

pub(super) const CLASSES: &[Class] = &[
    Class::new("removed-member-stays", ViolationKind::Never, &["LIVENESS-03"], stays),
    Class::new("assigned-to-a-member-that-is-gone", ViolationKind::Stale, &["LIVENESS-04"], still_assigned),
    Class::new(
        "manifests-of-a-removed-member-stay",
        ViolationKind::Stale,
        &["LIVENESS-05", "RECOVERY-01", "DELIVERY-02"],
        manifests_stay,
    ),
];

/// The clusters that are removed, with the time when the removal ends.
fn removed<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64)> {
    recording.tracks("Cluster").filter_map(move |member| {
        let at = member.versions[member.removal()?].at;
        let begun = member.versions[member.deletion()?].at;
        recording.is_calm(begun, at).then_some((member, at))
    })
}

fn stays(recording: &Recording<'_>) -> Vec<Edit> {
    let places = removed(recording).filter_map(|(member, at)| {
        let due = at + recording.beyond(3.0 * recording.timing("recheck"));
        let begun = is_leaving(&member.versions[member.deletion()?].object);
        let number = member.removal()?;
        (begun && number > 0 && recording.is_calm(at, due)).then(|| without(&member.versions[number..]))
    });
    places.collect()
}

fn still_assigned(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (member, at) in removed(recording) {
        let due = at + recording.beyond(recording.timing("latency"));
        let name = member.short();
        for binding in recording.bindings() {
            let left = binding.begins(|object| !is_assigned(object, name));
            let last = left.into_iter().rfind(|number| binding.versions[*number].at <= at + 0.5);
            let evicted = binding.at(due).is_none_or(|version| is_evicted(&version.object, name));
            if let Some(number) =
                last.filter(|_| !evicted && binding.stays(at, due) && recording.is_calm(at, due))
            {
                let mut was = items(&binding.versions[number - 1].object, "/spec/clusters").iter();
                let Some(kept) = was.find(|one| one["name"] == name) else { continue };
                edits.push(binding.alter(binding.versions[number].at, None, |object| {
                    if !is_assigned(object, name) {
                        clusters(object).push(kept.clone());
                    }
                    object["spec"]["gracefulEvictionTasks"] = json!(null);
                }));
            }
        }
    }
    edits
}

fn manifests_stay(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (member, at) in removed(recording) {
        let namespace = format!("karmada-es-{}", member.short());
        let due = at + recording.beyond(3.0 * recording.timing("recheck") + recording.timing("silentProbe"));
        for work in recording.tracks("Work").filter(|work| work.namespace() == namespace) {
            let Some(number) = work.deletion().filter(|number| *number > 0) else { continue };
            let begun = work.versions[number].at;
            if recording.is_calm(begun, due) && work.removal().is_some() {
                let mut edit = work.survives(number, None);
                // The member cannot be gone before its manifests.
                let number = member.removal().unwrap_or_default();
                edit.extend(without(&member.versions[number..]));
                edits.push(edit);
            }
        }
    }
    edits
}
