//! Wall time derived from the runtime's own instant, so that a paused runtime has a paused wall clock.
//!
//! What a time stamp means is left to the kinds that carry it; here is only how one is made and written.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Unit};
use tokio::time::Instant;

/// The wall clock of one run: an epoch, and how far the runtime has moved since. Cheap to clone.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Timestamp,
    start: Instant,
}

impl Clock {
    /// A clock that shows `epoch` now and moves with the tokio runtime: virtual where that is paused.
    #[must_use]
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self { epoch, start: Instant::now() }
    }

    /// A clock that shows the machine's time. For runs on real clusters.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place where real time enters")]
    pub fn real() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// The present wall time, to the nanosecond.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.saturating_add(since).unwrap_or(Timestamp::MAX)
    }

    /// The present wall time as Kubernetes writes it into objects (`metav1.Time`): whole seconds, cut off.
    #[must_use]
    pub fn now_in_seconds(&self) -> Timestamp {
        whole_seconds(self.now())
    }

    /// How long this clock has run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Waits until `duration` has passed on this clock.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// `time` with its fraction of a second cut off, which is all that `metav1.Time` keeps.
#[must_use]
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    let rounded = time.round(jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor));
    rounded.unwrap_or(time)
}

/// Reads an RFC 3339 time stamp as objects carry it; `None` where `text` is not one.
#[must_use]
pub fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wall_time_moves_with_the_paused_runtime() {
        let clock = Clock::starting_at("2030-01-01T00:00:00.25Z".parse().unwrap());
        clock.sleep(Duration::from_secs(86_400)).await;
        assert_eq!(clock.now().to_string(), "2030-01-02T00:00:00.25Z");
        assert_eq!(clock.now_in_seconds().to_string(), "2030-01-02T00:00:00Z");
    }

    #[test]
    fn a_time_stamp_loses_its_fraction_and_never_rounds_up() {
        let time: Timestamp = "2030-01-01T00:00:00.999999999Z".parse().unwrap();
        assert_eq!(whole_seconds(time).to_string(), "2030-01-01T00:00:00Z");
    }
}
