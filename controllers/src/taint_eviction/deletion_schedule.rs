//! A schedule of pod deletions, without I/O and without a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

/// Namespace and name of a pod.
pub(super) type Key = (String, String);

/// A pod that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingDeletion {
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
pub(super) struct DeletionSchedule {
    pods: BTreeMap<Key, Entry>,
    due: BTreeSet<(Timestamp, Key)>,
}

#[derive(Debug)]
struct Entry {
    deletion: PendingDeletion,
    /// When the pod is to be deleted; `None` while it is being deleted.
    at: Option<Timestamp>,
}

impl DeletionSchedule {
    /// Whether the pod is scheduled for deletion, or being deleted.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.pods.contains_key(key)
    }

    /// Schedules the deletion of the pod at `at`, instead of any time before.
    pub(super) fn set(&mut self, deletion: PendingDeletion, at: Timestamp) {
        self.cancel(&deletion.key);
        self.due.insert((at, deletion.key.clone()));
        self.pods.insert(deletion.key.clone(), Entry { deletion, at: Some(at) });
    }

    /// Cancels the deletion of a pod. Returns whether it was scheduled; a deletion that has begun goes on.
    pub(super) fn cancel(&mut self, key: &Key) -> bool {
        let at = self.pods.remove(key).and_then(|entry| entry.at);
        at.is_some_and(|at| self.due.remove(&(at, key.clone())))
    }

    /// When the next deletion is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes a pod that is due, to delete it.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<PendingDeletion> {
        let (_, key) = self.due.first().filter(|(at, _)| *at <= now).cloned()?;
        self.due.pop_first();
        let entry = self.pods.get_mut(&key)?;
        entry.at = None;
        Some(entry.deletion.clone())
    }

    /// A deletion that was taken has ended; with `again` (the present time and a pause) it is tried again.
    /// A pod that was scheduled or cancelled meanwhile is left alone.
    pub(super) fn finish(&mut self, deletion: &PendingDeletion, again: Option<(Timestamp, Duration)>) {
        let is_its = |entry: &Entry| entry.at.is_none() && entry.deletion == *deletion;
        if !self.pods.get(&deletion.key).is_some_and(is_its) {
            return;
        }
        match again {
            None => drop(self.pods.remove(&deletion.key)),
            Some((now, pause)) => {
                let deletion = PendingDeletion { failures: deletion.failures + 1, ..deletion.clone() };
                self.set(deletion, now.saturating_add(pause).unwrap_or(Timestamp::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    fn pod(name: &str) -> PendingDeletion {
        PendingDeletion {
            key: ("default".into(), name.into()),
            uid: format!("uid of {name}"),
            since: at(0),
            failures: 0,
        }
    }

    #[test]
    fn pods_are_due_in_the_order_of_their_times_and_not_before() {
        let mut schedule = DeletionSchedule::default();
        schedule.set(pod("late"), at(9));
        schedule.set(pod("soon"), at(5));
        assert_eq!(schedule.next_due(), Some(at(5)));
        assert_eq!(schedule.take_due(at(4)), None);
        assert_eq!(schedule.take_due(at(9)), Some(pod("soon")));
        assert_eq!(schedule.take_due(at(9)), Some(pod("late")));
        assert_eq!((schedule.take_due(at(9)), schedule.next_due()), (None, None));
    }

    #[test]
    fn a_cancelled_deletion_is_not_due() {
        let mut schedule = DeletionSchedule::default();
        let key = pod("a").key;
        assert!(!schedule.cancel(&key));
        schedule.set(pod("a"), at(5));
        assert!(schedule.has(&key));
        assert!(schedule.cancel(&key));
        assert!(!schedule.has(&key));
        assert_eq!(schedule.take_due(at(9)), None);
        schedule.set(pod("a"), at(5));
        assert!(schedule.take_due(at(5)).is_some());
        assert!(!schedule.cancel(&key), "it is being deleted already");
    }

    #[test]
    fn a_deletion_that_fails_is_tried_again_unless_something_else_was_decided() {
        let mut schedule = DeletionSchedule::default();
        schedule.set(pod("a"), at(5));
        let taken = schedule.take_due(at(5)).unwrap();
        schedule.finish(&taken, Some((at(6), Duration::from_secs(2))));
        assert_eq!(schedule.next_due(), Some(at(8)));
        let again = schedule.take_due(at(8)).unwrap();
        assert_eq!(again.failures, 1);
        schedule.finish(&again, None);
        assert!(!schedule.has(&again.key));

        schedule.set(pod("a"), at(5));
        let old = schedule.take_due(at(5)).unwrap();
        schedule.set(PendingDeletion { uid: "another".into(), ..pod("a") }, at(20));
        schedule.finish(&old, None);
        assert_eq!(
            schedule.next_due(),
            Some(at(20)),
            "the end of an old deletion has nothing to do with a new one"
        );
    }
}
