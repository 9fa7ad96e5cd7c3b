//! Measures surplus and missing replicas, unreachable copies, and evictions of one workload.

use std::collections::BTreeSet;
use std::time::Duration;

use capsize_history::facts::{Scheduling, Workload};

/// The numbers of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadNumbers {
    /// Ready replicas above the requested number, in replica-seconds.
    /// They are the price of keeping an old copy until the new one is ready.
    pub double_run_seconds: f64,
    /// Replicas that were requested but not ready in a member that answers, in replica-seconds.
    /// They count after the workload had once been completely ready.
    pub lost_replica_seconds: f64,
    /// The time during which no replica was ready anywhere, after one had been.
    pub zero_run: Duration,
    /// The time during which all ready replicas were in members that a fault cut off.
    pub out_of_reach: Duration,
    /// The number of evictions.
    pub evictions: u64,
    /// The number of evictions from a member without an outage, a removal and a taint by a person.
    pub extra_evictions: u64,
    /// The number of times that the workload returned to a member that it had left.
    pub undone_moves: u64,
}

/// The state of a workload while facts arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkloadState {
    pub(super) numbers: WorkloadNumbers,
    /// The members that it has left.
    pub(super) left: BTreeSet<String>,
    /// The members that it is assigned to, or runs on.
    pub(super) on: BTreeSet<String>,
    since: Duration,
    ran: bool,
    was_whole: bool,
    state: State,
}

#[derive(Clone, Debug, Default)]
struct State {
    surplus: u64,
    lacking: u64,
    ready: bool,
    reachable: bool,
}

impl WorkloadState {
    /// Records the state of the workload from `now` on. `cut_off` returns true for a member with a fault.
    pub(super) fn becomes(&mut self, now: Duration, workload: &Workload, cut_off: impl Fn(&str) -> bool) {
        self.advance_to(now);
        let ready = workload.ready();
        let reachable = reachable_replicas(workload, cut_off);
        let asked = if workload.recorded { requested_replicas(workload) } else { 0 };
        let surplus = if asked > 0 { ready.saturating_sub(asked) } else { 0 };
        self.ran = asked > 0 && (self.ran || ready > 0);
        self.was_whole = self.ran && (self.was_whole || reachable >= asked);
        let lacking = if self.was_whole { asked.saturating_sub(reachable) } else { 0 };
        self.state = State { surplus, lacking, ready: ready > 0, reachable: reachable > 0 };
    }

    /// Advances to `now`.
    pub(super) fn advance_to(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.since);
        self.since = now;
        if !self.ran {
            return;
        }
        // The replica-seconds of a run are far below the limit at which a float rounds.
        self.numbers.double_run_seconds += passed.as_secs_f64() * self.state.surplus as f64;
        self.numbers.lost_replica_seconds += passed.as_secs_f64() * self.state.lacking as f64;
        match (self.state.ready, self.state.reachable) {
            (false, _) => self.numbers.zero_run += passed,
            (true, false) => self.numbers.out_of_reach += passed,
            (true, true) => {}
        }
    }
}

/// The ready replicas in members that no fault cuts off.
/// `cut_off` returns true for a member with a fault.
pub fn reachable_replicas(workload: &Workload, cut_off: impl Fn(&str) -> bool) -> u64 {
    let reachable = workload.running.iter().filter(|(member, _)| !cut_off(member));
    reachable.fold(0, |sum, (_, running)| sum.saturating_add(running.ready))
}

/// The number of replicas that are requested on all members together.
#[must_use]
pub fn requested_replicas(workload: &Workload) -> u64 {
    match workload.placement.scheduling {
        Scheduling::Duplicated => workload.replicas.saturating_mul(workload.assignment.len().max(1) as u64),
        Scheduling::DividedByStaticWeight | Scheduling::DividedByCapacity => workload.replicas,
    }
}

impl WorkloadNumbers {
    /// Adds the numbers of another workload, or of another run.
    pub(super) fn add(&mut self, other: &Self) {
        self.double_run_seconds += other.double_run_seconds;
        self.lost_replica_seconds += other.lost_replica_seconds;
        self.zero_run += other.zero_run;
        self.out_of_reach += other.out_of_reach;
        self.evictions += other.evictions;
        self.extra_evictions += other.extra_evictions;
        self.undone_moves += other.undone_moves;
    }
}
