//! How exactly a cluster is observed, by the answers to small requests: how long they take, and what time they carry.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use capsize_history::{LONGEST, Observer};

/// So many requests are remembered: what a watch sends is as late as the slowest of them.
const REMEMBERED: usize = 12;

/// Servers tell their time in whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// One small request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// When it was sent, by the recorder's clock.
    pub(super) sent: Timestamp,
    /// When the answer came.
    pub(super) received: Timestamp,
    /// The time that the answer carries, cut off to whole seconds.
    pub(super) date: Option<Timestamp>,
}

/// What the requests to one cluster have shown.
#[derive(Debug, Default)]
pub(super) struct Exactness {
    took: VecDeque<Duration>,
    /// How far the cluster's clock is ahead, at least and at most.
    ahead: Option<(SignedDuration, SignedDuration)>,
}

impl Exactness {
    /// Takes one more.
    ///
    /// The cluster's clock showed some time of the second `date` at some time between the two of ours. Every answer says
    /// so much; what all say together is narrower, unless a clock was set meanwhile.
    pub(super) fn take(&mut self, probe: Probe) {
        self.late(probe.received.duration_since(probe.sent).unsigned_abs());
        let Some(date) = probe.date else { return };
        let now = (date.duration_since(probe.received), date.duration_since(probe.sent) + SECOND);
        let both = self.ahead.map(|(least, most)| (least.max(now.0), most.min(now.1)));
        self.ahead = both.filter(|(least, most)| least <= most).or(Some(now));
    }

    /// An answer took so long, or did not come in that time.
    pub(super) fn late(&mut self, took: Duration) {
        if self.took.len() == REMEMBERED {
            self.took.pop_front();
        }
        self.took.push_back(took);
    }

    /// What is known of the moments of the cluster `on`, while it answers.
    pub(super) fn observer(&self, on: &str) -> Observer {
        let latency = self.took.iter().max().copied().unwrap_or_default();
        let (least, most) = self.ahead.unwrap_or_default();
        let clock_offset = least.unsigned_abs().max(most.unsigned_abs());
        Observer { on: on.to_owned(), latency, clock_offset }
    }

    /// The same for what may have been written at any time since the cluster was last heard, `silent` ago.
    pub(super) fn observer_after(&self, on: &str, silent: Duration) -> Observer {
        let observer = self.observer(on);
        Observer { latency: observer.latency.max(silent).min(LONGEST), ..observer }
    }
}

/// Whether it is worth telling of `now` after `told`: a width is another by a fifth, and by more than a few milliseconds.
pub(super) fn differs(told: &Observer, now: &Observer) -> bool {
    let apart = |told: Duration, now: Duration| {
        let by = told.abs_diff(now);
        by > Duration::from_millis(5) && by * 5 > told
    };
    apart(told.latency, now.latency) || apart(told.clock_offset, now.clock_offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZERO: Timestamp = Timestamp::constant(1_800_000_000, 0);

    /// A request that takes `took_ms` from `at_ms` on, answered `answered_ms` after it was sent, by a clock that is
    /// `ahead_ms` ahead.
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
        fn the_true_offset_is_never_outside_what_is_told(
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
