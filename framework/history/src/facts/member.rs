//! A failure domain: its health, its taints, and the properties by which schedulers choose members.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ObjectVersion;

/// The health of a member, as the control plane reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
pub enum Health {
    /// The member answers.
    Ready,
    /// The member reports that it is not ready.
    NotReady,
    /// The health is not known.
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
    /// The latest version of the record of the member.
    pub record: Option<ObjectVersion>,
    /// The health; `None` if it was never reported.
    pub health: Option<Health>,
    /// When that health was first observed.
    pub health_since: Duration,
    /// The taints, in the order of the object.
    pub taints: Vec<Taint>,
    /// Whether the member is being removed.
    pub leaving: bool,
    /// Whether a finalizer that is not the control plane's own holds up the removal.
    pub held_up: bool,
    /// Whether an agent in the member reports its status, rather than the control plane's probes.
    pub pulls: bool,
    /// When a person last set a taint on the member, by a mark of the history.
    pub tainted_by_hand: Option<Duration>,
    /// When a person last removed a taint from the member, or wrote its record.
    pub untainted_by_hand: Option<Duration>,
    /// The remedies that the status asks for.
    pub remedies: BTreeSet<String>,
    /// When the latest version was observed that lost remedies and reported another change as well.
    pub remedies_lost: Option<Duration>,
    /// A digest of the way in which the member is reached.
    pub access: u64,
    /// When the last `NoExecute` taint was removed.
    pub untainted: Option<Duration>,
    /// The labels of the member.
    pub labels: BTreeMap<String, String>,
    /// `provider`, `region` and `zone` with their values.
    pub fields: BTreeMap<String, Vec<String>>,
    /// Whether `zone` is known from the older field of a Cluster alone.
    /// Karmada since 1.7 selects by the list `zones`. Its API server moves the older field into the list, but one with
    /// Clusters as custom resources does not.
    pub zone_in_older_field: bool,
    /// All conditions: type and status.
    pub conditions: BTreeMap<String, String>,
    /// The reasons of the conditions, by type.
    pub reasons: BTreeMap<String, String>,
    /// For how long this member may be silent; absent if the same time holds for all members.
    pub grace: Option<Duration>,
    /// When the member was created, to the second, by the clock of the API server.
    pub created: Option<Timestamp>,
    /// The kinds that the API of the member serves, as `apps/v1/Deployment`.
    /// The field is absent if the kinds were never reported.
    pub serves: Option<Arc<BTreeSet<String>>>,
    /// When these kinds last changed; zero if they never changed.
    pub kinds_since: Duration,
    /// The free amount of each resource, in thousandths; absent if it was never reported.
    pub free: Option<Arc<BTreeMap<String, u64>>>,
    /// A digest of the status without the conditions.
    pub status_digest: u64,
    /// Whether the status also reports the free resources by the sizes of nodes.
    pub modelled: bool,
    /// When anything that affects the choice of members last changed, apart from free resources.
    pub changed: Duration,
    /// When the labels or the fields last changed, by which affinities choose members.
    /// It is zero if they never changed.
    pub relabelled: Duration,
    /// Whether the latest version differs from the one before in its status only.
    /// Such a change makes no scheduler act.
    pub status_only: bool,
    /// When the free resources last changed.
    pub measured: Duration,
    /// How long the member had not been ready when it last became ready.
    pub away: Duration,
    /// When a member that reports by itself last reported; absent before the first observed report.
    pub sign_of_life: Option<Duration>,
    /// The time of the latest report by the clock of the member.
    pub heartbeat: String,
    /// Whether the member is marked as unschedulable.
    pub cordoned: bool,
    /// Region and zone in one text, where members are counted by zones.
    pub zone: Zone,
    /// Whether the member counts for its zone.
    pub counts: bool,
}

/// Region and zone in one text.
pub type Zone = Arc<str>;

/// The count of members of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// All members.
    pub size: u64,
    /// The members that are not ready.
    pub away: u64,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// Nothing new is placed.
    NoSchedule,
    /// Nothing new is placed, if there is another choice.
    PreferNoSchedule,
    /// Nothing new is placed, and existing workloads are evicted.
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
    /// The key, for example `cluster.karmada.io/not-ready`.
    pub key: String,
    /// The value, which is often empty.
    pub value: String,
    /// The effect.
    pub effect: TaintEffect,
    /// The health that the taint stands for, if it is a health taint.
    pub health: Option<Health>,
    /// The time stamped on the taint, to the second.
    pub time_added: Option<Timestamp>,
    /// Whether tolerations of the taint expire.
    pub ages: bool,
    /// When the taint was first observed.
    pub seen: Duration,
    /// Whether the taint existed before the history began.
    /// If so, `seen` is not the time at which the taint was added.
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

    /// The values of a field as the releases read it: in one way, or in two.
    pub(super) fn readings(&self, name: &str) -> impl Iterator<Item = &[String]> {
        let without: Option<&[String]> = (self.zone_in_older_field && name == "zone").then_some(&[]);
        std::iter::once(self.field(name)).chain(without)
    }

    /// The taint with this effect that stands for `health`.
    #[must_use]
    pub fn health_taint(&self, health: Health, effect: TaintEffect) -> Option<&Taint> {
        self.taints.iter().find(|taint| taint.health == Some(health) && taint.effect == effect)
    }

    /// The taints that evict.
    pub fn evicting_taints(&self) -> impl Iterator<Item = &Taint> {
        self.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
    }
}
