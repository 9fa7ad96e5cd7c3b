//! The duration of each simulated stage in a cluster, as data.

use std::time::Duration;

use capsize_clock::Stream;
use rand::RngExt;

/// The duration of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always the same.
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
    /// The period at which a kubelet renews its Lease and looks at its Node.
    pub heartbeat: Duration,
    /// The period at which a kubelet posts a status that has not changed (`nodeStatusReportFrequency`).
    pub report: Duration,
    /// From the creation of a pod until it is bound to a node.
    pub schedule: Delay,
    /// From the binding of a pod until it is ready.
    pub start: Delay,
    /// From the deletion of a pod until it is gone; at most its grace period.
    pub stop: Delay,
    /// From the deletion of a pod until its owner creates a replacement.
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
