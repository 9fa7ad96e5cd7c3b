//! How many copies of a workload there were, over time.

use std::collections::BTreeSet;
use std::time::Duration;

use capsize_history::facts::{Scheduling, Workload};

/// What one workload came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copies {
    /// Replica-seconds ready above what was asked for: the price of keeping an old copy until the new one is ready.
    pub double_run_seconds: f64,
    /// How long nothing of it was ready anywhere, once it had been.
    pub zero_run: Duration,
    /// How long all that was ready of it was in members that a fault cut off.
    pub out_of_reach: Duration,
    /// Evictions that began.
    pub evictions: u64,
    /// Those of them from a member on which there was no fault and no taint of a person.
    pub extra_evictions: u64,
    /// How often it was assigned to a member again that it had left.
    pub undone_moves: u64,
}

/// A workload as it is followed.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) copies: Copies,
    /// The members that it has left.
    pub(super) left: BTreeSet<String>,
    /// The members that it is assigned to, or runs in.
    pub(super) on: BTreeSet<String>,
    since: Duration,
    ran: bool,
    state: State,
}

#[derive(Debug, Default)]
struct State {
    surplus: u64,
    ready: bool,
    reachable: bool,
}

impl Followed {
    /// The workload is as it is from `now` on, where `cut_off` says of a member that a fault is on it.
    pub(super) fn becomes(&mut self, now: Duration, workload: &Workload, cut_off: impl Fn(&str) -> bool) {
        self.pass(now);
        let ready = workload.ready();
        let reachable =
            workload.running.iter().any(|(member, running)| running.ready > 0 && !cut_off(member));
        let counts = workload.recorded && workload.replicas > 0;
        let surplus = if counts { ready.saturating_sub(asked(workload)) } else { 0 };
        self.ran = counts && (self.ran || ready > 0);
        self.state = State { surplus, ready: ready > 0, reachable };
    }

    /// Time has come to `now`.
    pub(super) fn pass(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.since);
        self.since = now;
        if !self.ran {
            return;
        }
        // Replica-seconds of a run are far below where a float would round.
        self.copies.double_run_seconds += passed.as_secs_f64() * self.state.surplus as f64;
        match (self.state.ready, self.state.reachable) {
            (false, _) => self.copies.zero_run += passed,
            (true, false) => self.copies.out_of_reach += passed,
            (true, true) => {}
        }
    }
}

/// How many replicas are asked for in all members together.
fn asked(workload: &Workload) -> u64 {
    match workload.placement.scheduling {
        Scheduling::Duplicated => workload.replicas.saturating_mul(workload.assignment.len().max(1) as u64),
        Scheduling::DividedByStaticWeight | Scheduling::DividedByCapacity => workload.replicas,
    }
}

impl Copies {
    /// Adds what another workload, or the same in another run, came to.
    pub(super) fn add(&mut self, other: &Self) {
        self.double_run_seconds += other.double_run_seconds;
        self.zero_run += other.zero_run;
        self.out_of_reach += other.out_of_reach;
        self.evictions += other.evictions;
        self.extra_evictions += other.extra_evictions;
        self.undone_moves += other.undone_moves;
    }
}
