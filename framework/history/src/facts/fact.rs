//! A fact: one change of the neutral state, with the object version that witnesses it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::names::Names;
use super::{Assignment, EvictionTask, Health, Taint, Uncertainty, WorkloadKey};
use crate::format::{FaultKind, Mark};

/// Something that changed, with the object version that shows it.
#[derive(Clone, Debug)]
pub struct Fact {
    /// When it was observed, since the start of the history.
    pub at: Duration,
    /// How exactly the time is known.
    pub uncertainty: Uncertainty,
    /// The change.
    pub change: Change,
    /// The object version that shows the change; absent for marks.
    pub witness: Option<ObjectVersion>,
}

/// One version of one object, cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    on: Arc<str>,
    /// Kind, name and version.
    names: Names,
}

impl ObjectVersion {
    /// A version of the object with this name. The name includes the namespace, if there is one:
    /// `default/web`.
    #[must_use]
    pub fn new(on: Arc<str>, kind: &str, name: &str, version: &str) -> Self {
        Self { on, names: Names::new([kind, name, version]) }
    }

    /// The cluster whose API sent the object.
    #[must_use]
    pub fn on(&self) -> &str {
        &self.on
    }

    /// The kind of the object.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.names.get(0)
    }

    /// The name of the object, with the namespace if it has one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names.get(1)
    }

    /// The resource version of the object.
    #[must_use]
    pub fn version(&self) -> &str {
        self.names.get(2)
    }
}

impl fmt::Display for ObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, version {}", self.kind(), self.name(), self.version())
    }
}

