//! A view of a running fleet: its present state, its history so far, and its time line.

use capsize_clock::Clock;
use capsize_report::{CaseTimeline, Snapshot};

use crate::run::log::Log;
use crate::run::run_state::RunState;

/// A view of a running fleet. Clones see the same fleet.
#[derive(Clone)]
pub struct View {
    pub(in crate::run) log: Log,
    pub(in crate::run) clock: Clock,
    pub(in crate::run) speed: f64,
}

impl View {
    /// The present state of the fleet.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let now = self.log.now();
        let (events, faults) = self.log.state(|state| (state.recent(), state.fault_evidence()));
        self.log.look(|world, _| Snapshot::of(world, (now, self.clock.now(), self.speed), &events, &faults))
    }

    /// The clock of the fleet.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Seconds of the fleet for each second of real time.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// The time line so far.
    #[must_use]
    pub fn timeline(&self) -> Option<CaseTimeline> {
        self.log.state(|state| state.timeline())
    }

    /// The number of changes so far, which grows whenever anything is recorded.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.log.version()
    }

    /// The lines of the history since the last call of this function.
    #[must_use]
    pub fn new_history(&self) -> Vec<u8> {
        self.log.state(RunState::drain_history)
    }
}
