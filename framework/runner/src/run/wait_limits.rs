//! How long `within: bound` waits: as long as the target may take, computed from its timings.
//! The limits only decide when a step gives up. The guarantees judge, on the history, whether the target was in time.

use std::time::Duration;

use capsize_history::facts::LONGEST_BACK_OFF;
use capsize_judge::profile::{Feature, Profile};

/// The longest times that a target may take.
/// Each is counted from the first cause in the worst case, so a wait that begins later gives up a little later than it
/// could.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLimits<'a> {
    pub(super) profile: &'a Profile,
    /// The number of members. They may be processed one after another.
    pub(super) members: usize,
}

/// Karmada's controllers check what they wait for at least this often.
const RECHECK: Duration = Duration::from_secs(10);

impl WaitLimits<'_> {
    /// Until a member that stays dead (or alive) is reported so.
    pub(super) fn health(self) -> Duration {
        let t = &self.profile.timings;
        let probe = t.silent_probe.unwrap_or_default().max(t.refused_probe);
        let cycle = t.status_update_frequency + probe;
        let threshold = t.failure_threshold.max(t.success_threshold);
        cycle * 2 + round_up(threshold, cycle) + t.monitor_grace_period + t.latency
    }

    /// Until the health of a member has added or removed a taint.
    /// `evicting` is true for a `NoExecute` taint.
    pub(super) fn taint(self, evicting: bool) -> Duration {
        let t = &self.profile.timings;
        let automatic = evicting && self.profile.has(Feature::AutomaticNoExecute);
        let timeout = if automatic { t.failover_eviction_timeout } else { Duration::ZERO };
        let turns = u32::try_from(self.members).unwrap_or(u32::MAX).saturating_add(1);
        let pause = self.profile.zones.as_ref().filter(|_| evicting).map(|zones| zones.eviction_pause);
        let turns = pause.unwrap_or_default().saturating_mul(turns);
        self.health() + timeout + turns + t.monitor_period * 2 + t.latency
    }

    /// Until a workload has left a member that died.
    /// `tolerated` is the longest time that the workload tolerates a taint.
    pub(super) fn eviction(self, tolerated: Duration) -> Duration {
        let t = &self.profile.timings;
        self.taint(true) + tolerated + t.eviction_pace.unwrap_or_default() + RECHECK + t.latency
    }

    /// Until the workload runs elsewhere, if replicas take `start_up` to become ready.
    pub(super) fn replacement(self, tolerated: Duration, start_up: Duration) -> Duration {
        self.eviction(tolerated) + RECHECK + start_up + self.profile.timings.latency
    }

    /// Until the eviction of the workload has ended.
    pub(super) fn end_of_eviction(self, tolerated: Duration) -> Duration {
        let t = &self.profile.timings;
        let poll = t.graceful_eviction_timeout / 10;
        self.eviction(tolerated) + t.graceful_eviction_timeout + poll + RECHECK + t.latency
    }

    /// Until nothing moves any more.
    pub(super) fn rest(self, tolerated: Duration, start_up: Duration) -> Duration {
        self.end_of_eviction(tolerated) + self.replacement(tolerated, start_up)
    }

    /// Until the old copy is gone from a member that has returned.
    pub(super) fn removal(self, tolerated: Duration) -> Duration {
        self.end_of_eviction(tolerated) + self.taint(false) + LONGEST_BACK_OFF
    }
}

/// The smallest multiple of `step` that is not less than `duration`.
fn round_up(duration: Duration, step: Duration) -> Duration {
    let steps = duration.as_micros().div_ceil(step.as_micros().max(1));
    step * u32::try_from(steps).unwrap_or(u32::MAX)
}
