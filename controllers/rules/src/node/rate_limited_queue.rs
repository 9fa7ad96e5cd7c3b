//! The queue of a zone's nodes that wait for their taint, and its rate limit.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go`. Time comes in as an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

/// A token bucket of capacity one: allows one event per period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limiter {
    rate: f64,
    /// From when on there is a token.
    from: Timestamp,
}

impl Limiter {
    /// A limiter of this rate that has a token. A rate of 0 or less never allows an event.
    #[must_use]
    pub fn new(rate: f64, now: Timestamp) -> Self {
        Self { rate, from: now }
    }

    /// The rate per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether there is a token.
    #[must_use]
    pub fn allows(&self, now: Timestamp) -> bool {
        self.rate > 0.0 && self.from <= now
    }

    /// Takes the token, if there is one.
    pub fn take(&mut self, now: Timestamp) -> bool {
        let allowed = self.allows(now);
        if allowed {
            self.from = self.next_after(now);
        }
        allowed
    }

    /// Returns a limiter of another rate to replace this one.
    /// It has a token if this one has one; otherwise it waits for a full period of its own.
    #[must_use]
    pub fn swapped(&self, rate: f64, now: Timestamp) -> Self {
        let new = Self::new(rate, now);
        if self.allows(now) { new } else { Self { from: new.next_after(now), ..new } }
    }

    fn next_after(&self, now: Timestamp) -> Timestamp {
        let pause = Duration::try_from_secs_f64(1.0 / self.rate).unwrap_or(Duration::MAX);
        now.saturating_add(pause).unwrap_or(Timestamp::MAX)
    }
}

/// The position of a name that is added to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePosition {
    /// The end, whether or not it is in the queue already.
    Last,
    /// Its present position; the end if it is not in the queue.
    Own,
    /// The end. The name is added only once until it is removed.
    Once,
}

/// A queue of names, each at most once.
#[derive(Clone, Debug)]
pub struct WaitingNodes {
    /// The rate limit of the queue.
    limiter: Limiter,
    /// Ordered by the time of their turn, then by the order in which they were added.
    waiting: BTreeSet<(Timestamp, u64, String)>,
    /// The turns of the waiting names; `None` for a name that had its turn and was not removed since.
    turns: BTreeMap<String, Option<(Timestamp, u64)>>,
    next: u64,
}

impl WaitingNodes {
    /// An empty queue.
    #[must_use]
    pub fn new(limiter: Limiter) -> Self {
        Self { limiter, waiting: BTreeSet::new(), turns: BTreeMap::new(), next: 0 }
    }

    /// The limiter.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Replaces the limiter.
    pub fn set_limiter(&mut self, limiter: Limiter) {
        self.limiter = limiter;
    }

    /// Whether no name waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds `name` to the queue.
    pub fn add(&mut self, name: &str, place: QueuePosition, now: Timestamp) {
        match (self.turns.get(name), place) {
            (Some(Some(_)), QueuePosition::Own) | (Some(_), QueuePosition::Once) => {}
            _ => self.put(name, now),
        }
    }

    /// Returns the first name if it is its turn and there is a token.
    /// The token is taken even if it is not its turn yet. The name waits until [`Self::done`] or [`Self::again`].
    pub fn head(&mut self, now: Timestamp) -> Option<String> {
        let (turn, _, name) = self.waiting.first().cloned()?;
        (self.limiter.take(now) && turn <= now).then_some(name)
    }

    /// Ends the turn of a name.
    pub fn done(&mut self, name: &str) {
        if let Some(turn) = self.turns.get_mut(name)
            && let Some((at, number)) = turn.take()
        {
            self.waiting.remove(&(at, number, name.to_owned()));
        }
    }

    /// Gives a name another turn at `at`, unless it was removed meanwhile.
    /// Others may overtake it until then.
    pub fn again(&mut self, name: &str, at: Timestamp) {
        if self.turns.contains_key(name) {
            self.put(name, at);
        }
    }

    /// Removes a name from the queue.
    pub fn remove(&mut self, name: &str) {
        self.done(name);
        self.turns.remove(name);
    }

