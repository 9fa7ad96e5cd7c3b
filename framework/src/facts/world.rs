//! The present neutral state, as the facts so far have made it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

use super::{ObjectVersion, Observers, Placement, Toleration};

/// Everything known now.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The time of the latest entry.
    pub now: Duration,
    /// Members by name.
    pub members: BTreeMap<String, Member>,
    /// Workloads by key.
    pub workloads: BTreeMap<WorkloadKey, Workload>,
    /// Faults that have begun and not ended, in the order in which they began.
    pub faults: Vec<FaultInForce>,
    /// The wall time at the start of the history, as far as time stamps tell: it is at most a second (and the
    /// latency of an observation) later than this.
    pub wall_start: Option<Timestamp>,
    /// How exactly each cluster is observed.
    pub observers: Observers,
    /// Whether faults are marked in the history: it was made by a scenario, or one was marked already.
    pub faults_are_marked: bool,
}

/// A fault that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultInForce {
    /// `refuse`, `partition`, `controller-down` and the like.
    pub fault: String,
    /// The member hit, if it hits one.
    pub member: Option<String>,
    /// `toMember` or `fromMember` where it hits only what goes that way.
    pub direction: Option<String>,
    /// When it began.
    pub since: Duration,
}

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
    /// Whether its own agent speaks for it, rather than the control plane's probes.
    pub pulls: bool,
    /// When a person last set a taint on it, by a mark of the history.
    pub tainted_by_hand: Option<Duration>,
    /// When its last `NoExecute` taint went.
    pub untainted: Option<Duration>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// `provider`, `region` and `zone` with their values.
    pub fields: BTreeMap<String, Vec<String>>,
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
    /// The health that it tells, if that is what it is for.
    pub tells: Option<Health>,
    /// As stamped on it, to the second.
    pub time_added: Option<Timestamp>,
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

/// What is placed: the kind, namespace and name of the object that is copied to members.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadKey(Arc<(String, String, String)>);

impl WorkloadKey {
    /// `namespace` is empty for what has none.
    #[must_use]
    pub fn new(kind: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self(Arc::new((kind.into(), namespace.into(), name.into())))
    }

    /// For example `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.0.0
    }

    /// Empty for what has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.0.1
    }

    /// The name alone.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.2
    }
}

impl fmt::Display for WorkloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, namespace, name) = &*self.0;
        match namespace.as_str() {
            "" => write!(f, "{kind} {name}"),
            _ => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

/// Member and replicas; zero where the implementation writes none.
pub type Assignment = BTreeMap<String, u64>;

/// Something that is placed on members.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Whether its placement is on record (a binding exists); else only copies of it were seen.
    pub recorded: bool,
    /// The latest version of that record.
    pub record: Option<ObjectVersion>,
    /// Replicas wanted; zero also for what has none.
    pub replicas: u64,
    /// Where it may run.
    pub placement: Placement,
    /// What it tolerates, by the placement that was last applied.
    pub tolerations: Vec<Toleration>,
    /// Where it is to run.
    pub assignment: Assignment,
    /// Members being evicted from. More than one for a member is a defect that is kept here.
    pub evictions: Vec<EvictionTask>,
    /// Whether the scheduler has seen the latest version of the record.
    pub scheduled: bool,
    /// What the control plane tells about it in each member.
    pub instances: BTreeMap<String, Instance>,
    /// Manifests delivered, by member.
    pub deliveries: BTreeMap<String, Delivery>,
    /// What really runs, by member, as that member's own API tells.
    pub running: BTreeMap<String, Running>,
}

/// An eviction under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionTask {
    /// From where.
    pub member: String,
    /// For example `TaintUntolerated`.
    pub reason: String,
    /// Whether a taint is the reason.
    pub by_taint: bool,
    /// When it was first seen.
    pub seen: Duration,
    /// Whether it was there before the history began.
    pub inherited: bool,
    /// The time stamped on it, to the second; absent until stamped.
    pub created: Option<Timestamp>,
    /// When the stamp was first seen.
    pub stamped: Option<Duration>,
    /// Its own timeout, if it has one.
    pub grace: Option<Duration>,
    /// Whether the old copy goes at once, without waiting for the new one.
    pub directly: bool,
    /// A person's word on whether it is to be kept (`true`) or dropped (`false`).
    pub suppress_deletion: Option<bool>,
}

/// Health of a workload in a member as the control plane tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceHealth {
    /// All is well.
    Healthy,
    /// It is not.
    Unhealthy,
    /// Not known.
    #[default]
    Unknown,
}

/// A workload in a member, as the control plane tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// Its health.
    pub health: InstanceHealth,
    /// Replicas ready, where the status says.
    pub ready: Option<u64>,
}

/// A manifest delivered to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Replicas that it asks for; zero also for what has none.
    pub replicas: u64,
    /// Whether it is being deleted.
    pub leaving: bool,
}

/// What really runs in a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Replicas that the object there asks for; zero also for what has none.
    pub replicas: u64,
    /// Replicas ready, of whatever version.
    pub ready: u64,
    /// Whether the status is about the present version of the object.
    pub current: bool,
    /// The image of its first container; empty for what has none.
    pub image: String,
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
        self.taints.iter().find(|taint| taint.tells == Some(health) && taint.effect == effect)
    }

    /// Its taints that evict.
    pub fn evicting_taints(&self) -> impl Iterator<Item = &Taint> {
        self.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
    }
}

impl Running {
    /// Whether it is all that it is asked to be.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.current && self.ready >= self.replicas
    }
}

impl Workload {
    /// The eviction from `member`, if one is under way.
    #[must_use]
    pub fn eviction(&self, member: &str) -> Option<&EvictionTask> {
        self.evictions.iter().find(|task| task.member == member)
    }

    /// The replicas that run and are ready, over all members.
    #[must_use]
    pub fn ready(&self) -> u64 {
        self.running.values().fold(0, |sum, running| sum.saturating_add(running.ready))
    }
}

impl World {
    /// The workload called `name`, in any namespace and of any kind; the first by key where there are more.
    #[must_use]
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|(key, _)| key.name() == name).map(|(_, workload)| workload)
    }
}
