//! The outline of a history: the events of each member, and of each workload in it, in order.
//!
//! Only the events of a failover count: disturbances, health, taints, removals of members, assignments, evictions and
//! deliveries. The contents of manifests and the behaviour of applications do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::profile::{Profile, Timings};
use capsize_history::dialect::Dialect;
use capsize_history::facts::{Change, Fact, Health, Taint, WorkloadKey};
use capsize_history::{Entry, FaultKind, Kind, Mark};

/// The subject of events: a member, or a workload in it.
/// Without either, the subject is the whole fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventSubject {
    /// The member.
    pub member: Option<String>,
    /// The workload in it.
    pub workload: Option<WorkloadKey>,
}

impl fmt::Display for EventSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let member = self.member.as_deref().unwrap_or("the fleet");
        match &self.workload {
            None => f.write_str(member),
            Some(workload) => write!(f, "{workload} in {member}"),
        }
    }
}

/// One event with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineEvent {
    /// The time since the first disturbance; zero for a state that was there before.
    pub at: Duration,
    /// The event.
    pub what: EventKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// A disturbance of the subject began or ended.
    Disturbed(String),
    /// The member has this health.
    Health(Health),
    /// The member got this taint, `key:effect`.
    Tainted(String),
    /// The member lost this taint.
    Untainted(String),
    /// The member is being removed.
    Leaving,
    /// The member is gone.
    Gone,
    /// The workload is assigned with this number of replicas.
    Assigned(u64),
    /// The workload is no longer assigned.
    Unassigned,
    /// An eviction began.
    EvictionBegan,
    /// The eviction ended.
    EvictionEnded,
    /// A manifest was delivered.
    Delivered,
    /// The deletion of the manifest began.
    Recalled,
    /// The manifest is gone.
    DeliveryGone,
}

impl EventKind {
    /// Returns the sequence that an event of this kind belongs to.
    /// Events of one sequence follow each other, for example the addition and the removal of a taint. Events of
    /// different sequences, such as two taints, may come in either order.
    pub(super) fn sequence(&self) -> (u8, &str) {
        match self {
            Self::Disturbed(_) => (0, ""),
            Self::Health(_) => (1, ""),
            Self::Tainted(taint) | Self::Untainted(taint) => (2, taint),
            Self::Leaving | Self::Gone => (3, ""),
            Self::Assigned(_) | Self::Unassigned => (4, ""),
            Self::EvictionBegan | Self::EvictionEnded => (5, ""),
            Self::Delivered | Self::Recalled | Self::DeliveryGone => (6, ""),
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disturbed(how) => f.write_str(how),
            Self::Health(health) => write!(f, "is {health}"),
            Self::Tainted(taint) => write!(f, "gets {taint}"),
            Self::Untainted(taint) => write!(f, "loses {taint}"),
            Self::Leaving => f.write_str("is being removed"),
            Self::Gone => f.write_str("is gone"),
            Self::Assigned(0) => f.write_str("is assigned"),
            Self::Assigned(1) => f.write_str("is assigned 1 replica"),
            Self::Assigned(replicas) => write!(f, "is assigned {replicas} replicas"),
            Self::Unassigned => f.write_str("is no longer assigned"),
            Self::EvictionBegan => f.write_str("is being evicted"),
            Self::EvictionEnded => f.write_str("has been evicted"),
            Self::Delivered => f.write_str("is delivered"),
            Self::Recalled => f.write_str("loses its manifest"),
            Self::DeliveryGone => f.write_str("has lost its manifest"),
        }
    }
}

/// The outline of a history.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The scenario, the implementation and its version, from the header.
    pub title: String,
    /// The target and its release, from the header.
    pub target: String,
    /// The timings of the implementation.
    pub timings: Timings,
    /// The events of each track since the first disturbance, in order.
    /// The first events describe the state at that time.
    pub tracks: BTreeMap<EventSubject, Vec<OutlineEvent>>,
    /// The end of the history since the first disturbance.
    pub end: Duration,
}

/// Builds an outline from entries, one by one. It keeps no entry.
#[derive(Debug)]
pub struct Outliner {
    dialect: Dialect,
    title: String,
    target: String,
    timings: Timings,
    tracks: BTreeMap<EventSubject, Vec<OutlineEvent>>,
    /// The time of the first disturbance.
    began: Option<Duration>,
    /// The workloads that existed then. Other workloads do not belong to the scenario.
    workloads: BTreeSet<WorkloadKey>,
    /// The keys that stand for workloads whose names are generated: `web-*` for `web-x2bqz`.
    /// Another history has other names.
    generated: BTreeMap<WorkloadKey, WorkloadKey>,
}

