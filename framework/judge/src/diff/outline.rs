//! What a history comes to: for each member, and for each workload in it, what happened one after the other.
//!
//! Only what failover is made of counts: health, taints, assignments, evictions, deliveries. What a manifest says in
//! detail, and what an application does, does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::profile::{Profile, Timings};
use capsize_history::dialect::Dialect;
use capsize_history::facts::{Change, Fact, Health, Taint, WorkloadKey};
use capsize_history::{Entry, FaultKind, Kind, Mark};

/// What things happen to: a member, or a workload in it; with neither, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track {
    /// The member.
    pub member: Option<String>,
    /// The workload in it.
    pub workload: Option<WorkloadKey>,
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let member = self.member.as_deref().unwrap_or("the fleet");
        match &self.workload {
            None => f.write_str(member),
            Some(workload) => write!(f, "{workload} in {member}"),
        }
    }
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When it was seen, since the first disturbance; nothing for what was so already.
    pub at: Duration,
    /// What.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// Somebody disturbed it, or ceased to.
    Disturbed(String),
    /// It has this health.
    Health(Health),
    /// It has this taint, `key:effect`.
    Tainted(String),
    /// It no longer has this taint.
    Untainted(String),
    /// It is being removed.
    Leaving,
    /// It is gone.
    Gone,
    /// It is assigned so many replicas.
    Assigned(u64),
    /// It is assigned no longer.
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

impl What {
    /// What follows one another: the same taint comes and goes, and a manifest; a taint and another are written by
    /// whoever comes first.
    pub(super) fn strand(&self) -> (u8, &str) {
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

impl fmt::Display for What {
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
            Self::Unassigned => f.write_str("is assigned no longer"),
            Self::EvictionBegan => f.write_str("is being evicted"),
            Self::EvictionEnded => f.write_str("has been evicted"),
            Self::Delivered => f.write_str("is delivered"),
            Self::Recalled => f.write_str("is recalled"),
            Self::DeliveryGone => f.write_str("has been recalled"),
        }
    }
}

/// A history in outline.
#[derive(Clone, Debug)]
pub struct Outline {
    /// What ran, as its header says: scenario, implementation and version.
    pub title: String,
    /// The times that the implementation was set to.
    pub timings: Timings,
    /// What happened from the first disturbance on, in order; and before it, how everything was.
    pub tracks: BTreeMap<Track, Vec<Happening>>,
    /// When the history ends, since the first disturbance.
    pub end: Duration,
}

/// Makes an outline of entries, one by one. It keeps no entry.
#[derive(Debug)]
pub struct Outliner {
    dialect: Dialect,
    title: String,
    timings: Timings,
    tracks: BTreeMap<Track, Vec<Happening>>,
    /// The time of the first disturbance.
    began: Option<Duration>,
    /// The workloads that there were then. Others are left over from something else.
    workloads: BTreeSet<WorkloadKey>,
}

