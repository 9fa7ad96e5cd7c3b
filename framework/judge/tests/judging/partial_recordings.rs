//! Tests that missing parts of a recording never lead to a violation.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use capsize_history::{CONTROL_PLANE, Entry, Kind, Observer};
use serde_json::Value;

use crate::perturbed_recordings::{recorded, violated};

/// The recordings, and the profile that each is judged by.
fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/recordings");
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> =
            entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let releases = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut releases: Vec<_> = releases.map(|release| release.into_string().unwrap()).collect();
    releases.retain(|release| {
        release.starts_with("karmada-") || release.starts_with("nodes-") || release == "ocm"
    });
    releases.sort();
    let of = |release: &String| {
        let target = match release.strip_prefix("nodes-") {
            Some(version) => format!("kube-controller-manager-{version}"),
            None if release == "ocm" => release.clone(),
            None => release.rsplit_once('.').unwrap().0.to_owned(),
        };
        let named = move |name| (format!("{release}/{name}"), target.clone());
        names(&folder.join(release)).into_iter().map(named).collect::<Vec<_>>()
    };
    releases.iter().flat_map(of).collect()
}

#[test]
fn a_recording_that_begins_late_violates_nothing_that_the_whole_one_does_not() {
    let recordings = recordings();
    assert!(recordings.len() > 10, "the recordings are not where they were");
    for (name, target) in recordings {
        let (entries, profile) = recorded(&name, &target);
        let whole = violated(entries.clone(), &profile);
        for begin in (1..entries.len()).step_by(1 + entries.len() / 100) {
            let late: Vec<Entry> = entries[..1].iter().chain(&entries[begin..]).cloned().collect();
            let more: Vec<_> =
                violated(late, &profile).into_iter().filter(|id| !whole.contains(id)).collect();
            assert!(more.is_empty(), "{name} from entry {begin} on violates {more:?}");
        }
    }
}

/// The cluster that the mark of an observer names.
fn observer(entry: &Entry) -> Option<String> {
    let Kind::Mark(mark) = &entry.kind else { return None };
    Observer::of(mark).ok().flatten().map(|observer| observer.on)
}

/// Returns the parts that a recorder may not have watched.
/// Such a part is all of a member, a kind everywhere, or a kind in one cluster.
fn watched(entries: &[Entry]) -> BTreeSet<(Option<String>, Option<String>)> {
    let watched = entries.iter().filter_map(|entry| match &entry.kind {
        Kind::Event { on, object, .. } => Some((on.to_string(), object.kind().into_owned())),
        Kind::Mark(_) => None,
    });
    let is_marked = entries.iter().any(|entry| observer(entry).is_some());
    let each = |(on, kind): (String, String)| {
        let member = (on != CONTROL_PLANE).then(|| (Some(on.clone()), None));
        // A mark says that all kinds of the cluster are observed.
        let of_cluster = (!is_marked).then(|| (Some(on), Some(kind.clone())));
        std::iter::once((None, Some(kind))).chain(of_cluster).chain(member)
    };
    watched.flat_map(each).collect()
}

#[test]
fn a_recording_without_a_member_or_a_kind_violates_nothing_that_the_whole_one_does_not() {
    for (name, target) in recordings() {
        let (entries, profile) = recorded(&name, &target);
        let whole = violated(entries.clone(), &profile);
        for (cluster, kind) in watched(&entries) {
            let is_left_out = |entry: &&Entry| match &entry.kind {
                Kind::Event { on, object, .. } => {
                    cluster.as_ref().is_none_or(|cluster| **on == **cluster)
                        && kind.as_ref().is_none_or(|kind| object.kind() == *kind)
                }
                Kind::Mark(_) => kind.is_none() && observer(entry).is_some() && observer(entry) == cluster,
            };
            let rest: Vec<Entry> = entries.iter().filter(|entry| !is_left_out(entry)).cloned().collect();
            let more: Vec<_> =
                violated(rest, &profile).into_iter().filter(|id| !whole.contains(id)).collect();
            assert!(more.is_empty(), "{name} without {kind:?} of {cluster:?} violates {more:?}");
        }
    }
}

/// Leaves out a part of an object of this cluster.
type Redaction = fn(on: &str, object: &mut Value);

/// Removes the field at the end of this path, if it is there.
fn remove(object: &mut Value, path: &[&str]) {
    let Some((last, before)) = path.split_last() else { return };
    let parent = before.iter().try_fold(object, |value, name| value.get_mut(*name));
    parent.and_then(Value::as_object_mut).map(|fields| fields.remove(*last));
}

/// The manifests of a Work.
fn manifests(object: &mut Value) -> &mut [Value] {
    let of_work = object["kind"] == "Work";
    let manifests = object.pointer_mut("/spec/workload/manifests").filter(|_| of_work);
    manifests.and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// The parts that a recorder may leave out.
const REDACTIONS: [(&str, Redaction); 8] = [
    ("annotations", |_, object| {
        remove(object, &["metadata", "annotations"]);
        manifests(object).iter_mut().for_each(|each| remove(each, &["metadata", "annotations"]));
    }),
    ("generations", |_, object| remove(object, &["metadata", "generation"])),
    ("pod templates of manifests", |_, object| {
        manifests(object).iter_mut().for_each(|each| remove(each, &["spec", "template"]));
    }),
    ("data of manifests", |_, object| {
        manifests(object).iter_mut().for_each(|each| remove(each, &["data"]));
    }),
    ("pod templates in members", |on, object| {
        if on != CONTROL_PLANE {
            remove(object, &["spec", "template"]);
        }
    }),
    ("pod templates in the control plane", |on, object| {
        if on == CONTROL_PLANE && object["kind"] == "Deployment" {
            remove(object, &["spec", "template"]);
        }
    }),
    ("status in members", |on, object| {
        if on != CONTROL_PLANE {
            remove(object, &["status"]);
        }
    }),
    ("status in records", |_, object| {
        let items = object.pointer_mut("/status/aggregatedStatus").and_then(Value::as_array_mut);
        items.into_iter().flatten().for_each(|item| remove(item, &["status"]));
    }),
];

#[test]
fn a_recording_of_karmada_with_redacted_parts_violates_nothing_that_the_whole_one_does_not() {
    for (name, target) in recordings().into_iter().filter(|(name, _)| name.starts_with("karmada-")) {
        let (entries, profile) = recorded(&name, &target);
        let whole = violated(entries.clone(), &profile);
        for (part, redact) in REDACTIONS {
            let one = |entry: &Entry| {
                let Kind::Event { on, event, object } = &entry.kind else { return entry.clone() };
                let mut object = object.value();
                redact(on, &mut object);
                Entry::event(entry.at, Arc::clone(on), *event, object.into())
            };
            let redacted = violated(entries.iter().map(one).collect(), &profile);
            let more: Vec<_> = redacted.into_iter().filter(|id| !whole.contains(id)).collect();
            assert!(more.is_empty(), "{name} without the {part} violates {more:?}");
        }
    }
}
