//! Makes variants of a history: parts of it, and forms with less information or other clocks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_history::{CONTROL_PLANE, Entry, EventType, Kind};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The error of the clock of an observed cluster, and the delay of its events.
const CLOCK_OFFSET: Duration = Duration::from_millis(700);

/// How far the clock of the control plane is set forward.
const SKEW: SignedDuration = SignedDuration::from_secs(20);

/// A variant of a history, made when it is judged.
pub(super) type Variant<'a> = Box<dyn FnOnce() -> Vec<Entry> + 'a>;

/// A form of a history with less information: its name, and the function that makes it.
type Form = (&'static str, fn(&[Entry]) -> Vec<Entry>);

const FORMS: [Form; 6] = [
    ("as it is", |entries| entries.to_vec()),
    ("without marks", without_marks),
    ("redacted as `record` does", |entries| redacted(&without_marks(entries))),
    ("without the specifications of manifests", without_manifests),
    ("without times of taints", |entries| changed(entries, "Cluster", without_time_added)),
    ("as `record` does, with redacted manifests", |entries| {
        without_manifests(&redacted(&without_marks(entries)))
    }),
];

/// All variants of a recording with their names.
pub(super) fn variants(entries: &[Entry]) -> Vec<(String, Variant<'_>)> {
    let end = entries.last().unwrap().at;
    let mut all: Vec<(String, Variant<'_>)> = Vec::new();
    for (form, less) in FORMS {
        all.push((form.to_owned(), Box::new(move || less(entries))));
        for tenth in 1..10 {
            let at = end * tenth / 10;
            let mut add = |part: &str, make: fn(&[Entry], Duration) -> Vec<Entry>| {
                let name = format!("{form}, {part} {tenth} tenths");
                all.push((name, Box::new(move || make(&less(entries), at))));
            };
            add("cut after", cut);
            add("begun in the middle after", begun_in_the_middle);
            add("listed after", listed);
            add("recorded from", recorded_from);
        }
    }
    let clusters: BTreeSet<String> =
        entries.iter().filter_map(|entry| on(entry).map(str::to_owned)).collect();
    for cluster in clusters {
        let name = format!("with a wrong clock of the recorder of {cluster}");
        let of = cluster.clone();
        all.push((name, Box::new(move || with_clock_offset(entries, &of))));
        all.push((format!("with late events of {cluster}"), Box::new(move || late(entries, &cluster))));
    }
    // The header of a run says that events are recorded, and that policies may set taints.
    let may_be_missing = |kind: &String| !matches!(&**kind, "Event" | "ClusterTaintPolicy");
    let kinds: BTreeSet<String> = entries.iter().filter_map(kind).filter(may_be_missing).collect();
    for left_out in kinds {
        all.push((format!("without any {left_out}"), Box::new(move || without_kind(entries, &left_out))));
    }
    let members: BTreeSet<String> =
        entries.iter().filter_map(on).filter(|on| *on != CONTROL_PLANE).map(str::to_owned).collect();
    for member in members {
        let name = format!("without the contents of {member}");
        all.push((name, Box::new(move || without_member(entries, &member))));
    }
    for tenth in 0..10 {
        let at = end * tenth / 10;
        let name = format!("with the clock of the control plane set after {tenth} tenths");
        all.push((name, Box::new(move || with_skew(entries, at))));
    }
    all
}

fn on(entry: &Entry) -> Option<&str> {
    match &entry.kind {
        Kind::Event { on, .. } => Some(on),
        Kind::Mark(_) => None,
    }
}

fn kind(entry: &Entry) -> Option<String> {
    match &entry.kind {
        Kind::Event { object, .. } => Some(object.kind().into_owned()),
        Kind::Mark(_) => None,
    }
}

/// As if the recorder did not watch a kind.
fn without_kind(entries: &[Entry], left_out: &str) -> Vec<Entry> {
    entries.iter().filter(|entry| kind(entry).as_deref() != Some(left_out)).cloned().collect()
}

/// As if the recorder did not watch a member.
fn without_member(entries: &[Entry], member: &str) -> Vec<Entry> {
    let is_of_it = |entry: &&Entry| on(entry) == Some(member) || observes(entry, member);
    entries.iter().filter(|entry| !is_of_it(entry)).cloned().collect()
}

/// The history up to `end`.
fn cut(entries: &[Entry], end: Duration) -> Vec<Entry> {
    entries.iter().filter(|entry| entry.at <= end).cloned().collect()
}

/// The header, and the entries from `begin` on.
fn begun_in_the_middle(entries: &[Entry], begin: Duration) -> Vec<Entry> {
    entries[..1].iter().chain(entries[1..].iter().filter(|entry| entry.at >= begin)).cloned().collect()
}

/// A recording that begins at `begin`: the header and all objects of that time, then the later entries.
fn listed(entries: &[Entry], begin: Duration) -> Vec<Entry> {
    let mut objects: BTreeMap<(String, String, String, String), Entry> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.at < begin) {
        let Kind::Event { on, event, object } = &entry.kind else { continue };
        let value = object.value();
        let name = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = (on.to_string(), object.kind().into_owned(), name("namespace"), name("name"));
        if *event == EventType::Deleted {
            objects.remove(&key);
        } else {
            objects.insert(key, Entry::event(begin, on.clone(), EventType::Added, value.into()));
        }
    }
    let mut header = entries[0].clone();
    header.at = begin;
    let later = entries[1..].iter().filter(|entry| entry.at >= begin).cloned();
    [header].into_iter().chain(objects.into_values()).chain(later).collect()
}

/// The same, with times that count from `begin`. Such a recorder knows of no scenario.
fn recorded_from(entries: &[Entry], begin: Duration) -> Vec<Entry> {
    let mut all = listed(entries, begin);
    all.iter_mut().for_each(|entry| entry.at -= begin);
    if let Kind::Mark(header) = &mut all[0].kind {
        header.remove("scenario");
        if let Some(start) = header.get("start").and_then(Value::as_str) {
            let start = start.parse::<Timestamp>().unwrap() + SignedDuration::try_from(begin).unwrap();
            header.insert("start".to_owned(), json!(start.to_string()));
        }
    }
    all
}

/// Without marks of faults and steps, and without the name of a scenario.
fn without_marks(entries: &[Entry]) -> Vec<Entry> {
    let mut all: Vec<Entry> = entries.to_vec();
    if let Kind::Mark(header) = &mut all[0].kind {
        header.remove("scenario");
    }
    let mut place = 0;
    all.retain(|entry| {
        place += 1;
        place == 1
            || matches!(&entry.kind, Kind::Mark(mark) if mark.contains_key("observer"))
            || on(entry).is_some()
    });
    all
}

/// Applies `change` to all objects of this kind.
fn changed(entries: &[Entry], kind: &str, change: fn(&mut Value)) -> Vec<Entry> {
    let one = |entry: &Entry| match &entry.kind {
        Kind::Event { on, event, object } if kind.is_empty() || object.kind() == kind => {
            let mut value = object.value();
            change(&mut value);
            Entry::event(entry.at, on.clone(), *event, value.into())
        }
        _ => entry.clone(),
    };
    entries.iter().map(one).collect()
}

fn without_manifests(entries: &[Entry]) -> Vec<Entry> {
    changed(entries, "Work", |work| {
        let manifests = work.pointer_mut("/spec/workload/manifests").and_then(Value::as_array_mut);
        for manifest in manifests.into_iter().flatten() {
            manifest.as_object_mut().unwrap().remove("spec");
        }
    })
}

/// Replaces the values of Secrets, as `capsize record` does.
fn redacted(entries: &[Entry]) -> Vec<Entry> {
    changed(entries, "", capsize_runner::record::redact)
}

fn without_time_added(cluster: &mut Value) {
    for taint in cluster["spec"]["taints"].as_array_mut().into_iter().flatten() {
        taint.as_object_mut().unwrap().remove("timeAdded");
    }
}

/// Marks how exactly a cluster is observed.
fn observer(cluster: &str, latency: f64, offset: f64) -> Entry {
    let mark = json!({"observer": {"on": cluster, "latency": latency, "clockOffset": offset}});
    Entry { at: Duration::ZERO, kind: Kind::Mark(mark.as_object().unwrap().clone()) }
}

/// Returns true if the recorder marks how exactly it observes `cluster`.
fn observes(entry: &Entry, cluster: &str) -> bool {
    matches!(&entry.kind, Kind::Mark(mark) if mark.get("observer").is_some_and(|observer| observer["on"] == cluster))
}

/// The events of `cluster` come later by `by`, as `marked` says.
fn delayed(entries: &[Entry], cluster: &str, by: Duration, mut marked: Entry) -> Vec<Entry> {
    marked.at = entries[0].at;
    let mut all: Vec<Entry> = entries.iter().filter(|entry| !observes(entry, cluster)).cloned().collect();
    all.iter_mut().filter(|entry| on(entry) == Some(cluster)).for_each(|entry| entry.at += by);
    all.insert(1, marked);
    all[2..].sort_by_key(|entry| entry.at);
    all
}

fn with_clock_offset(entries: &[Entry], cluster: &str) -> Vec<Entry> {
    delayed(entries, cluster, CLOCK_OFFSET, observer(cluster, 0.0, CLOCK_OFFSET.as_secs_f64()))
}

fn late(entries: &[Entry], cluster: &str) -> Vec<Entry> {
    delayed(entries, cluster, CLOCK_OFFSET, observer(cluster, CLOCK_OFFSET.as_secs_f64(), 0.0))
}

/// From `begin` on the clock of the control plane is fast, and so are the stamps of its controllers.
fn with_skew(entries: &[Entry], begin: Duration) -> Vec<Entry> {
    let Some(start) = entries.iter().filter_map(wall_start).max() else { return entries.to_vec() };
    let since = start + SignedDuration::try_from(begin).unwrap();
    let mut all: Vec<Entry> = entries.to_vec();
    for entry in all.iter_mut().filter(|entry| on(entry) == Some(CONTROL_PLANE)) {
        let Kind::Event { on, event, object } = &entry.kind else { continue };
        let mut value = object.value();
        if value["kind"] == "Lease" {
            continue;
        }
        stamps(&mut value, &mut |stamp| (stamp > since).then(|| stamp + SKEW));
        *entry = Entry::event(entry.at, on.clone(), *event, value.into());
    }
    let place = all.iter().skip(1).position(|entry| entry.at > begin).map_or(all.len(), |place| place + 1);
    let mark = json!({"fault": "skew", "state": "begin", "seconds": SKEW.as_secs()});
    all.insert(place, Entry { at: begin, kind: Kind::Mark(mark.as_object().unwrap().clone()) });
    all
}

/// The time of the beginning, by the latest stamp of an object of the control plane.
fn wall_start(entry: &Entry) -> Option<Timestamp> {
    let Kind::Event { on, object, .. } = &entry.kind else { return None };
    if **on != *CONTROL_PLANE || object.kind() == "Lease" {
        return None;
    }
    let mut latest = None;
    stamps(&mut object.value(), &mut |stamp| {
        latest = latest.max(Some(stamp));
        None
    });
    Some(latest? - SignedDuration::try_from(entry.at).unwrap())
}

/// Visits every stamp in whole seconds, and replaces it by the result.
fn stamps(value: &mut Value, visit: &mut dyn FnMut(Timestamp) -> Option<Timestamp>) {
    match value {
        Value::String(text) if text.len() == 20 && text.ends_with('Z') => {
            if let Some(changed) = text.parse().ok().and_then(visit) {
                *text = changed.to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| stamps(item, visit)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| stamps(field, visit)),
        _ => {}
    }
}
