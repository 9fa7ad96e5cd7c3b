//! Times in which the attempts of controllers fail, and the back-off after them.

use std::collections::BTreeMap;
use std::time::Duration;

/// The longest back-off of a work queue.
pub const LONGEST_BACK_OFF: Duration = Duration::from_secs(1000);

/// The longest back-off of a watch.
/// The back-off of client-go (`tools/cache/reflector.go`) starts at 800 ms and doubles up to 30 s; jitter may double it
/// once more.
pub const LONGEST_WATCH_BACK_OFF: Duration = Duration::from_secs(60);

/// The first back-off of a watch, with jitter.
const FIRST_WATCH_BACK_OFF: Duration = Duration::from_millis(1_600);

/// Returns how late a watch may begin again after its attempts have failed for this time.
///
/// Each failed attempt doubles the back-off, and jitter may double the last one only.
#[must_use]
pub fn watch_back_off(failed: Duration) -> Duration {
    failed.saturating_mul(2).saturating_add(FIRST_WATCH_BACK_OFF).min(LONGEST_WATCH_BACK_OFF)
}

/// For each key, the time in which attempts fail, and how long controllers may back off afterwards.
///
/// Each failed attempt doubles the back-off, so the last back-off is at most as long as all attempts before it.
#[derive(Clone, Debug)]
pub struct BackOffs<K>(BTreeMap<K, BackOff>);

#[derive(Clone, Copy, Debug)]
struct BackOff {
    /// When attempts began to fail.
    since: Duration,
    /// The latest time of the first attempt that can succeed; `None` while attempts fail.
    until: Option<Duration>,
}

impl<K> Default for BackOffs<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone> BackOffs<K> {
    /// Attempts fail from `now` on, if they do not fail already.
    pub fn fail(&mut self, key: &K, now: Duration) {
        if self.0.get(key).is_none_or(|known| known.until.is_some()) {
            self.0.insert(key.clone(), BackOff { since: now, until: None });
        }
    }

    /// Attempts no longer fail.
    pub fn succeed(&mut self, key: &K, now: Duration) {
        if let Some(known) = self.0.get_mut(key) {
            let lasted = now.saturating_sub(known.since).min(LONGEST_BACK_OFF);
            known.until.get_or_insert(now.saturating_add(lasted));
        }
    }

    /// Returns how late the next attempt may be; `None` while attempts fail.
    #[must_use]
    pub fn remaining(&self, key: &K, now: Duration) -> Option<Duration> {
        self.0.get(key).map_or(Some(Duration::ZERO), |known| Some(known.until?.saturating_sub(now)))
    }

    /// Forgets a key.
    pub fn forget(&mut self, key: &K) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_is_as_long_as_the_failures_and_has_a_limit() {
        let seconds = Duration::from_secs;
        let mut back_offs = BackOffs::default();
        assert_eq!(back_offs.remaining(&"m1", seconds(5)), Some(Duration::ZERO));
        back_offs.fail(&"m1", seconds(10));
        back_offs.fail(&"m1", seconds(12));
        assert_eq!(back_offs.remaining(&"m1", seconds(15)), None);
        back_offs.succeed(&"m1", seconds(16));
        back_offs.succeed(&"m1", seconds(30));
        assert_eq!(back_offs.remaining(&"m1", seconds(18)), Some(seconds(4)));
        back_offs.fail(&"m1", seconds(100));
        back_offs.succeed(&"m1", seconds(9_100));
        assert_eq!(back_offs.remaining(&"m1", seconds(9_100)), Some(LONGEST_BACK_OFF));
        back_offs.forget(&"m1");
        assert_eq!(back_offs.remaining(&"m1", seconds(9_100)), Some(Duration::ZERO));
    }
}
