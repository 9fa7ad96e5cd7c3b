//! One outage of one member, and its effect on each workload that ran there.

use std::time::Duration;

use capsize_history::facts::WorkloadKey;

/// A period in which faults cut a member off. Overlapping faults are one outage.
/// Every duration counts from its beginning, and is `None` if the event did not happen.
#[derive(Clone, Debug)]
pub struct Outage {
    /// The member.
    pub member: String,
    /// The kind of the first fault: `refuse`, `partition`.
    pub fault: String,
    /// The time when the fault began.
    pub began: Duration,
    /// The duration of the fault.
    pub lasted: Option<Duration>,
    /// The time until the control plane no longer considered the member ready.
    pub detected: Option<Duration>,
    /// The time until the member had a taint that evicts.
    pub tainted: Option<Duration>,
    /// The workloads that were assigned to the member when the fault began.
    pub moves: Vec<WorkloadEffect>,
}

/// The effect of an outage on one workload.
#[derive(Clone, Debug)]
pub struct WorkloadEffect {
    /// The workload.
    pub workload: WorkloadKey,
    /// The time until its eviction from the member began.
    pub evicted: Option<Duration>,
    /// The time until it was completely assigned to other members.
    pub placed: Option<Duration>,
    /// The time until it was ready on all assigned members.
    pub served: Option<Duration>,
    /// The time until the member no longer had its copy.
    pub gone: Option<Duration>,
    /// The number of members that it was assigned to.
    pub(super) members: usize,
}

impl Outage {
    pub(super) fn new(member: String, fault: String, began: Duration, moves: Vec<WorkloadEffect>) -> Self {
        Self { member, fault, began, lasted: None, detected: None, tainted: None, moves }
    }

    /// Returns true if the outage has ended, and every eviction that it caused is complete.
    pub(super) fn is_over(&self, ready: bool) -> bool {
        let moved =
            |each: &WorkloadEffect| each.evicted.is_none() || (each.served.is_some() && each.gone.is_some());
        self.lasted.is_some() && ready && self.moves.iter().all(moved)
    }
}

impl WorkloadEffect {
    pub(super) fn new(workload: WorkloadKey, members: usize) -> Self {
        Self { workload, evicted: None, placed: None, served: None, gone: None, members }
    }
}
