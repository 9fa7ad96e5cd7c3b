//! Measures how exactly a cluster is observed, from the duration and the `Date` header of requests.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use capsize_history::{LONGEST, Observer};

/// The number of requests that count. A watch event is assumed to be as late as the slowest of them.
const REMEMBERED: usize = 12;

/// The dates of servers have whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// One request for the clock of a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// When the request was sent, by the clock of the recorder.
    pub(super) sent: Timestamp,
    /// When the response came.
    pub(super) received: Timestamp,
    /// The date in the response, cut off to whole seconds.
    pub(super) date: Option<Timestamp>,
}

/// The results of the requests to one cluster.
#[derive(Debug, Default)]
pub(super) struct Exactness {
    took: VecDeque<Duration>,
    /// How far the clock of the cluster is ahead, at least and at most.
    ahead: Option<(SignedDuration, SignedDuration)>,
}

impl Exactness {
    /// Adds the result of a request.
    ///
    /// The clock of the cluster showed a time within the second `date` between the two times of our clock. Each
    /// response gives such bounds. All of them together are narrower, unless a clock was set meanwhile.
    pub(super) fn take(&mut self, probe: Probe) {
        self.late(probe.received.duration_since(probe.sent).unsigned_abs());
        let Some(date) = probe.date else { return };
        let now = (date.duration_since(probe.received), date.duration_since(probe.sent) + SECOND);
        let both = self.ahead.map(|(least, most)| (least.max(now.0), most.min(now.1)));
        self.ahead = both.filter(|(least, most)| least <= most).or(Some(now));
    }

    /// Adds the duration of a response, or the time after which it had not come.
    pub(super) fn late(&mut self, took: Duration) {
        if self.took.len() == REMEMBERED {
            self.took.pop_front();
        }
        self.took.push_back(took);
    }

    /// The exactness with which the cluster `on` is observed while it answers.
    pub(super) fn observer(&self, on: &str) -> Observer {
        let latency = self.took.iter().max().copied().unwrap_or_default();
        let (least, most) = self.ahead.unwrap_or_default();
        let clock_offset = least.unsigned_abs().max(most.unsigned_abs());
        Observer { on: on.to_owned(), latency, clock_offset }
    }

    /// Returns the exactness for changes in a cluster that last answered `silent` ago.
    /// The changes may have happened at any time since then.
    pub(super) fn observer_after(&self, on: &str, silent: Duration) -> Observer {
        let observer = self.observer(on);
        Observer { latency: observer.latency.max(silent).min(LONGEST), ..observer }
    }
}

/// Returns true if `now` differs enough from `recorded` to be recorded.
/// The difference must be more than a fifth and more than 5 ms.
pub(super) fn differs(recorded: &Observer, now: &Observer) -> bool {
    let apart = |recorded: Duration, now: Duration| {
        let by = recorded.abs_diff(now);
        by > Duration::from_millis(5) && by * 5 > recorded
    };
    apart(recorded.latency, now.latency) || apart(recorded.clock_offset, now.clock_offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZERO: Timestamp = Timestamp::constant(1_800_000_000, 0);

    /// Returns a request that takes `took_ms` from `at_ms` on.
    /// The request is answered `answered_ms` after it was sent, by a clock that is `ahead_ms` ahead.
    fn probe(at_ms: i64, answered_ms: i64, took_ms: i64, ahead_ms: i64) -> Probe {
        let after = |ms: i64| ZERO + SignedDuration::from_millis(ms);
        let shown = after(at_ms + answered_ms + ahead_ms);
        Probe {
            sent: after(at_ms),
            received: after(at_ms + took_ms),
            date: Some(capsize_clock::whole_seconds(shown)),
        }
    }

    #[test]
    fn the_slowest_of_the_latest_requests_is_the_latency() {
        let mut exactness = Exactness::default();
        exactness.take(probe(0, 1, 900, 0));
        assert_eq!(exactness.observer("m1").latency, Duration::from_millis(900));
        (1..=12).for_each(|n| exactness.take(probe(n * 1000, 1, n, 0)));
        assert_eq!(exactness.observer("m1").latency, Duration::from_millis(12));
    }

    #[test]
    fn requests_spread_over_a_second_show_the_offset_to_a_tenth_of_one() {
        let mut exactness = Exactness::default();
        (0..11).for_each(|n| exactness.take(probe(n * 91, 1, 2, -3_400)));
        let offset = exactness.observer("m1").clock_offset;
        assert!((3_400..3_500).contains(&offset.as_millis()), "{offset:?}");
    }

    #[test]
    fn a_clock_that_is_set_is_believed() {
        let mut exactness = Exactness::default();
        (0..20).for_each(|n| exactness.take(probe(n * 91, 1, 2, 0)));
        exactness.take(probe(5_000, 1, 2, 60_000));
        assert!(exactness.observer("m1").clock_offset >= Duration::from_secs(60));
    }

    #[test]
    fn what_was_missed_may_be_as_old_as_the_silence() {
        let mut exactness = Exactness::default();
        exactness.take(probe(0, 1, 20, 0));
        let observer = exactness.observer_after("m1", Duration::from_secs(9));
        assert_eq!(observer.latency, Duration::from_secs(9));
        assert_eq!(exactness.observer_after("m1", Duration::MAX).latency, LONGEST);
    }

    proptest! {
        #[test]
        fn the_true_offset_is_never_outside_the_recorded_interval(
            ahead_ms in -5_000_i64..5_000,
            probes in proptest::collection::vec((0_i64..2_000, 0_i64..300, 0_i64..300), 1..30),
        ) {
            let (mut exactness, mut at) = (Exactness::default(), 0);
            for (gap, there, back) in probes {
                at += gap;
                exactness.take(probe(at, there, there + back, ahead_ms));
            }
            let offset = exactness.observer("m1").clock_offset;
            prop_assert!(offset >= Duration::from_millis(ahead_ms.unsigned_abs()), "{offset:?}");
        }
    }
}
