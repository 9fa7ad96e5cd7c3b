//! The clock of a recording, which may have the speed of simulated clusters instead of real time.

use std::time::Duration;

use capsize_clock::Clock;
use jiff::{SignedDuration, Timestamp};

use capsize_history::FOREVER;

/// A clock that may be faster or slower than the clock from which it is derived.
/// Waiting uses the underlying clock.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    clock: Clock,
    /// The first time that the clock shows, and its speed.
    /// The field is `None` if the clock has the speed of the underlying clock.
    own: Option<(Timestamp, f64)>,
}

impl From<Clock> for Pace {
    fn from(clock: Clock) -> Self {
        Self { clock, own: None }
    }
}

impl Pace {
    /// A clock with this `speed` that starts now and shows `first`.
    #[must_use]
    pub fn at_speed(clock: Clock, speed: f64, first: Timestamp) -> Self {
        Self { clock: Clock::starting_at(clock.now()), own: Some((first, speed)) }
    }

    /// How long the clock has run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.scaled(self.clock.elapsed())
    }

    /// The time that the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let Some((first, _)) = self.own else { return self.clock.now() };
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        first.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// How far the clock advances while `length` passes on the underlying clock.
    #[must_use]
    pub fn scaled(&self, length: Duration) -> Duration {
        let Some((_, speed)) = self.own else { return length };
        Duration::try_from_secs_f64(length.as_secs_f64() * speed).unwrap_or(FOREVER)
    }

    /// Waits for `length` on the underlying clock.
    pub(super) async fn sleep(&self, length: Duration) {
        self.clock.sleep(length).await;
    }
}
