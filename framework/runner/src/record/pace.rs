//! The time of a recording: that of the world, or that of clusters whose clocks go at a speed of their own.

use std::time::Duration;

use capsize_clock::Clock;
use jiff::{SignedDuration, Timestamp};

use capsize_history::FOREVER;

/// A clock that may go faster or slower than the one that it is read from. Whoever waits waits in the time of the world.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    clock: Clock,
    /// What it showed at first, and its speed, where that is not the speed of the world.
    own: Option<(Timestamp, f64)>,
}

impl From<Clock> for Pace {
    fn from(clock: Clock) -> Self {
        Self { clock, own: None }
    }
}

impl Pace {
    /// The clock of clusters that goes at `speed`, begins now, and shows `first`.
    #[must_use]
    pub fn at_speed(clock: Clock, speed: f64, first: Timestamp) -> Self {
        Self { clock: Clock::starting_at(clock.now()), own: Some((first, speed)) }
    }

    /// How long it has run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.scaled(self.clock.elapsed())
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let Some((first, _)) = self.own else { return self.clock.now() };
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        first.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// How far it goes in so much time of the world.
    #[must_use]
    pub fn scaled(&self, length: Duration) -> Duration {
        let Some((_, speed)) = self.own else { return length };
        Duration::try_from_secs_f64(length.as_secs_f64() * speed).unwrap_or(FOREVER)
    }

    /// Waits for so much time of the world.
    pub(super) async fn sleep(&self, length: Duration) {
        self.clock.sleep(length).await;
    }
}
