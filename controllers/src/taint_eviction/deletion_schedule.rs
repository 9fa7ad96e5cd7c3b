//! A schedule of pod deletions, without I/O and without a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

/// Namespace and name of a pod.
pub(super) type Key = (String, String);

/// A pod that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doomed {
    pub key: Key,
    /// The uid of the pod; empty where any pod of the name may be deleted.
    pub uid: String,
    /// Since when the deletion is due.
    pub since: Timestamp,
    /// How often its deletion has failed.
    pub failures: u32,
}

/// The schedule of pod deletions.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    pods: BTreeMap<Key, Entry>,
    due: BTreeSet<(Timestamp, Key)>,
}

#[derive(Debug)]
struct Entry {
    doomed: Doomed,
    /// When the pod is to be deleted; `None` while it is being deleted.
    at: Option<Timestamp>,
}

impl Agenda {
    /// Whether the pod is scheduled for deletion, or being deleted.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.pods.contains_key(key)
    }

    /// Schedules the deletion of the pod at `at`, instead of any time before.
    pub(super) fn set(&mut self, doomed: Doomed, at: Timestamp) {
        self.cancel(&doomed.key);
        self.due.insert((at, doomed.key.clone()));
        self.pods.insert(doomed.key.clone(), Entry { doomed, at: Some(at) });
    }

    /// Cancels the deletion of a pod. Returns whether it was scheduled; a deletion that has begun goes on.
    pub(super) fn cancel(&mut self, key: &Key) -> bool {
        let at = self.pods.remove(key).and_then(|entry| entry.at);
        at.is_some_and(|at| self.due.remove(&(at, key.clone())))
    }

    /// When the next deletion is due.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes a pod that is due, to delete it.
    pub(super) fn take(&mut self, now: Timestamp) -> Option<Doomed> {
        let (_, key) = self.due.first().filter(|(at, _)| *at <= now).cloned()?;
        self.due.pop_first();
        let entry = self.pods.get_mut(&key)?;
        entry.at = None;
        Some(entry.doomed.clone())
    }

    /// A deletion that was taken has ended; with `again` (the present time and a pause) it is tried again. A pod that
    /// was scheduled or cancelled meanwhile is left alone.
    pub(super) fn end(&mut self, doomed: &Doomed, again: Option<(Timestamp, Duration)>) {
        let is_its = |entry: &Entry| entry.at.is_none() && entry.doomed == *doomed;
        if !self.pods.get(&doomed.key).is_some_and(is_its) {
            return;
        }
        match again {
            None => drop(self.pods.remove(&doomed.key)),
            Some((now, pause)) => {
                let doomed = Doomed { failures: doomed.failures + 1, ..doomed.clone() };
                self.set(doomed, now.saturating_add(pause).unwrap_or(Timestamp::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(name: &str) -> Doomed {
        Doomed {
            key: ("default".into(), name.into()),
            uid: format!("uid of {name}"),
            since: at(0),
            failures: 0,
        }
    }

    #[test]
    fn pods_are_due_in_the_order_of_their_times_and_not_before() {
        let mut agenda = Agenda::default();
        agenda.set(pod("late"), at(9));
        agenda.set(pod("soon"), at(5));
        assert_eq!(agenda.next(), Some(at(5)));
        assert_eq!(agenda.take(at(4)), None);
        assert_eq!(agenda.take(at(9)), Some(pod("soon")));
        assert_eq!(agenda.take(at(9)), Some(pod("late")));
        assert_eq!((agenda.take(at(9)), agenda.next()), (None, None));
    }

    #[test]
    fn what_is_cancelled_is_not_due_and_was_only_to_be_if_it_was_set() {
        let mut agenda = Agenda::default();
        let key = pod("a").key;
        assert!(!agenda.cancel(&key));
        agenda.set(pod("a"), at(5));
        assert!(agenda.has(&key));
        assert!(agenda.cancel(&key));
        assert!(!agenda.has(&key));
        assert_eq!(agenda.take(at(9)), None);
        agenda.set(pod("a"), at(5));
        assert!(agenda.take(at(5)).is_some());
        assert!(!agenda.cancel(&key), "it is being deleted already");
    }

    #[test]
    fn a_deletion_that_fails_is_tried_again_unless_something_else_was_decided() {
        let mut agenda = Agenda::default();
        agenda.set(pod("a"), at(5));
        let taken = agenda.take(at(5)).unwrap();
        agenda.end(&taken, Some((at(6), Duration::from_secs(2))));
        assert_eq!(agenda.next(), Some(at(8)));
        let again = agenda.take(at(8)).unwrap();
        assert_eq!(again.failures, 1);
        agenda.end(&again, None);
        assert!(!agenda.has(&again.key));

        agenda.set(pod("a"), at(5));
        let old = agenda.take(at(5)).unwrap();
        agenda.set(Doomed { uid: "another".into(), ..pod("a") }, at(20));
        agenda.end(&old, None);
        assert_eq!(
            agenda.next(),
            Some(at(20)),
            "the end of an old deletion has nothing to do with a new one"
        );
    }
}
