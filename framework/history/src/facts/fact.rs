//! A fact: one change of the neutral state, with the object version that witnesses it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::names::Names;
use super::{Assignment, EvictionTask, Health, Taint, Uncertainty, WorkloadKey};
use crate::format::{FaultKind, Mark};

/// Something that changed, and who says so.
#[derive(Clone, Debug)]
pub struct Fact {
    /// When it was observed, since the start of the history.
    pub at: Duration,
    /// How exactly that is known.
    pub uncertainty: Uncertainty,
    /// What changed.
    pub change: Change,
    /// The object version that shows it; absent for what a mark says.
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
    /// `name` carries the namespace, if any: `default/web`.
    #[must_use]
    pub fn new(on: Arc<str>, kind: &str, name: &str, version: &str) -> Self {
        Self { on, names: Names::new([kind, name, version]) }
    }

    /// The cluster whose API sent it.
    #[must_use]
    pub fn on(&self) -> &str {
        &self.on
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.names.get(0)
    }

    /// Its name, with the namespace if it has one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names.get(1)
    }

    /// Its resource version.
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

/// What a fact says. The [`World`](super::World) already shows the state after it.
#[derive(Clone, Debug)]
pub enum Change {
    /// A fault began: its kind, and the member that it hits, if it hits one.
    FaultBegan {
        /// Its kind.
        fault: FaultKind,
        /// The member hit.
        member: Option<String>,
    },
    /// A fault ended.
    FaultEnded {
        /// The same as when it began.
        fault: FaultKind,
        /// The same as when it began.
        member: Option<String>,
    },
    /// A clock was set wrong: that of this member, or that of the control plane.
    ClockWrong {
        /// Whose.
        member: Option<String>,
        /// By how much, either way.
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
    /// A member's health changed, or was seen for the first time (`was` is then absent).
    Health {
        /// The member.
        member: String,
        /// Before; absent also where it never reported.
        was: Option<Health>,
        /// Now; absent where it never reported.
        now: Option<Health>,
        /// Whether this is the first sight of the member.
        first: bool,
    },
    /// A taint is on a member that was not there before.
    TaintAdded {
        /// The member.
        member: String,
        /// The taint.
        taint: Taint,
        /// Whether it was there already at the first sight of the member.
        first: bool,
    },
    /// A taint is gone from a member.
    TaintRemoved {
        /// The member.
        member: String,
        /// The taint as it was.
        taint: Taint,
    },
    /// Anything about a member changed that a choice of members looks at. Comes after the facts of what changed.
    MemberChanged(String),
    /// A member tells something else of itself than before, beside its conditions.
    MemberReported {
        /// The member.
        member: String,
        /// Its health before.
        was: Option<Health>,
    },
    /// A condition of a member changed, or its first ones were seen.
    Conditions(String),
    /// Something was heard of a member that reports by itself.
    SignOfLife(String),
    /// How a member is reached changed.
    Access(String),
    /// A policy on the placement of templates appeared, changed or went.
    Policy(String),
    /// Policies on how copies differ changed.
    Overrides,
    /// A template appeared, changed or went.
    Template(WorkloadKey),
    /// A namespace of the control plane appeared, changed or went.
    Namespace(String),
    /// The record of a workload belongs to another policy than before.
    Claimed {
        /// The workload.
        workload: WorkloadKey,
        /// The policy that had it; empty where none had.
        was: String,
    },
    /// What is held back of what is written for members changed, as the record says.
    HeldBack(WorkloadKey),
    /// A policy of the user on taints appeared, changed or went.
    TaintPolicy(String),
    /// A member is being removed.
    MemberLeaving(String),
    /// A member is gone.
    MemberGone(String),
    /// The record of a workload's placement has a new version, whatever changed in it. Comes after the facts of
    /// what changed.
    Recorded(WorkloadKey),
    /// Where those are that need the workload, as its record says, changed.
    Required(WorkloadKey),
    /// The replicas wanted, or the placement wanted, changed.
    Wanted(WorkloadKey),
    /// The assignment of members changed.
    Assigned {
        /// The workload.
        workload: WorkloadKey,
        /// Member and replicas before.
        was: Assignment,
        /// Member and replicas now.
        now: Assignment,
        /// Whether this is the first sight of it, so that nobody knows when it was made.
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
    /// An eviction task that goes on says something else than before, other than its stamp for the first time.
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
    /// The health that the control plane tells of a workload in a member changed.
    InstanceHealth {
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
        /// Whether there was none before.
        new: bool,
    },
    /// What a manifest for a member asks for changed.
    Rewritten {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// What the control plane says about a manifest for a member changed: whether it was written, is held back, or is
    /// to stay.
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
    /// What runs in a member changed, by that member's own API.
    Running {
        /// The workload.
        workload: WorkloadKey,
        /// The member.
        member: String,
    },
    /// A workload is gone from a member, by that member's own API.
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
    /// The workload that it is about, if it is about one.
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

    /// The member that it is about, if it is about one.
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
            | Self::Conditions(member)
            | Self::SignOfLife(member)
            | Self::Access(member)
            | Self::MemberLeaving(member)
            | Self::MemberGone(member)
            | Self::EvictionAnnounced { member, .. }
            | Self::InstanceHealth { member, .. }
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
