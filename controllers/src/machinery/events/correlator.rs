//! Decides what happens to an event: it is created, counted once more, or dropped.
//!
//! client-go `tools/record/events_cache.go`: a spam filter for each source and object, aggregation of events that
//! differ in their message only, and a count of events that repeat.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::InvolvedObject;
use crate::rules::Event;

/// The number of events about one object that a source may publish at once (`defaultSpamBurst`).
const BURST: f64 = 25.0;

/// The time until a source may publish one more event about the same object (`defaultSpamQPS`).
const REFILL: Duration = Duration::from_secs(300);

/// The number of different messages from which on events are combined (`defaultAggregateMaxEvents`).
const COMBINED_FROM: usize = 10;

/// The time without a further message after which counting begins anew.
/// The source is `defaultAggregateIntervalInSeconds`.
const INTERVAL: Duration = Duration::from_secs(600);

/// The number of entries that each memory holds (`maxLruCacheEntries`).
const ENTRIES: usize = 4096;

/// The prefix that client-go gives to the message of an event that combines several (`Event.Message`).
const COMBINED: &str = "(combined from similar events): ";

/// An event, its source, and the object that it is about.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) component: Cow<'static, str>,
    pub(super) involved: InvolvedObject,
    pub(super) event: Event,
}

/// The decision about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The source has published too much about the object.
    Dropped,
    /// The event is written for the first time, under the name that client-go gives it.
    Created { name: String, message: String },
    /// The event was written before, and is counted once more.
    Counted { name: String, message: String, count: u32, first: Timestamp },
}

/// The source and the object.
type SourceAndObject = (Cow<'static, str>, InvolvedObject);

/// Events that differ in their messages only: source, object, whether they warn, reason.
type SimilarEvents = (Cow<'static, str>, InvolvedObject, bool, &'static str);

/// The memory of one process that publishes events.
#[derive(Debug, Default)]
pub(super) struct Correlator {
    tokens: LruMemory<SourceAndObject, (f64, Timestamp)>,
    messages: LruMemory<SimilarEvents, (BTreeSet<String>, Timestamp)>,
    /// The written events, each with its message; combined events have no message.
    written: LruMemory<(SimilarEvents, Option<String>), WrittenEvent>,
    last_name: i128,
}

#[derive(Clone, Debug)]
struct WrittenEvent {
    name: String,
    count: u32,
    first: Timestamp,
}

impl Correlator {
    /// Decides about an event that is published at `now`.
    pub(super) fn correlate(&mut self, occurrence: &Occurrence, now: Timestamp) -> Decision {
        let Occurrence { component, involved, event } = occurrence;
        let alike = (component.clone(), involved.clone(), event.warns, event.reason);
        let is_combined = self.is_combined(&alike, &event.message, now);
        let message =
            if is_combined { format!("{COMBINED}{}", event.message) } else { event.message.clone() };
        let key = (alike, (!is_combined).then(|| message.clone()));
        let before = self.written.get(&key).cloned();
        let written = match before {
            Some(before) => WrittenEvent { count: before.count + 1, ..before },
            None => WrittenEvent { name: self.name(&involved.name, now), count: 1, first: now },
        };
        self.written.put(key, written.clone());
        if !self.take_token((component.clone(), involved.clone()), now) {
            return Decision::Dropped;
        }
        let WrittenEvent { name, count, first } = written;
        match count {
            1 => Decision::Created { name, message },
            count => Decision::Counted { name, message, count, first },
        }
    }

    /// The name of an event: the name of the object, and the time in nanoseconds.
    /// Where the time stands still, each name is one later.
    fn name(&mut self, object: &str, now: Timestamp) -> String {
        self.last_name = now.as_nanosecond().max(self.last_name + 1);
        format!("{object}.{:x}", self.last_name)
    }

    /// Whether there were so many different messages recently that they are combined.
    fn is_combined(&mut self, alike: &SimilarEvents, message: &str, now: Timestamp) -> bool {
        let known = self.messages.take(alike);
        let (mut messages, _) =
            known.filter(|(_, last)| since(*last, now) <= INTERVAL).unwrap_or_else(|| (BTreeSet::new(), now));
        messages.insert(message.to_owned());
        let many = messages.len() >= COMBINED_FROM;
        if many {
            // One message less than the limit is kept, so that the next one is combined, too.
            messages.pop_first();
        }
        self.messages.put(alike.clone(), (messages, now));
        many
    }

    fn take_token(&mut self, source: SourceAndObject, now: Timestamp) -> bool {
        let (tokens, last) = self.tokens.take(&source).unwrap_or((BURST, now));
        let refilled = since(last, now).as_secs_f64() / REFILL.as_secs_f64();
        let tokens = (tokens + refilled).min(BURST);
        let takes = tokens >= 1.0;
        self.tokens.put(source, (if takes { tokens - 1.0 } else { tokens }, now));
        takes
    }
}

fn since(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

/// A memory of the entries that were used most recently.
#[derive(Debug)]
struct LruMemory<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
}

impl<K, V> Default for LruMemory<K, V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }
}

