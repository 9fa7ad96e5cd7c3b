//! Reads a recorded history as the versions of its objects.
//! The recording also has the faults, and the windows in which nothing excuses a wrong behaviour.

use std::collections::BTreeMap;

use capsize_history::dialect::DialectKind;
use capsize_history::{CONTROL_PLANE, Entry, EventType, FaultKind, Kind, ProbeFailure};
use capsize_judge::profile::{Feature, Profile};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::track::Track;

/// A recorded history, ready to be perturbed. Times are seconds since its start.
pub(crate) struct Recording<'a> {
    /// The entries as they were recorded.
    pub(crate) entries: &'a [Entry],
    profile: &'a Profile,
    tracks: Vec<Track>,
    faults: Vec<Fault>,
    /// The time of the last entry.
    pub(crate) end: f64,
    /// Whether a scenario or a fault is marked, so that missing marks mean missing faults.
    pub(crate) is_marked: bool,
    exactness: f64,
    wall_start: Option<Timestamp>,
}

/// A fault, with the time of its begin and of its end.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) member: Option<String>,
    pub(crate) begin: f64,
    pub(crate) end: f64,
    pub(crate) is_one_way: bool,
}

/// One version of an object.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// The number of the entry.
    pub(crate) place: usize,
    pub(crate) at: f64,
    pub(crate) event: EventType,
    pub(crate) object: Value,
}

fn seconds(entry: &Entry) -> f64 {
    entry.at.as_secs_f64()
}

fn faults(entries: &[Entry], end: f64) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for entry in entries {
        let Kind::Mark(mark) = &entry.kind else { continue };
        let text = |key: &str| mark.get(key).and_then(Value::as_str);
        let Some(kind) = text("fault").and_then(FaultKind::named) else { continue };
        let member = text("cluster").or_else(|| text("node")).filter(|name| *name != CONTROL_PLANE);
        let member = member.map(str::to_owned);
        let at = seconds(entry);
        let open = |fault: &&mut Fault| fault.kind == kind && fault.member == member && fault.end >= end;
        match text("state") {
            Some("begin") => faults.push(Fault {
                kind,
                member,
                begin: at,
                end,
                is_one_way: text("direction").is_some_and(|direction| direction != "both"),
            }),
            _ => {
                if let Some(fault) = faults.iter_mut().find(open) {
                    fault.end = at;
                }
            }
        }
    }
    faults
}

fn exactness(entries: &[Entry]) -> f64 {
    let observers = entries.iter().filter_map(|entry| match &entry.kind {
        Kind::Mark(mark) => mark.get("observer"),
        Kind::Event { .. } => None,
    });
    let number = |observer: &Value, key: &str| observer[key].as_f64().unwrap_or_default().abs();
    observers.map(|it| number(it, "latency") + number(it, "clockOffset")).fold(0.0, f64::max)
}

/// The wall time at the start of the history, by the creations that were observed.
fn wall_start(tracks: &[Track]) -> Option<Timestamp> {
    let created = tracks.iter().filter_map(|track| {
        let stamp = track.versions.first()?.object["metadata"]["creationTimestamp"].as_str()?;
        let before = jiff::SignedDuration::try_from_secs_f64(track.created()?).ok()?;
        stamp.parse::<Timestamp>().ok()?.checked_sub(before).ok()
    });
    created.max()
}

