//! The duration of each simulated stage in a cluster, as data.

use std::time::Duration;

use capsize_clock::Stream;
use rand::RngExt;

/// The duration of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// A constant time.
    Always(Duration),
    /// Drawn uniformly from this range, both ends included.
    Between(Duration, Duration),
}

impl Delay {
    /// Draws a duration.
    pub(super) fn draw(self, chance: &mut Stream) -> Duration {
        match self {
            Self::Between(least, most) if least < most => chance.random_range(least..=most),
            Self::Always(delay) | Self::Between(delay, _) => delay,
        }
    }
}

/// The durations of all stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    /// The period at which a kubelet renews its Lease and checks its Node.
    pub heartbeat: Duration,
    /// The period at which a kubelet posts an unchanged status (`nodeStatusReportFrequency`).
    pub report: Duration,
    /// The time from the creation of a pod to its binding.
    pub schedule: Delay,
    /// The time from the binding of a pod to its readiness.
    pub start: Delay,
    /// The time from the deletion of a pod to its removal; at most its grace period.
    pub stop: Delay,
    /// The time from the deletion of a pod to the creation of its replacement.
    pub replace: Delay,
}

impl Default for Stages {
    fn default() -> Self {
        let millis = Duration::from_millis;
        Self {
            heartbeat: Duration::from_secs(10),
            report: Duration::from_secs(300),
            schedule: Delay::Always(millis(20)),
            start: Delay::Always(millis(1500)),
            stop: Delay::Always(millis(500)),
            replace: Delay::Always(millis(100)),
        }
    }
}
