//! Workloads, and each step of a copy on its way to a member and away from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::names::Names;
use super::{Content, DispatchSuspension, ObjectVersion, Placement, Toleration};

/// The kind, namespace and name of the object that is copied to members.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadKey(Names);

impl WorkloadKey {
    /// A key. `namespace` is empty for objects without a namespace.
    #[must_use]
    pub fn new(kind: impl AsRef<str>, namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self(Names::new([kind.as_ref(), namespace.as_ref(), name.as_ref()]))
    }

    /// The kind, for example `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.get(0)
    }

    /// The namespace; empty for objects without a namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.0.get(1)
    }

    /// The name without the namespace.
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

/// Members and their replicas; zero if the implementation writes no replicas.
pub type Assignment = BTreeMap<String, u64>;

/// The sum of the replicas of an assignment.
#[must_use]
pub fn sum(assignment: &Assignment) -> u64 {
    assignment.values().fold(0, |sum, replicas| sum.saturating_add(*replicas))
}

/// An object that is placed on members.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Whether a record of the placement exists (a binding). Otherwise only copies were observed.
    pub recorded: bool,
    /// The latest version of the record.
    pub record: Option<ObjectVersion>,
    /// The wanted replicas; zero also for objects without replicas.
    pub replicas: u64,
    /// Whether the history may lack versions of the record just before the latest one.
    pub skipped: bool,
    /// When a version was last observed that follows versions which the history surely lacks.
    /// A silence of the recorder counts, too.
    pub missed: Option<Duration>,
    /// The time at which the wanted replicas or the wanted placement last changed.
    /// The time is zero if they never changed since the first observation.
    pub wanted_since: Duration,
    /// When the wanted placement last changed; zero if it never changed.
    pub placed_since: Duration,
    /// When the wanted placement or the tolerations last changed; zero if they never changed.
    pub constrained_since: Duration,
    /// When the responsible scheduler, or the suspension of the scheduling, last changed.
    /// It is zero if neither ever changed.
    pub reserved_since: Duration,
    /// When the assignment last changed, in a dialect that is data.
    pub assigned_since: Duration,
    /// The number of copies that the record reports as available; absent if it reports none.
    pub available: Option<u64>,
    /// The time at which the workload arrived at its member, if no toleration begins before that.
    /// The time is zero if tolerations begin with the taint.
    pub arrived: Duration,
    /// The name of the policy that owns the workload, with its namespace if it has one.
    /// The name is empty if there is no such policy.
    pub policy: String,
    /// The version of the template from which the record was last made.
    pub template: String,
    /// Whether the policy asks for the deletion of old copies on a failed member at once.
    /// Otherwise the policy asks for the deletion only after the new copies are ready. The field is absent if the
    /// policy does not say.
    pub purges: Option<bool>,
    /// Whether the dependencies of the workload are propagated with it.
    pub leads: bool,
    /// The members for which dispatching is suspended.
    pub held_back: DispatchSuspension,
    /// Whether the scheduling is suspended.
    pub suspended: bool,
    /// The name of the scheduler; empty for the default.
    pub scheduler: String,
    /// Whether a user asked for a choice from scratch that has not been made yet.
    pub asked_anew: bool,
    /// When a user last asked for a choice from scratch.
    pub last_asked: Option<Timestamp>,
    /// The priority among the workloads that wait for the scheduler.
    pub priority: i64,
    /// Whether the scheduler reports that the members have too little room.
    pub lacks_room: bool,
    /// The placement.
    pub placement: Placement,
    /// Whether the workload has a placement of its own, and the judged scheduler places it.
    /// This is not so for a dependency that follows other workloads, or while its scheduling is suspended.
    pub placeable: bool,
    /// The kind as members serve it: `apps/v1/Deployment`.
    pub served_as: String,
    /// Whether its pod has ended for good.
    pub finished: bool,
    /// Whether its controller runs one copy on every member.
    pub everywhere: bool,
    /// Whether the workload has replicas, possibly zero at present.
    pub has_replicas: bool,
    /// The amount of each resource that one replica needs, in thousandths.
    pub request: BTreeMap<String, u64>,
    /// The name of the group of members in use, if the placement has groups.
    pub group: String,
    /// A digest of the rules for failover; absent if there are none.
    pub failover: Option<u64>,
    /// Whether the workload leaves members in which it stays unhealthy.
    pub leaves_when_unhealthy: bool,
    /// How long the workload may be unhealthy in a member before it is evicted; absent if it stays.
    pub unhealthy_for: Option<Duration>,
    /// Paths into the status of a copy that is evicted for its health.
    /// These values are handed on to the new copy.
    pub hands_on: BTreeSet<String>,
    /// The conditions of the record: type and status.
    pub conditions: BTreeMap<String, String>,
    /// The members of the workloads that need this one, by the names of their records.
    pub required_by: BTreeMap<String, BTreeSet<String>>,
    /// The defects of the recorded assignment, in words.
    pub defects: Vec<String>,
    /// The tolerations of the placement that was last applied.
    pub tolerations: Vec<Toleration>,
    /// Whether the scheduler has never recorded a placement as applied, so that no toleration ends.
    pub unapplied: bool,
    /// The members on which the workload is to run.
    pub assignment: Assignment,
    /// The eviction tasks. Two tasks for one member are a defect, and are both kept here.
    pub evictions: Vec<EvictionTask>,
    /// When an event last announced the end of an eviction from each member.
    pub announced: BTreeMap<String, Duration>,
    /// Whether the scheduler has seen the latest version of the record.
    pub scheduled: bool,
    /// The reported state in each member.
    pub instances: BTreeMap<String, Instance>,
    /// The delivered manifests, by member.
    pub deliveries: BTreeMap<String, Delivery>,
    /// The running copies, by member, as the API of that member shows them.
    pub running: BTreeMap<String, Running>,
    /// The members whose latest manifest or copy took some time to be deleted.
    /// The value is the end of the back-off of the controllers that wait for the deletion.
    pub retried: BTreeMap<String, Duration>,
}