/// The change in a fact. The [`World`](super::World) already shows the state after the change.
#[derive(Clone, Debug)]
pub enum Change {
    /// A fault began. The fault hits a member, or the control plane.
    FaultBegan {
        /// The kind of the fault.
        fault: FaultKind,
        /// The member that the fault hits.
        member: Option<String>,
    },
    /// A fault ended.
    FaultEnded {
        /// The same as when it began.
        fault: FaultKind,
        /// The same as when it began.
        member: Option<String>,
    },
    /// The clock of this member, or of the control plane, was set wrong.
    ClockWrong {
        /// The owner of the clock; absent for the control plane.
        member: Option<String>,
        /// The offset, in either direction.
        by: Duration,
    },
    /// A clock was set right.
    ClockRight {
        /// The same as when it was set wrong.
        member: Option<String>,
        /// The same as when it was set wrong.
        by: Duration,
    },
    /// Any other mark: a step of the scenario.
    Step(Mark),
    /// The health of a member changed, or was observed for the first time (`was` is then absent).
    Health {
        /// The member.
        member: String,
        /// The health before; absent also if the member never reported.
        was: Option<Health>,
        /// The health now; absent if the member never reported.
        now: Option<Health>,
        /// Whether this is the first observation of the member.
        first: bool,
    },
    /// A member has a taint that it did not have before.
    TaintAdded {
        /// The member.
        member: String,
        /// The taint.
        taint: Taint,
        /// Whether the member had the taint at its first observation.
        first: bool,
    },
    /// A taint was removed from a member.
    TaintRemoved {
        /// The member.
        member: String,
        /// The taint as it was.
        taint: Taint,
    },
    /// Something changed about a member that affects the choice of members.
    /// Comes after the facts of the changes.
    MemberChanged(String),
    /// The status of a member changed, apart from its conditions.
    MemberReported {
        /// The member.
        member: String,
        /// The health of the member before.
        was: Option<Health>,
    },
    /// A condition of a member changed, or its first conditions were observed.
    Conditions(String),
    /// A member that reports by itself has reported.
    SignOfLife(String),
    /// The time for which a member may be silent has changed.
    GraceChanged {
        /// The member.
        member: String,
        /// The time before; absent if the same time held for all members.
        was: Option<Duration>,
    },
    /// The way in which the control plane reaches a member changed.
    Access(String),
    /// A policy on the placement of templates was created, changed or deleted.
    Policy(String),
    /// Override policies changed.
    Overrides,
    /// A template was created, changed or deleted.
    Template(WorkloadKey),
    /// A namespace of the control plane was created, changed or deleted.
    Namespace(String),
    /// The record of a workload belongs to another policy than before.
    Claimed {
        /// The workload.
        workload: WorkloadKey,
        /// The policy before; empty if there was none.
        was: String,
    },
    /// The suspension of dispatching in the record changed.
    HeldBack(WorkloadKey),
    /// A policy of the user on taints was created, changed or deleted.
    TaintPolicy(String),
    /// A member is being removed.
    MemberLeaving(String),
    /// A member is gone.
    MemberGone(String),
    /// The record of a workload's placement has a new version, whatever changed in it.
    /// Comes after the facts of the changes.
    Recorded(WorkloadKey),
    /// The members changed to which other workloads bring this workload, by its record.
    Required(WorkloadKey),
    /// The wanted replicas, or the wanted placement, changed.
    Wanted(WorkloadKey),
    /// The assignment of members changed.
    Assigned {
        /// The workload.
        workload: WorkloadKey,
        /// Member and replicas before.
        was: Assignment,
        /// Member and replicas now.
        now: Assignment,
        /// Whether this is the first observation, so that the time of the assignment is unknown.
        first: bool,
    },
    /// An eviction task appeared.
    EvictionBegan {
        /// The workload.
        workload: WorkloadKey,
        /// The task.
        task: Box<EvictionTask>,
    },
    /// An eviction task was stamped with its creation time.
    EvictionStamped {
        /// The workload.
        workload: WorkloadKey,
        /// The task, stamped.
        task: Box<EvictionTask>,
    },
    /// An eviction task changed, apart from getting its first stamp.
    EvictionChanged {
        /// The workload.
        workload: WorkloadKey,
        /// The task as it was.
        was: Box<EvictionTask>,
        /// The task as it is.
        task: Box<EvictionTask>,
    },
    /// An eviction task is gone.
    EvictionEnded {
        /// The workload.
        workload: WorkloadKey,
        /// The task as it was.
        task: Box<EvictionTask>,
    },
    /// An event says that the eviction of a workload from a member has ended.
    EvictionAnnounced {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// The reported health of a workload in a member changed.
    InstanceHealth {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// Only counts of replicas in the report about a workload in a member changed.
    InstanceCounts {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// A manifest for a member was written, or rewritten with other replicas.
    Delivered {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
        /// Whether there was no manifest before.
        new: bool,
    },
    /// The content of a manifest for a member changed.
    Rewritten {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// The state of a manifest for a member changed: whether it is applied, suspended, or preserved.
    DeliveryReported {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// A second manifest for the same copy in the same member appeared.
    DeliveredTwice {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// The deletion of a manifest for a member began.
    Recalled {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// A manifest for a member is gone.
    DeliveryGone {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// A copy in a member changed, by the API of that member.
    Running {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// A copy is gone from a member, by the API of that member.
    RunningGone {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// The record of a workload's placement is gone.
    WorkloadGone(WorkloadKey),
}

impl Change {
    /// The workload that the change is about, if there is one.
    #[must_use]
    pub fn workload(&self) -> Option<&WorkloadKey> {
        match self {
            Self::Template(workload)
            | Self::Claimed { workload, .. }
            | Self::HeldBack(workload)
            | Self::Recorded(workload)
            | Self::Required(workload)
            | Self::Wanted(workload)
            | Self::Assigned { workload, .. }
            | Self::EvictionBegan { workload, .. }
            | Self::EvictionStamped { workload, .. }
            | Self::EvictionChanged { workload, .. }
            | Self::EvictionEnded { workload, .. }
            | Self::EvictionAnnounced { workload, .. }
            | Self::InstanceHealth { workload, .. }
            | Self::InstanceCounts { workload, .. }
            | Self::Delivered { workload, .. }
            | Self::Rewritten { workload, .. }
            | Self::DeliveryReported { workload, .. }
            | Self::DeliveredTwice { workload, .. }
            | Self::Recalled { workload, .. }
            | Self::DeliveryGone { workload, .. }
            | Self::Running { workload, .. }
            | Self::RunningGone { workload, .. }
            | Self::WorkloadGone(workload) => Some(workload),
            _ => None,
        }
    }

    /// The member that the change is about, if there is one.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        match self {
            Self::FaultBegan { member, .. }
            | Self::FaultEnded { member, .. }
            | Self::ClockWrong { member, .. }
            | Self::ClockRight { member, .. } => member.as_deref(),
            Self::Health { member, .. }
            | Self::TaintAdded { member, .. }
            | Self::TaintRemoved { member, .. }
            | Self::MemberChanged(member)
            | Self::MemberReported { member, .. }
            | Self::GraceChanged { member, .. }
            | Self::Conditions(member)
            | Self::SignOfLife(member)
            | Self::Access(member)
            | Self::MemberLeaving(member)
            | Self::MemberGone(member)
            | Self::EvictionAnnounced { member, .. }
            | Self::InstanceHealth { member, .. }
            | Self::InstanceCounts { member, .. }
            | Self::Delivered { member, .. }
            | Self::Rewritten { member, .. }
            | Self::DeliveryReported { member, .. }
            | Self::DeliveredTwice { member, .. }
            | Self::Recalled { member, .. }
            | Self::DeliveryGone { member, .. }
            | Self::Running { member, .. }
            | Self::RunningGone { member, .. } => Some(member),
            Self::EvictionBegan { task, .. }
            | Self::EvictionStamped { task, .. }
            | Self::EvictionChanged { task, .. }
            | Self::EvictionEnded { task, .. } => Some(&task.member),
            _ => None,
        }
    }
}