impl<K: Ord + Clone, V> LruMemory<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    fn take(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.entries.remove(key)?;
        self.by_use.remove(&used);
        Some(value)
    }

    fn put(&mut self, key: K, value: V) {
        self.take(&key);
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, (self.uses, value));
        if self.entries.len() > ENTRIES
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    fn occurrence(message: &str) -> Occurrence {
        let involved = InvolvedObject {
            kind: "ResourceBinding".into(),
            name: "web".into(),
            ..InvolvedObject::default()
        };
        let event = Event { warns: false, reason: "Evicted", message: message.into() };
        Occurrence { component: "test".into(), involved, event }
    }

    #[test]
    fn an_event_that_repeats_is_counted() {
        let mut correlator = Correlator::default();
        let Decision::Created { name, message } = correlator.correlate(&occurrence("m1"), at(1)) else {
            panic!()
        };
        assert_eq!((name.as_str(), message.as_str()), ("web.3b9aca00", "m1"));
        let again = correlator.correlate(&occurrence("m1"), at(2));
        assert_eq!(again, Decision::Counted { name, message, count: 2, first: at(1) });
    }

    #[test]
    fn events_at_the_same_time_have_different_names() {
        let mut correlator = Correlator::default();
        let decisions = ["m1", "m2"].map(|message| correlator.correlate(&occurrence(message), at(1)));
        let names = decisions.map(|decision| match decision {
            Decision::Created { name, .. } => name,
            other => panic!("{other:?}"),
        });
        assert_eq!(names, ["web.3b9aca00", "web.3b9aca01"]);
    }

    #[test]
    fn ten_different_messages_within_ten_minutes_are_combined() {
        let mut correlator = Correlator::default();
        let mut combined =
            |number: i64| match correlator.correlate(&occurrence(&format!("m{number}")), at(number)) {
                Decision::Created { message, .. } => (message.starts_with(COMBINED), 1),
                Decision::Counted { message, count, .. } => (message.starts_with(COMBINED), count),
                Decision::Dropped => panic!("{number}"),
            };
        for number in 1..10 {
            assert_eq!(combined(number), (false, 1), "{number}");
        }
        assert_eq!(combined(10), (true, 1));
        assert_eq!(combined(11), (true, 2));
        // Counting begins anew after more than ten minutes without a message.
        assert_eq!(combined(612), (false, 1));
    }

    #[test]
    fn a_source_that_publishes_too_much_about_an_object_is_dropped() {
        let mut correlator = Correlator::default();
        let mut dropped = |second| correlator.correlate(&occurrence("m1"), at(second)) == Decision::Dropped;
        assert_eq!((0..25).filter(|_| dropped(0)).count(), 0);
        assert!(dropped(0));
        assert!(dropped(299));
        assert!(!dropped(301));
        assert!(dropped(302));
        let other = Occurrence { component: "other".into(), ..occurrence("m1") };
        assert_ne!(correlator.correlate(&other, at(302)), Decision::Dropped);
    }

    #[test]
    fn the_entries_that_were_used_last_are_remembered() {
        let mut recent = LruMemory::default();
        for number in 0..=ENTRIES {
            recent.put(number, number);
        }
        assert_eq!((recent.get(&0), recent.get(&1), recent.get(&ENTRIES)), (None, Some(&1), Some(&ENTRIES)));
        assert_eq!(recent.by_use.len(), ENTRIES);
    }
}