/// An eviction in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionTask {
    /// The member.
    pub member: String,
    /// The reason, for example `TaintUntolerated`.
    pub reason: String,
    /// Whether a taint is the reason.
    pub by_taint: bool,
    /// When the task was first observed.
    pub seen: Duration,
    /// Whether the task existed before the history began.
    pub inherited: bool,
    /// Whether the dialect derived the task, so that no object records it.
    /// Such a task never has a time stamp.
    pub is_derived: bool,
    /// The time stamped on the task, to the second; absent until it is stamped.
    pub created: Option<Timestamp>,
    /// When the stamp was first observed.
    pub stamped: Option<Duration>,
    /// The timeout of the task, if it has one.
    pub grace: Option<Duration>,
    /// Whether the old copy is deleted at once, without waiting for the new copy.
    pub directly: bool,
    /// Whether the old copy is kept until a person decides.
    pub keeps: bool,
    /// Whether the health of the workload is the reason.
    pub by_health: bool,
    /// The replicas that the member had; absent if the task does not record them.
    pub replicas: Option<u64>,
    /// The preserved state of the old copy for the new copy: labels and their values.
    pub preserved: BTreeMap<String, String>,
    /// The decision of a person to keep the old copy (`true`) or to drop it (`false`).
    pub suppress_deletion: Option<bool>,
}

/// The health of a workload in a member, as the control plane reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceHealth {
    /// The workload is healthy.
    Healthy,
    /// The workload is not healthy.
    Unhealthy,
    /// The health is not known.
    #[default]
    Unknown,
}