impl Outliner {
    /// Creates an empty outline for a recording of an implementation with this `profile`.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let (dialect, title, target) = (Dialect::new(&profile.dialect), String::new(), String::new());
        let (timings, tracks, began) = (profile.timings, BTreeMap::new(), None);
        let (workloads, generated) = Default::default();
        Self { dialect, title, target, timings, tracks, began, workloads, generated }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &Entry) {
        if let (true, Kind::Mark(mark)) = (self.title.is_empty(), &entry.kind) {
            let of = |key: &str| mark.get(key).and_then(|value| value.as_str());
            let parts = [of("scenario"), of("implementation"), of("version")];
            self.title = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let parts = [of("target").or(of("implementation")), of("version")];
            self.target = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        }
        if let Kind::Event { object, .. } = &entry.kind {
            let text = |field: &str| object.text("metadata", field);
            let prefix = text("generateName");
            if !prefix.is_empty() {
                let key = |name: &str| WorkloadKey::new(object.kind(), text("namespace"), name);
                self.generated.insert(key(&text("name")), key(&format!("{prefix}*")));
            }
        }
        for fact in self.dialect.observe(entry) {
            self.fact(fact);
        }
    }

    /// Returns the outline after the last entry.
    #[must_use]
    pub fn finish(self) -> Outline {
        let Self { dialect, title, target, timings, tracks, began, .. } = self;
        let end = dialect.world().now.saturating_sub(began.unwrap_or_default());
        Outline { title, target, timings, tracks, end }
    }

    fn fact(&mut self, fact: Fact) {
        let disturbance = disturbance(&fact.change);
        if self.began.is_none() {
            if disturbance.is_none() {
                return;
            }
            self.began = Some(fact.at);
            self.note_state();
        }
        match disturbance {
            Some((member, how)) => {
                self.note(fact.at, EventSubject { member, workload: None }, EventKind::Disturbed(how));
            }
            None => self.change(fact.at, fact.change),
        }
    }

    /// Records the state at the first disturbance.
    fn note_state(&mut self) {
        let now = self.began.unwrap_or_default();
        let world = self.dialect.world().clone();
        for (name, member) in &world.members {
            let health = member.health.map(EventKind::Health);
            for what in
                health.into_iter().chain(member.taints.iter().map(|taint| EventKind::Tainted(brief(taint))))
            {
                self.note(now, of_member(name), what);
            }
        }
        for (key, workload) in world.workloads.iter().filter(|(_, workload)| workload.recorded) {
            self.workloads.insert(key.clone());
            for (member, replicas) in &workload.assignment {
                self.note(now, within(key, member), EventKind::Assigned(*replicas));
            }
            for task in &workload.evictions {
                self.note(now, within(key, &task.member), EventKind::EvictionBegan);
            }
            for member in workload.deliveries.keys() {
                self.note(now, within(key, member), EventKind::Delivered);
            }
        }
    }

    fn change(&mut self, at: Duration, change: Change) {
        match change {
            Change::Health { member, now: Some(now), .. } => {
                self.note(at, of_member(&member), EventKind::Health(now));
            }
            Change::TaintAdded { member, taint, .. } => {
                self.note(at, of_member(&member), EventKind::Tainted(brief(&taint)));
            }
            Change::TaintRemoved { member, taint } => {
                self.note(at, of_member(&member), EventKind::Untainted(brief(&taint)));
            }
            Change::MemberLeaving(member) => self.note(at, of_member(&member), EventKind::Leaving),
            Change::MemberGone(member) => self.note(at, of_member(&member), EventKind::Gone),
            Change::Assigned { workload, was, now, .. } => {
                for (member, replicas) in now.iter().filter(|(member, now)| was.get(*member) != Some(now)) {
                    self.note(at, within(&workload, member), EventKind::Assigned(*replicas));
                }
                for member in was.keys().filter(|member| !now.contains_key(*member)) {
                    self.note(at, within(&workload, member), EventKind::Unassigned);
                }
            }
            Change::EvictionBegan { workload, task } => {
                self.note(at, within(&workload, &task.member), EventKind::EvictionBegan);
            }
            Change::EvictionEnded { workload, task } => {
                self.note(at, within(&workload, &task.member), EventKind::EvictionEnded);
            }
            Change::Delivered { workload, member, .. } => {
                self.note(at, within(&workload, &member), EventKind::Delivered);
            }
            Change::Recalled { workload, member } => {
                self.note(at, within(&workload, &member), EventKind::Recalled);
            }
            Change::DeliveryGone { workload, member } => {
                self.note(at, within(&workload, &member), EventKind::DeliveryGone);
            }
            _ => {}
        }
    }

    /// Records an event, unless the track is in that state already.
    /// An example of such a state is a manifest that is delivered again.
    fn note(&mut self, at: Duration, mut track: EventSubject, what: EventKind) {
        if let Some(workload) = &mut track.workload {
            if !self.workloads.contains(workload) {
                return;
            }
            if let Some(shared) = self.generated.get(workload) {
                *workload = shared.clone();
            }
        }
        let events = self.tracks.entry(track).or_default();
        let latest = events.iter().rev().find(|each| each.what.sequence() == what.sequence());
        if latest.is_some_and(|latest| latest.what == what && !matches!(what, EventKind::Disturbed(_))) {
            return;
        }
        events.push(OutlineEvent { at: at.saturating_sub(self.began.unwrap_or_default()), what });
    }
}

fn of_member(name: &str) -> EventSubject {
    EventSubject { member: Some(name.to_owned()), workload: None }
}

fn within(workload: &WorkloadKey, member: &str) -> EventSubject {
    EventSubject { member: Some(member.to_owned()), workload: Some(workload.clone()) }
}

fn brief(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect)
}

/// The scenario steps that count as disturbances in an outline.
const DISTURBING: [&str; 4] = ["taint", "untaint", "deleteMember", "scale"];

/// Returns the disturbed member and the disturbance, or `None` if the change is only a consequence.
fn disturbance(change: &Change) -> Option<(Option<String>, String)> {
    match change {
        Change::FaultBegan { fault, member } => Some((member.clone(), format!("{fault} begins"))),
        Change::FaultEnded { fault, member } => Some((member.clone(), format!("{fault} ends"))),
        Change::ClockWrong { member, .. } => Some((member.clone(), format!("{} begins", FaultKind::Skew))),
        Change::ClockRight { member, .. } => Some((member.clone(), format!("{} ends", FaultKind::Skew))),
        Change::Step(mark) => step(mark),
        _ => None,
    }
}

fn step(mark: &Mark) -> Option<(Option<String>, String)> {
    let text = |key: &str| mark.get(key).and_then(|value| value.as_str());
    let step = text("step").filter(|step| DISTURBING.contains(step))?;
    Some((text("cluster").map(str::to_owned), step.to_owned()))
}
