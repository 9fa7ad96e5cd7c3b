//! Wall time derived from the runtime's own instant, so that a paused runtime has a paused wall clock.
//!
//! This module makes and writes time stamps. The kinds that contain time stamps define their meaning.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Unit};
use tokio::time::Instant;

use crate::offset::Offset;

/// The wall clock of one machine in a run: an epoch, the time of the runtime since then, and an offset.
/// It is cheap to copy, and all copies are the same clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Timestamp,
    start: Instant,
    offset: Offset,
}

impl Clock {
    /// Returns a clock that shows `epoch` now and moves with the tokio runtime.
    /// The clock is virtual if the runtime is paused.
    #[must_use]
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self { epoch, start: Instant::now(), offset: Offset::none() }
    }

    /// The clock of another machine: it shows the same time now, and has an offset of its own.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { offset: Offset::none(), ..*self }
    }

    /// Sets this clock and all copies of it wrong until the guard is dropped. Several offsets add up.
    pub fn set_off(&self, by: SignedDuration) -> SetOff {
        // The offset is limited to 292 years in either direction.
        let by = i64::try_from(by.as_nanos()).unwrap_or(if by.is_negative() { i64::MIN } else { i64::MAX });
        self.offset.add(by);
        SetOff { offset: self.offset, by }
    }

    /// A clock that shows the machine's time, for runs on real clusters.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place where real time enters")]
    pub fn real() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// The present wall time, to the nanosecond, with the offset of the clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shown_at(self.steady())
    }

    /// The present wall time without the offset.
    /// Durations within one process are measured with it, as Go measures them with the monotonic reading in `time.Now`.
    /// Times from time stamps are compared with [`now`](Self::now).
    #[must_use]
    pub fn steady(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.saturating_add(since).unwrap_or(Timestamp::MAX)
    }

    /// The time that the clock shows with its present offset at this [`steady`](Self::steady) time.
    #[must_use]
    pub fn shown_at(&self, steady: Timestamp) -> Timestamp {
        match self.offset.nanoseconds() {
            0 => steady,
            off => moved(steady, SignedDuration::from_nanos(off)),
        }
    }

    /// The [`steady`](Self::steady) time at which the clock shows this time with its present offset.
    #[must_use]
    pub fn steady_at(&self, shown: Timestamp) -> Timestamp {
        match self.offset.nanoseconds() {
            0 => shown,
            off => moved(shown, -SignedDuration::from_nanos(off)),
        }
    }

    /// Returns the present wall time as Kubernetes writes times into objects (`metav1.Time`).
    /// The time is in whole seconds, rounded down.
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

fn moved(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(time)
}

/// The guard of a wrong clock. The offset is removed when the guard is dropped.
#[derive(Debug)]
#[must_use = "the clock is set right when the guard is dropped"]
pub struct SetOff {
    offset: Offset,
    by: i64,
}

impl Drop for SetOff {
    fn drop(&mut self) {
        self.offset.add(self.by.wrapping_neg());
    }
}

/// `time` without its fraction of a second, as `metav1.Time` stores it.
#[must_use]
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    let rounded = time.round(jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor));
    rounded.unwrap_or(time)
}

/// Reads an RFC 3339 time stamp; `None` if `text` is not one.
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

    #[tokio::test(start_paused = true)]
    async fn copies_of_a_clock_are_set_together_and_a_clock_apart_is_not() {
        let clock = Clock::starting_at("2030-01-01T00:00:00Z".parse().unwrap());
        let (copy, apart) = (clock, clock.apart());
        let shown = || [clock, copy, apart].map(|clock| clock.now().to_string()[11..19].to_owned());
        let ahead = clock.set_off(SignedDuration::from_mins(10));
        let behind = copy.set_off(SignedDuration::from_mins(-2));
        assert_eq!(shown(), ["00:08:00", "00:08:00", "00:00:00"]);
        drop(ahead);
        clock.sleep(Duration::from_secs(30)).await;
        let other = apart.set_off(SignedDuration::from_hours(-1));
        assert_eq!(shown(), ["23:58:30", "23:58:30", "23:00:30"]);
        drop((behind, other));
        assert_eq!(shown(), ["00:00:30", "00:00:30", "00:00:30"]);
    }

    #[tokio::test(start_paused = true)]
    async fn steady_time_goes_on_when_the_clock_is_set() {
        let clock = Clock::starting_at("2030-01-01T00:00:00Z".parse().unwrap());
        let before = clock.steady();
        let _ahead = clock.set_off(SignedDuration::from_hours(1));
        clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(clock.steady().duration_since(before), SignedDuration::from_secs(5));
        assert_eq!(clock.now().duration_since(before), SignedDuration::from_secs(3605));
        assert_eq!(clock.shown_at(clock.steady()), clock.now());
        assert_eq!(clock.steady_at(clock.now()), clock.steady());
    }

    #[test]
    fn a_time_stamp_loses_its_fraction_and_never_rounds_up() {
        let time: Timestamp = "2030-01-01T00:00:00.999999999Z".parse().unwrap();
        assert_eq!(whole_seconds(time).to_string(), "2030-01-01T00:00:00Z");
    }
}
