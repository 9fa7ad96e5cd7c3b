//! What is placed on members, and each step of its way there and away.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::names::Names;
use super::{Content, DispatchSuspension, ObjectVersion, Placement, Toleration};

/// What is placed: the kind, namespace and name of the object that is copied to members.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadKey(Names);

impl WorkloadKey {
    /// `namespace` is empty for what has none.
    #[must_use]
    pub fn new(kind: impl AsRef<str>, namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self(Names::new([kind.as_ref(), namespace.as_ref(), name.as_ref()]))
    }

    /// For example `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.get(0)
    }

    /// Empty for what has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.0.get(1)
    }

    /// The name alone.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.get(2)
    }
}

impl fmt::Display for WorkloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, namespace, name) = (self.kind(), self.namespace(), self.name());
        match namespace {
            "" => write!(f, "{kind} {name}"),
            _ => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

/// Member and replicas; zero where the implementation writes none.
pub type Assignment = BTreeMap<String, u64>;

/// The replicas of an assignment, all together.
#[must_use]
pub fn sum(assignment: &Assignment) -> u64 {
    assignment.values().fold(0, |sum, replicas| sum.saturating_add(*replicas))
}

/// Something that is placed on members.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Whether its placement is on record (a binding exists); else only copies of it were seen.
    pub recorded: bool,
    /// The latest version of that record.
    pub record: Option<ObjectVersion>,
    /// Replicas wanted; zero also for what has none.
    pub replicas: u64,
    /// When the replicas or the placement wanted last changed; zero where they are as they were first seen.
    pub wanted_since: Duration,
    /// The same of the placement alone.
    pub placed_since: Duration,
    /// When it came to where it is, if no toleration begins before that; zero where they begin with the taint.
    pub arrived: Duration,
    /// The name of the policy that it belongs to, with its namespace if it has one; empty where it has none.
    pub policy: String,
    /// The version of its template that the record was last made of.
    pub template: String,
    /// Whether the policy asks for old copies to go at once from a member that fails, or not before the new ones are
    /// there; absent where it says nothing.
    pub purges: Option<bool>,
    /// Whether what it depends on goes along.
    pub leads: bool,
    /// What is held back of what is written for members.
    pub held_back: DispatchSuspension,
    /// Whether somebody has suspended its scheduling.
    pub suspended: bool,
    /// Who is to schedule it; empty for the default.
    pub scheduler: String,
    /// Whether somebody asked for a choice from scratch, and it has not been made yet.
    pub asked_anew: bool,
    /// Where it may run.
    pub placement: Placement,
    /// Whether it has a placement of its own, and whoever judges places it: not so for what only goes where others
    /// need it, or while somebody holds its placement back.
    pub placeable: bool,
    /// Its kind as members serve it: `apps/v1/Deployment`.
    pub served_as: String,
    /// Whether its owner keeps one like it on every member.
    pub everywhere: bool,
    /// Whether it is a workload that has replicas, be they none at present.
    pub has_replicas: bool,
    /// What one replica needs of each resource, in thousandths.
    pub request: BTreeMap<String, u64>,
    /// The name of the group of members in use, where the placement names several.
    pub group: String,
    /// How long it may be unhealthy in a member until it leaves it; absent where it stays.
    pub unhealthy_for: Option<Duration>,
    /// What a copy that leaves for that says of itself, to be handed on: paths into its status.
    pub hands_on: BTreeSet<String>,
    /// What the control plane says of it: type and status of its conditions.
    pub conditions: BTreeMap<String, String>,
    /// Where those are that need it, by the names of their records.
    pub required_by: BTreeMap<String, BTreeSet<String>>,
    /// What is wrong with the record of its assignment in itself, in words.
    pub defects: Vec<String>,
    /// What it tolerates, by the placement that was last applied.
    pub tolerations: Vec<Toleration>,
    /// Where it is to run.
    pub assignment: Assignment,
    /// Members being evicted from. More than one for a member is a defect that is kept here.
    pub evictions: Vec<EvictionTask>,
    /// When an event last announced the end of an eviction from each member.
    pub announced: BTreeMap<String, Duration>,
    /// Whether the scheduler has seen the latest version of the record.
    pub scheduled: bool,
    /// What the control plane tells about it in each member.
    pub instances: BTreeMap<String, Instance>,
    /// Manifests delivered, by member.
    pub deliveries: BTreeMap<String, Delivery>,
    /// What really runs, by member, as that member's own API tells.
    pub running: BTreeMap<String, Running>,
    /// The members whose latest manifest, or copy, took some time to be deleted: until when those who wait for its end may wait
    /// before they look again.
    pub retried: BTreeMap<String, Duration>,
}