    fn put(&mut self, name: &str, at: Timestamp) {
        self.done(name);
        let turn = (at, self.next);
        self.next += 1;
        self.waiting.insert((turn.0, turn.1, name.to_owned()));
        self.turns.insert(name.to_owned(), Some(turn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    fn queue(rate: f64, names: &[&str]) -> WaitingNodes {
        let mut queue = WaitingNodes::new(Limiter::new(rate, at(0)));
        for name in names {
            queue.add(name, QueuePosition::Own, at(0));
        }
        queue
    }

    /// The names that have a turn at each of these times, if each turn ends at once.
    fn turns(queue: &mut WaitingNodes, times: &[i64]) -> Vec<(i64, String)> {
        let mut had = Vec::new();
        for time in times {
            while let Some(name) = queue.head(at(*time)) {
                queue.done(&name);
                had.push((*time, name));
            }
        }
        had
    }

    #[test]
    fn who_came_first_goes_first_at_the_rate_and_no_faster() {
        let mut queue = queue(0.5, &["b", "a", "c", "b"]);
        let had = turns(&mut queue, &[0, 1999, 2000, 3999, 4000, 9000]);
        assert_eq!(had, [(0, "b".into()), (2000, "a".into()), (4000, "c".into())]);
        assert!(queue.is_empty());
        queue.add("d", QueuePosition::Own, at(9000));
        assert!(!queue.is_empty());
        queue.set_limiter(Limiter::new(0.0, at(9000)));
        assert_eq!(queue.head(at(1_000_000)), None);
    }

    #[test]
    fn an_empty_queue_costs_no_token_and_one_that_is_not_due_does() {
        let mut queue = queue(1.0, &[]);
        assert_eq!(queue.head(at(0)), None);
        queue.add("a", QueuePosition::Own, at(500));
        assert_eq!(queue.head(at(400)), None);
        assert_eq!(queue.head(at(500)), None, "the token went at 400");
        assert_eq!(queue.head(at(1400)), Some("a".into()));
    }

    #[test]
    fn at_a_rate_of_nothing_nobody_has_a_turn() {
        for rate in [0.0, -1.0] {
            assert_eq!(turns(&mut queue(rate, &["a"]), &[0, 1_000_000]), []);
        }
    }

    #[test]
    fn who_had_a_turn_may_come_again_except_once() {
        for (place, expected) in [(QueuePosition::Own, 1), (QueuePosition::Last, 1), (QueuePosition::Once, 0)]
        {
            let mut queue = queue(1.0, &["a"]);
            turns(&mut queue, &[0]);
            queue.add("a", place, at(10));
            assert_eq!(turns(&mut queue, &[5000]).len(), expected, "{place:?}");
            queue.remove("a");
            queue.add("a", place, at(5000));
            assert_eq!(turns(&mut queue, &[9000]).len(), 1, "{place:?}");
        }
    }

    #[test]
    fn who_waits_keeps_its_place_unless_it_is_put_last() {
        for (place, first) in
            [(QueuePosition::Own, "a"), (QueuePosition::Once, "a"), (QueuePosition::Last, "b")]
        {
            let mut queue = queue(1.0, &["a", "b"]);
            queue.add("a", place, at(0));
            assert_eq!(queue.head(at(5)).as_deref(), Some(first), "{place:?}");
        }
    }

    #[test]
    fn who_failed_waits_while_others_go_and_is_forgotten_when_it_is_removed() {
        let mut queue = queue(10.0, &["a", "b"]);
        assert_eq!(queue.head(at(0)), Some("a".into()));
        queue.again("a", at(150));
        assert_eq!(turns(&mut queue, &[100, 200]), [(100, "b".into()), (200, "a".into())]);
        queue.add("c", QueuePosition::Own, at(300));
        assert_eq!(queue.head(at(300)), Some("c".into()));
        queue.remove("c");
        queue.again("c", at(300));
        assert!(queue.is_empty());
    }

    #[test]
    fn another_rate_begins_with_a_token_only_if_there_was_one() {
        let mut used = Limiter::new(0.5, at(0));
        assert!(used.take(at(0)));
        let cases = [
            (Limiter::new(0.5, at(0)), 1.0, 100, true),
            (used, 1.0, 100, false),
            (used, 1.0, 2000, true),
            (Limiter::new(0.0, at(0)), 1.0, 100, false),
        ];
        for (old, rate, now, expected) in cases {
            let new = old.swapped(rate, at(now));
            assert!((new.rate() - rate).abs() < f64::EPSILON);
            assert_eq!(new.allows(at(now)), expected, "{old:?} {now}");
            assert!(new.allows(at(now + 1000)));
        }
        assert!(!used.swapped(0.0, at(0)).allows(at(1_000_000)));
    }
}
