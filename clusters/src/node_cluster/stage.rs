//! How long each stage takes of what goes on in a cluster, as data.

use std::time::Duration;

use capsize_clock::Stream;
use rand::RngExt;

/// How long a stage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always as long.
    Always(Duration),
    /// Drawn evenly from this range, both ends included.
    Between(Duration, Duration),
}

impl Delay {
    /// How long it takes this time.
    pub(super) fn draw(self, chance: &mut Stream) -> Duration {
        match self {
            Self::Between(least, most) if least < most => chance.random_range(least..=most),
            Self::Always(delay) | Self::Between(delay, _) => delay,
        }
    }
}

/// How long the stages take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    /// From one renewal of a Lease to the next, and from one look of a kubelet at its Node to the next.
    pub heartbeat: Duration,
    /// How often a kubelet posts a status in which nothing has changed (`nodeStatusReportFrequency`).
    pub report: Duration,
    /// How long the scheduler takes to find a node for a pod.
    pub schedule: Delay,
    /// How long a pod takes on its node until it is ready.
    pub start: Delay,
    /// How long it takes to end; its grace period at most.
    pub stop: Delay,
    /// How long owners take to make a pod in the place of one that is going.
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
