//! One outage of one member, and what it did to each workload that ran there.

use std::time::Duration;

use capsize_history::facts::WorkloadKey;

/// A fault on a member. Every length of time counts from its beginning, and is absent for what has not come.
#[derive(Clone, Debug)]
pub struct Outage {
    /// The member.
    pub member: String,
    /// The kind of the fault: `refuse`, `partition`.
    pub fault: String,
    /// When it began.
    pub began: Duration,
    /// How long it lasted.
    pub lasted: Option<Duration>,
    /// Until the control plane no longer held the member for ready.
    pub detected: Option<Duration>,
    /// Until the member had a taint that evicts.
    pub tainted: Option<Duration>,
    /// What was assigned to the member when it began.
    pub moves: Vec<Move>,
}

/// What an outage did to one workload.
#[derive(Clone, Debug)]
pub struct Move {
    /// The workload.
    pub workload: WorkloadKey,
    /// Until its eviction from the member began.
    pub evicted: Option<Duration>,
    /// Until it was wholly assigned to others.
    pub placed: Option<Duration>,
    /// Until it was ready wherever it is assigned.
    pub served: Option<Duration>,
    /// Until the member had its copy no more.
    pub gone: Option<Duration>,
    /// How many members it was assigned to.
    pub(super) members: usize,
}

impl Outage {
    pub(super) fn new(member: String, fault: String, began: Duration, moves: Vec<Move>) -> Self {
        Self { member, fault, began, lasted: None, detected: None, tainted: None, moves }
    }

    /// Whether nothing more is to come of it: it has ended, and so has every eviction that it caused.
    pub(super) fn is_over(&self, ready: bool) -> bool {
        let moved = |each: &Move| each.evicted.is_none() || (each.served.is_some() && each.gone.is_some());
        self.lasted.is_some() && ready && self.moves.iter().all(moved)
    }
}

impl Move {
    pub(super) fn new(workload: WorkloadKey, members: usize) -> Self {
        Self { workload, evicted: None, placed: None, served: None, gone: None, members }
    }
}