impl<'a> Recording<'a> {
    /// Prepares the history with these `entries`, which `profile` describes.
    pub(crate) fn new(entries: &'a [Entry], profile: &'a Profile) -> Self {
        let mut objects: BTreeMap<(String, String, String), Vec<Version>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            let Kind::Event { on, event, object } = &entry.kind else { continue };
            let object = object.value();
            let name = &object["metadata"];
            let name = format!(
                "{}/{}",
                name["namespace"].as_str().unwrap_or_default(),
                name["name"].as_str().unwrap_or_default()
            );
            let key = (on.to_string(), object["kind"].as_str().unwrap_or_default().to_owned(), name);
            let version = Version { place, at: seconds(entry), event: *event, object };
            objects.entry(key).or_default().push(version);
        }
        let tracks =
            objects.into_iter().map(|((on, kind, name), versions)| Track { on, kind, name, versions });
        let end = entries.iter().map(seconds).fold(0.0, f64::max);
        let faults = faults(entries, end);
        let is_marked = |entry: &Entry| match &entry.kind {
            Kind::Mark(mark) => mark.contains_key("fault") || mark.contains_key("scenario"),
            Kind::Event { .. } => false,
        };
        let tracks: Vec<Track> = tracks.collect();
        Self {
            entries,
            wall_start: wall_start(&tracks),
            profile,
            tracks,
            faults,
            end,
            is_marked: entries.iter().any(is_marked),
            exactness: 2.0 * exactness(entries),
        }
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.profile.features.contains(&feature)
    }

    /// Whether the members of the history are nodes.
    pub(crate) fn is_of_nodes(&self) -> bool {
        self.profile.dialect == DialectKind::Nodes
    }

    /// A timing of the profile in seconds; 0 if the profile has none.
    pub(crate) fn timing(&self, name: &str) -> f64 {
        self.profile.timings.get(name).map(|time| time.as_secs_f64()).unwrap_or_default()
    }

    /// How often tasks are polled within the graceful-eviction-timeout.
    pub(crate) fn polls(&self) -> u32 {
        self.profile.timings.eviction_polls
    }

    /// The longest pause between two taints in a zone.
    pub(crate) fn slowest_pause(&self) -> f64 {
        let zones = self.profile.zones.as_ref();
        zones.map_or(0.0, |zones| {
            zones.eviction_pause.max(zones.secondary_eviction_pause).as_secs_f64().min(600.0)
        })
    }

    /// The shortest pause between two taints in a zone.
    pub(crate) fn quickest_pause(&self) -> f64 {
        let zones = self.profile.zones.as_ref();
        zones.map_or(0.0, |zones| zones.eviction_pause.min(zones.secondary_eviction_pause).as_secs_f64())
    }

    /// A time that is surely longer than `bound` and every tolerance of the specification together.
    pub(crate) fn beyond(&self, bound: f64) -> f64 {
        let tolerance = 3.0 * self.timing("latency") + 2.0 * self.timing("skew") + self.exactness;
        1.2 * bound + tolerance + 2.0
    }

    /// The tracks of the objects of one kind in the control plane.
    pub(crate) fn tracks<'r>(&'r self, kind: &'r str) -> impl Iterator<Item = &'r Track> {
        self.tracks.iter().filter(move |track| track.on == CONTROL_PLANE && track.kind == kind)
    }

    /// The tracks of bindings, of both scopes.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = &Track> {
        self.tracks("ResourceBinding").chain(self.tracks("ClusterResourceBinding"))
    }

    /// The members: clusters or nodes.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Track> {
        self.tracks("Cluster").chain(self.tracks("Node"))
    }

    /// The track of the member with this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Track> {
        self.members().find(|track| track.short() == name)
    }

    /// The track of the object of this kind and name on this cluster.
    pub(crate) fn track(&self, on: &str, kind: &str, name: &str) -> Option<&Track> {
        self.tracks.iter().find(|track| track.on == on && track.kind == kind && track.name == name)
    }

    /// The faults of the member with this name.
    pub(crate) fn faults_of<'r>(&'r self, member: &'r str) -> impl Iterator<Item = &'r Fault> {
        self.faults.iter().filter(move |fault| fault.member.as_deref() == Some(member))
    }

    /// The outages of a member by which its probes surely fail, apart from other faults of the member.
    pub(crate) fn outages<'r>(&'r self, member: &'r str) -> Vec<&'r Fault> {
        let outages = self.faults_of(member).filter(|fault| {
            let alone = |other: &Fault| {
                std::ptr::eq(other, *fault) || other.end + 60.0 < fault.begin || other.begin > fault.end
            };
            fault.kind.hits_probes().is_some() && !fault.is_one_way && self.faults_of(member).all(alone)
        });
        outages.filter(|fault| self.is_calm(fault.begin, fault.begin)).collect()
    }

    /// The longest probe under `fault`; `None` if nothing ends it.
    pub(crate) fn probe(&self, fault: &Fault) -> Option<f64> {
        match fault.kind.hits_probes() {
            Some(ProbeFailure::Silent) => self.profile.timings.silent_probe.map(|time| time.as_secs_f64()),
            _ => Some(self.timing("refusedProbe")),
        }
    }

    /// Returns true if no fault hinders anybody from `from` to `until`.
    /// The faults are those of the control plane or of a clock. The history must also go on for that long.
    pub(crate) fn is_calm(&self, from: f64, until: f64) -> bool {
        until <= self.end
            && self.faults.iter().all(|fault| match &fault.member {
                _ if fault.kind == FaultKind::Skew => false,
                Some(_) => true,
                None => {
                    let over = fault.end + (fault.end - fault.begin) + self.beyond(self.timing("takeover"));
                    fault.begin > until || over < from
                }
            })
    }

    /// Whether the member has no fault from `from` to `until`, and has recovered from earlier faults.
    pub(crate) fn is_untroubled(&self, member: &str, from: f64, until: f64) -> bool {
        let recovered = |fault: &Fault| {
            let lasted = fault.end - fault.begin;
            let restored: f64 = if fault.kind.loses_data() { 63.0 } else { 0.0 };
            let probe = self.probe(fault).unwrap_or_default();
            fault.end + lasted + (2.0 * lasted).min(60.0) + self.beyond(restored.max(probe))
        };
        self.is_calm(from, until)
            && self.faults_of(member).all(|fault| fault.begin > until || recovered(fault) < from)
    }

    /// The stamp of the time `at`; null if the history has no creation to derive it from.
    pub(crate) fn stamp(&self, at: f64) -> Value {
        let at = jiff::SignedDuration::try_from_secs_f64(at).unwrap_or_default();
        let stamp = self.wall_start.and_then(|start| start.checked_add(at).ok());
        stamp.map_or(Value::Null, |stamp| json!(stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
    }

    /// The marks of steps, with their times.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (f64, &capsize_history::Mark)> {
        self.entries.iter().filter_map(|entry| match &entry.kind {
            Kind::Mark(mark) if mark.contains_key("step") => Some((seconds(entry), mark)),
            _ => None,
        })
    }

    /// Whether a policy on taints names this key.
    pub(crate) fn is_in_a_policy(&self, key: &str) -> bool {
        let mut versions = self.tracks("ClusterTaintPolicy").flat_map(|track| &track.versions);
        versions.any(|version| version.object.to_string().contains(key))
    }

    /// Whether the header says that there are policies on taints, and no policy is recorded.
    pub(crate) fn policies_are_hidden(&self) -> bool {
        self.has(Feature::ClusterTaintPolicies) && self.tracks("ClusterTaintPolicy").next().is_none()
    }

    /// Whether any member has a remedy.
    pub(crate) fn has_remedies(&self) -> bool {
        let mut versions = self.tracks("Cluster").flat_map(|track| &track.versions);
        versions.any(|version| !version.object["status"]["remedyActions"].is_null())
    }

    /// Whether another object shows before `at` that the member is observed.
    pub(crate) fn shows(&self, member: &str, besides: &Track, at: f64) -> bool {
        let of_member =
            self.tracks.iter().filter(|track| track.on == member && !std::ptr::eq(*track, besides));
        let marked = self.entries.iter().any(|entry| match &entry.kind {
            Kind::Mark(mark) => mark.get("observer").is_some_and(|observer| observer["on"] == member),
            Kind::Event { .. } => false,
        });
        marked || of_member.into_iter().any(|track| track.versions[0].at < at)
    }

    /// Returns true if another copy shows before `at` that the history records this kind in members.
    /// The other copy is of the same kind.
    pub(crate) fn shows_kind(&self, copy: &Track, at: f64) -> bool {
        let same = |track: &&Track| track.kind == copy.kind && track.on != CONTROL_PLANE;
        let mut others = self.tracks.iter().filter(same).filter(|track| !std::ptr::eq(*track, copy));
        others.any(|track| track.versions[0].at < at)
    }

    /// Times at which something could happen without a cause: between entries, spread over the history.
    pub(crate) fn moments(&self, lasting: f64) -> Vec<f64> {
        let spread = (1..10).map(|tenth| self.end * f64::from(tenth) / 10.0);
        spread.filter(|at| at + lasting <= self.end && *at > 2.0).collect()
    }
}