/// A workload in a member, as the control plane reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// The health.
    pub health: InstanceHealth,
    /// The ready replicas; absent if the status does not report them.
    /// Zero if the status omits all counts, as it omits zeros.
    pub ready: Option<u64>,
    /// The replicas of any version, the updated replicas and the available ones.
    /// Each is absent if the status does not report it.
    pub counts: [Option<u64>; 3],
    /// Whether a status is reported.
    /// A history may leave it out.
    pub has_status: bool,
    /// Whether the manifest is applied to the member.
    pub applied: bool,
    /// The paths in the status, if any of them is to be handed on.
    pub says: BTreeSet<String>,
}

/// A manifest delivered to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The name of the Work that carries the manifest.
    pub by: String,
    /// The replicas of the manifest; zero also for objects without replicas.
    pub replicas: u64,
    /// Since when the manifest is being deleted, if it is.
    pub leaving: Option<Duration>,
    /// Whether a finalizer that is not the control plane's own holds up the deletion.
    pub held_up: bool,
    /// Whether the deletion had begun before the first observation, so that its time is unknown.
    pub leaving_before: bool,
    /// A digest of the whole manifest.
    pub content: u64,
    /// The content of the manifest that guarantees compare.
    pub asks: Arc<Content>,
    /// Whether an override policy has changed the manifest.
    pub overridden: bool,
    /// Namespace and name of the service whose endpoints the manifest collects from the member.
    pub collected: Option<(String, String)>,
    /// The labels of the manifest.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Whether the manifest belongs to a recorded placement, rather than to every member.
    pub placed: bool,
    /// Whether the manifest was applied to the member; absent if there was no attempt yet.
    pub applied: Option<bool>,
    /// Whether dispatching of the manifest is suspended.
    pub suspended: bool,
    /// Whether the member keeps its copy when the manifest is deleted.
    pub preserved: bool,
}

/// A running copy in a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The replicas of the object in the member; zero also for objects without replicas.
    pub replicas: u64,
    /// The ready replicas of any version.
    pub ready: u64,
    /// Whether the status is about the present version of the object.
    pub current: bool,
    /// Whether all replicas have the present version, and all of these are available.
    pub rolled_out: bool,
    /// Whether the object has a status.
    /// A history may leave it out.
    pub reports: bool,
    /// Since when the copy is being deleted, if it is.
    /// A finalizer of a controller in the member may keep it.
    pub leaving: Option<Duration>,
    /// The content of the copy.
    pub asks: Arc<Content>,
    /// Whether the control plane manages the copy, rather than the member itself.
    pub managed: bool,
    /// The name of the Work that the copy carries as a mark.
    pub by: String,
}

impl Running {
    /// Whether all replicas of the present version are ready.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.current && self.ready >= self.replicas
    }
}

impl Workload {
    /// The eviction task for `member`, if there is one.
    #[must_use]
    pub fn eviction(&self, member: &str) -> Option<&EvictionTask> {
        self.evictions.iter().find(|task| task.member == member)
    }

    /// Returns the members that are to hold a copy.
    /// These are the assigned members and the members of workloads that need this one. The members that the workload is
    /// being evicted from are included, unless the eviction is direct.
    pub fn holders(&self) -> impl Iterator<Item = &String> {
        let leaving = self.evictions.iter().filter(|task| !task.directly).map(|task| &task.member);
        self.targets().chain(leaving)
    }

    /// The members that get a copy: assigned members, and members of workloads that need this one.
    pub fn targets(&self) -> impl Iterator<Item = &String> {
        self.assignment.keys().chain(self.required_by.values().flatten())
    }

    /// How long controllers that waited for a deletion in `member` may still back off after `now`.
    #[must_use]
    pub fn retried_after(&self, member: &str, now: Duration) -> Duration {
        self.retried.get(member).map(|until| until.saturating_sub(now)).unwrap_or_default()
    }

    /// The status of the condition with this name; empty if there is none.
    #[must_use]
    pub fn condition(&self, name: &str) -> &str {
        self.conditions.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The ready replicas over all members.
    #[must_use]
    pub fn ready(&self) -> u64 {
        self.running.values().fold(0, |sum, running| sum.saturating_add(running.ready))
    }
}