impl Outliner {
    /// An outline of what was recorded of an implementation that promises what `profile` says.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let (dialect, title, timings) = (Dialect::new(profile.dialect), String::new(), profile.timings);
        Self { dialect, title, timings, tracks: BTreeMap::new(), began: None, workloads: BTreeSet::new() }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &Entry) {
        if let (true, Kind::Mark(mark)) = (self.title.is_empty(), &entry.kind) {
            let of = |key: &str| mark.get(key).and_then(|value| value.as_str());
            let parts = [of("scenario"), of("implementation"), of("version")];
            self.title = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        }
        for fact in self.dialect.observe(entry) {
            self.fact(fact);
        }
    }

    /// The outline, now that there are no more entries.
    #[must_use]
    pub fn finish(self) -> Outline {
        let Self { dialect, title, timings, tracks, began, .. } = self;
        let end = dialect.world().now.saturating_sub(began.unwrap_or_default());
        Outline { title, timings, tracks, end }
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
            Some((member, how)) => self.note(fact.at, Track { member, workload: None }, What::Disturbed(how)),
            None => self.change(fact.at, fact.change),
        }
    }

    /// Notes how everything is when the first disturbance comes.
    fn note_state(&mut self) {
        let now = self.began.unwrap_or_default();
        let world = self.dialect.world().clone();
        for (name, member) in &world.members {
            let health = member.health.map(What::Health);
            for what in
                health.into_iter().chain(member.taints.iter().map(|taint| What::Tainted(brief(taint))))
            {
                self.note(now, of_member(name), what);
            }
        }
        for (key, workload) in world.workloads.iter().filter(|(_, workload)| workload.recorded) {
            self.workloads.insert(key.clone());
            for (member, replicas) in &workload.assignment {
                self.note(now, within(key, member), What::Assigned(*replicas));
            }
            for task in &workload.evictions {
                self.note(now, within(key, &task.member), What::EvictionBegan);
            }
            for member in workload.deliveries.keys() {
                self.note(now, within(key, member), What::Delivered);
            }
        }
    }

    fn change(&mut self, at: Duration, change: Change) {
        match change {
            Change::Health { member, now: Some(now), .. } => {
                self.note(at, of_member(&member), What::Health(now));
            }
            Change::TaintAdded { member, taint, .. } => {
                self.note(at, of_member(&member), What::Tainted(brief(&taint)));
            }
            Change::TaintRemoved { member, taint } => {
                self.note(at, of_member(&member), What::Untainted(brief(&taint)));
            }
            Change::MemberLeaving(member) => self.note(at, of_member(&member), What::Leaving),
            Change::MemberGone(member) => self.note(at, of_member(&member), What::Gone),
            Change::Assigned { workload, was, now, .. } => {
                for (member, replicas) in now.iter().filter(|(member, now)| was.get(*member) != Some(now)) {
                    self.note(at, within(&workload, member), What::Assigned(*replicas));
                }
                for member in was.keys().filter(|member| !now.contains_key(*member)) {
                    self.note(at, within(&workload, member), What::Unassigned);
                }
            }
            Change::EvictionBegan { workload, task } => {
                self.note(at, within(&workload, &task.member), What::EvictionBegan);
            }
            Change::EvictionEnded { workload, task } => {
                self.note(at, within(&workload, &task.member), What::EvictionEnded);
            }
            Change::Delivered { workload, member, .. } => {
                self.note(at, within(&workload, &member), What::Delivered);
            }
            Change::Recalled { workload, member } => {
                self.note(at, within(&workload, &member), What::Recalled)
            }
            Change::DeliveryGone { workload, member } => {
                self.note(at, within(&workload, &member), What::DeliveryGone);
            }
            _ => {}
        }
    }

    /// Notes what happened, but for what is so already: a manifest that is delivered again.
    fn note(&mut self, at: Duration, track: Track, what: What) {
        if track.workload.as_ref().is_some_and(|workload| !self.workloads.contains(workload)) {
            return;
        }
        let happenings = self.tracks.entry(track).or_default();
        let latest = happenings.iter().rev().find(|each| each.what.strand() == what.strand());
        if latest.is_some_and(|latest| latest.what == what && !matches!(what, What::Disturbed(_))) {
            return;
        }
        happenings.push(Happening { at: at.saturating_sub(self.began.unwrap_or_default()), what });
    }
}

fn of_member(name: &str) -> Track {
    Track { member: Some(name.to_owned()), workload: None }
}

fn within(workload: &WorkloadKey, member: &str) -> Track {
    Track { member: Some(member.to_owned()), workload: Some(workload.clone()) }
}

fn brief(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect)
}

/// What people do to members and workloads in the course of things. Other steps prepare, name or look.
const DISTURBING: [&str; 4] = ["taint", "untaint", "deleteMember", "scale"];

/// What disturbs, and whom; `None` for what only follows.
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
