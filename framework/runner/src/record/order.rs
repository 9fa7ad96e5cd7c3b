//! Sorts the events of one cluster into the order in which they were written.
//!
//! Each kind has a watch of its own, which may be some milliseconds later than another. Events are therefore held back
//! for a moment, and sorted by resource version.

use std::collections::VecDeque;
use std::time::Duration;

use capsize_history::{Entry, Kind};

/// How long events are held back. The watches of one server do not differ by more, unless one hangs.
pub(super) const HELD: Duration = Duration::from_millis(100);

/// The latest events of one cluster.
#[derive(Debug)]
pub(super) struct Order {
    waiting: VecDeque<HeldEvent>,
    /// How long each event is held, by the clock of the recording.
    held: Duration,
}

#[derive(Debug)]
struct HeldEvent {
    /// The latest time at which the event was written.
    /// This event, or an event that was written later, was received at that time.
    at: Duration,
    /// The resource version.
    version: Option<u64>,
    kind: Kind,
}

impl Order {
    /// An order without events, in which each event is held for `held`.
    pub(super) fn holding(held: Duration) -> Self {
        Self { waiting: VecDeque::new(), held }
    }

    /// Adds an event that was received at `now`.
    pub(super) fn take(&mut self, now: Duration, kind: Kind) {
        let version = match &kind {
            Kind::Event { object, .. } => object.text("metadata", "resourceVersion").parse().ok(),
            Kind::Mark(_) => None,
        };
        let is_later = |held: &HeldEvent| version.is_some_and(|version| held.version > Some(version));
        let later = self.waiting.iter().rev().take_while(|held| is_later(held)).count();
        let place = self.waiting.len() - later;
        let at = self.waiting.get(place).map_or(now, |next| next.at);
        self.waiting.insert(place, HeldEvent { at, version, kind });
    }

    /// The events that have been held back for long enough at `now`, or all if `now` is `None`.
    /// Their times are never earlier than those of an earlier call, in this order or another that holds events for as
    /// long.
    pub(super) fn due(&mut self, now: Option<Duration>) -> impl Iterator<Item = Entry> {
        let is_due = |held: &HeldEvent| now.is_none_or(|now| held.at + self.held <= now);
        let due = self.waiting.iter().take_while(|held| is_due(held)).count();
        self.waiting.drain(..due).map(|held| Entry { at: held.at, kind: held.kind })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use capsize_history::EventType;

    const MS: Duration = Duration::from_millis(1);

    fn event(version: &str) -> Kind {
        let object = json!({"kind": "Pod", "metadata": {"name": "a", "resourceVersion": version}});
        Kind::Event { on: "m1".into(), event: EventType::Modified, object: object.into() }
    }

    fn summary(entries: impl Iterator<Item = Entry>) -> Vec<(u128, String)> {
        let version = |entry: Entry| match entry.kind {
            Kind::Event { object, .. } => {
                (entry.at.as_millis(), object.text("metadata", "resourceVersion").into())
            }
            Kind::Mark(_) => (entry.at.as_millis(), "mark".to_owned()),
        };
        entries.map(version).collect()
    }

    fn expected(entries: &[(u128, &str)]) -> Vec<(u128, String)> {
        entries.iter().map(|(at, version)| (*at, (*version).to_owned())).collect()
    }

    #[test]
    fn what_was_written_earlier_goes_before_what_was_received_earlier() {
        let mut order = Order::holding(HELD);
        for (at, version) in [(1, "8"), (2, "10"), (5, "9")] {
            order.take(MS * at, event(version));
        }
        // 9 was written before 10, which existed at 2 ms.
        assert_eq!(summary(order.due(Some(MS * 110))), expected(&[(1, "8"), (2, "9"), (2, "10")]));
    }

    #[test]
    fn events_of_two_clusters_are_never_out_of_order() {
        let (mut one, mut other) = (Order::holding(HELD), Order::holding(HELD));
        one.take(MS, event("10"));
        other.take(MS * 50, event("3"));
        // The watch of another kind is late.
        one.take(MS * 90, event("9"));
        let written = [101, 150, 190]
            .map(|now| [summary(one.due(Some(MS * now))), summary(other.due(Some(MS * now)))].concat());
        let nothing = expected(&[]);
        assert_eq!(written, [expected(&[(1, "9"), (1, "10")]), expected(&[(50, "3")]), nothing]);
    }

    #[test]
    fn what_is_new_is_held_for_a_moment() {
        let mut order = Order::holding(HELD);
        order.take(MS, event("8"));
        order.take(MS * 50, event("9"));
        assert_eq!(summary(order.due(Some(MS * 100))), []);
        assert_eq!(summary(order.due(Some(MS * 101))), expected(&[(1, "8")]));
        assert_eq!(summary(order.due(None)), expected(&[(50, "9")]));
    }

    #[test]
    fn nothing_goes_past_a_mark_or_without_a_number() {
        let mut order = Order::holding(HELD);
        order.take(MS, event("8"));
        order.take(MS * 2, Kind::Mark(Map::new()));
        order.take(MS * 3, event("7"));
        order.take(MS * 4, event("unknown"));
        let all = [(1, "8"), (2, "mark"), (3, "7"), (4, "unknown")];
        assert_eq!(summary(order.due(None)), expected(&all));
    }
}
