//! A failure domain: its health, its taints, and what a choice of members looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

use super::ObjectVersion;

/// A member's health as the control plane tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Health {
    /// It answers.
    Ready,
    /// It does not.
    NotReady,
    /// Nobody can tell.
    Unknown,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "Ready",
            Self::NotReady => "NotReady",
            Self::Unknown => "Unknown",
        })
    }
}

/// A failure domain.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// The latest version of its record.
    pub record: Option<ObjectVersion>,
    /// `None` where it never reported.
    pub health: Option<Health>,
    /// When that health was first seen.
    pub health_since: Duration,
    /// Its taints, in the order of the object.
    pub taints: Vec<Taint>,
    /// Whether it is being removed.
    pub leaving: bool,
    /// Whether it is kept, while it is being removed, by a finalizer that is not the control plane's own.
    pub held_up: bool,
    /// Whether its own agent speaks for it, rather than the control plane's probes.
    pub pulls: bool,
    /// When a person last set a taint on it, by a mark of the history.
    pub tainted_by_hand: Option<Duration>,
    /// The same of taking one away, or of writing its record.
    pub untainted_by_hand: Option<Duration>,
    /// The remedies that its status asks for.
    pub remedies: BTreeSet<String>,
    /// When the latest version was seen that lost some of them and reported something else besides.
    pub remedies_lost: Option<Duration>,
    /// Stands for how it is reached.
    pub access: u64,
    /// When its last `NoExecute` taint went.
    pub untainted: Option<Duration>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// `provider`, `region` and `zone` with their values.
    pub fields: BTreeMap<String, Vec<String>>,
    /// All of its conditions: type and status.
    pub conditions: BTreeMap<String, String>,
    /// What its conditions give as reasons, by type.
    pub reasons: BTreeMap<String, String>,
    /// When it was made, to the second, by the clock of the API server.
    pub created: Option<Timestamp>,
    /// The kinds that its API serves, as `apps/v1/Deployment`; absent where it never told.
    pub serves: Option<Arc<BTreeSet<String>>>,
    /// What it has left of each resource, in thousandths; absent where it never told.
    pub free: Option<Arc<BTreeMap<String, u64>>>,
    /// Stands for all that it tells of itself beside its conditions.
    pub status_digest: u64,
    /// Whether it tells its room by the sizes of its nodes, too.
    pub modelled: bool,
    /// When anything about it last changed that a choice of members looks at, beside its room.
    pub changed: Duration,
    /// When its room last changed.
    pub measured: Duration,
    /// How long it had not been ready when it last became so.
    pub away: Duration,
    /// When something was last heard of it, of one that reports by itself; absent before the first time that was seen.
    pub sign_of_life: Option<Duration>,
    /// The time that its last report has by its own clock.
    pub heartbeat: String,
    /// Whether somebody wants nothing new on it.
    pub cordoned: bool,
    /// Region and zone in one, where members are counted by zones.
    pub zone: Zone,
    /// Whether it counts for its zone.
    pub counts: bool,
}

/// Region and zone in one.
pub type Zone = Arc<str>;

/// How many members of a zone count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// All of them.
    pub size: u64,
    /// Those that are not ready.
    pub away: u64,
}

/// What a taint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum TaintEffect {
    /// Nothing new is placed.
    NoSchedule,
    /// Nothing new is placed, where that can be helped.
    PreferNoSchedule,
    /// Nothing new is placed, and what is there is evicted.
    NoExecute,
}

impl fmt::Display for TaintEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        })
    }
}

/// A taint on a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// For example `cluster.karmada.io/not-ready`.
    pub key: String,
    /// Often empty.
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
    /// The health that it stands for, if it is a health taint.
    pub health: Option<Health>,
    /// As stamped on it, to the second.
    pub time_added: Option<Timestamp>,
    /// Whether tolerations of it run out.
    pub ages: bool,
    /// When it was first seen.
    pub seen: Duration,
    /// Whether it was there before the history began, so that `seen` says nothing about when it was added.
    pub inherited: bool,
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.rsplit('/').next().unwrap_or(&self.key);
        write!(f, "{key}:{}", self.effect)
    }
}

impl Member {
    /// The values of `provider`, `region` or `zone`.
    #[must_use]
    pub fn field(&self, name: &str) -> &[String] {
        self.fields.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The taint with this effect that tells `health`.
    #[must_use]
    pub fn health_taint(&self, health: Health, effect: TaintEffect) -> Option<&Taint> {
        self.taints.iter().find(|taint| taint.health == Some(health) && taint.effect == effect)
    }

    /// Its taints that evict.
    pub fn evicting_taints(&self) -> impl Iterator<Item = &Taint> {
        self.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
    }
}