/// An eviction under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Whether the old copy is to be kept until somebody says otherwise.
    pub keeps: bool,
    /// Whether the workload's own health is the reason.
    pub by_health: bool,
    /// The replicas that the member had; absent where it does not say.
    pub replicas: Option<u64>,
    /// What the new copy is to be told of the old one: labels and their values.
    pub preserved: BTreeMap<String, String>,
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
    /// Replicas ready, where the status says; none also where it leaves out all counts, as those of zero are.
    pub ready: Option<u64>,
    /// Whether it is written to the member.
    pub applied: bool,
    /// Paths to what its status says, where any of it is to be handed on.
    pub says: BTreeSet<String>,
}

/// A manifest delivered to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The name of what carries it.
    pub by: String,
    /// Replicas that it asks for; zero also for what has none.
    pub replicas: u64,
    /// Since when it is being deleted, if it is.
    pub leaving: Option<Duration>,
    /// Whether it is kept, while it is being deleted, by a finalizer that is not the control plane's own.
    pub held_up: bool,
    /// Whether that had begun before it was first seen, and nobody knows when.
    pub leaving_before: bool,
    /// Stands for all that it asks for.
    pub content: u64,
    /// What of that is looked at.
    pub asks: Arc<Content>,
    /// Whether an override policy has changed it.
    pub overridden: bool,
    /// Namespace and name of the service whose addresses it brings from the member.
    pub collected: Option<(String, String)>,
    /// The labels that it asks for.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Whether it is for a placement on record, rather than for every member.
    pub placed: bool,
    /// Whether it was written to the member; absent where nobody has tried.
    pub applied: Option<bool>,
    /// Whether somebody holds back what would be written.
    pub suspended: bool,
    /// Whether the member keeps its copy when this goes.
    pub preserved: bool,
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
    /// Since when it is being deleted, if it is: it stays for as long as a finalizer of somebody in the member keeps it.
    pub leaving: Option<Duration>,
    /// What it asks for.
    pub asks: Arc<Content>,
    /// Whether it is the control plane's, rather than the member's own.
    pub managed: bool,
    /// The name of what carried it there, by its own account.
    pub by: String,
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

    /// The members that are to hold a copy: those assigned, those that need it for others, and those that it has not
    /// left yet, unless it leaves them directly.
    pub fn holders(&self) -> impl Iterator<Item = &String> {
        let leaving = self.evictions.iter().filter(|task| !task.directly).map(|task| &task.member);
        self.targets().chain(leaving)
    }

    /// The members that get a copy: those assigned, and those that need it for others.
    pub fn targets(&self) -> impl Iterator<Item = &String> {
        self.assignment.keys().chain(self.required_by.values().flatten())
    }

    /// How long from `now` on those may wait before they look again who waited for the end of something in `member`.
    #[must_use]
    pub fn retried_after(&self, member: &str, now: Duration) -> Duration {
        self.retried.get(member).map(|until| until.saturating_sub(now)).unwrap_or_default()
    }

    /// What the condition called `name` says; empty where there is none.
    #[must_use]
    pub fn condition(&self, name: &str) -> &str {
        self.conditions.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The replicas that run and are ready, over all members.
    #[must_use]
    pub fn ready(&self) -> u64 {
        self.running.values().fold(0, |sum, running| sum.saturating_add(running.ready))
    }
}
