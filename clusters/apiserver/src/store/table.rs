//! The objects of one kind, and the bounded log of their writes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::version::Version;

/// The time for which an event is kept: kube-apiserver's `--etcd-compaction-interval`.
const HISTORY_DURATION: Duration = Duration::from_secs(300);

/// The change of one object by one write.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub revision: u64,
    /// The time of the write on the server's clock.
    pub at: Duration,
    /// The key of the object in its table.
    pub key: Arc<str>,
    /// The previous state; `None` for a create.
    pub before: Option<Arc<Version>>,
    /// The new state. For a delete, it is the last stored state with the revision of the delete.
    pub after: Arc<Version>,
    pub deleted: bool,
    /// The cached text of the event, which most watches send.
    /// Only the newest event has it, because most watches wait for that event.
    pub line: OnceLock<Bytes>,
}

/// The objects of one kind by their keys.
pub(super) type Objects = BTreeMap<Arc<str>, Arc<Version>>;

/// A restore of a table, for the watches that survive it.
#[derive(Clone, Debug)]
pub(crate) struct Restore {
    /// The log of writes before the restore.
    pub log: VecDeque<Event>,
    /// The differences between the states before and after the restore, as events without a write.
    pub differences: Vec<Event>,
    /// The revision of the store after the restore.
    pub revision: u64,
}

/// All objects of one kind.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: Objects,
    log: VecDeque<Event>,
    /// The log contains all events after this revision.
    floor: u64,
    wake_source: Arc<Notify>,
    /// Watches that began at or before this revision have to end.
    /// The reason is that the kind was no longer served in that form.
    closed_at: u64,
    restores: Vec<Restore>,
}

impl Table {
    /// The object under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Version>> {
        self.objects.get(key)
    }

    /// Puts a version under `key`, records it in the log at the time `at`, and wakes the watches.
    /// Returns the revisions whose trees need no cache any more: the previous version, and deleted versions that left
    /// the log.
    pub(super) fn put(&mut self, key: &str, version: Arc<Version>, at: Duration, limit: usize) -> Vec<u64> {
        let after = version.clone();
        let (key, before) = match self.objects.entry(key.into()) {
            Entry::Occupied(mut entry) => (entry.key().clone(), Some(entry.insert(version))),
            Entry::Vacant(entry) => {
                let key = entry.key().clone();
                entry.insert(version);
                (key, None)
            }
        };
        let revision = after.revision;
        let replaced = before.as_ref().map(|before| before.revision);
        let event = Event { revision, at, key, before, after, deleted: false, line: OnceLock::new() };
        self.record(event, limit, replaced)
    }

    /// Removes the object under `key` in the same way as [`Table::put`].
    /// Also returns the last state of the object, at `revision`.
    pub(super) fn remove(
        &mut self,
        key: &str,
        revision: u64,
        at: Duration,
        limit: usize,
    ) -> Option<(Arc<Version>, Vec<u64>)> {
        let (key, before) = self.objects.remove_entry(key)?;
        let (after, replaced) = (before.deleted_at(revision), Some(before.revision));
        let line = OnceLock::new();
        let event =
            Event { revision, at, key, before: Some(before), after: after.clone(), deleted: true, line };
        let stale = self.record(event, limit, replaced);
        Some((after, stale))
    }

    fn record(&mut self, event: Event, limit: usize, replaced: Option<u64>) -> Vec<u64> {
        let now = event.at;
        if let Some(last) = self.log.back_mut() {
            last.line = OnceLock::new();
        }
        self.log.push_back(event);
        let mut stale = Vec::from_iter(replaced);
        let is_old = |event: &Event| event.at + HISTORY_DURATION <= now;
        while (self.log.len() > limit || self.log.front().is_some_and(is_old))
            && let Some(event) = self.log.pop_front()
        {
            self.floor = event.revision;
            stale.extend(event.deleted.then_some(event.revision));
        }
        self.wake_source.notify_waiters();
        stale
    }

    /// The current objects.
    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Replaces the objects by `objects`, and clears the log.
    /// `revision` is the revision of the store after the restore.
    pub(super) fn restore(&mut self, objects: Objects, revision: u64, at: Duration) {
        let was = mem::replace(&mut self.objects, objects);
        let event = |key: &Arc<str>, before: Option<&Arc<Version>>, after: Arc<Version>, deleted| {
            let (key, before, line) = (key.clone(), before.cloned(), OnceLock::new());
            Event { revision: after.revision, at, key, before, after, deleted, line }
        };
        let removed = was.iter().filter(|(key, _)| !self.objects.contains_key(*key));
        let removed =
            removed.map(|(key, before)| event(key, Some(before), before.deleted_at(revision), true));
        let written = self.objects.iter().filter_map(|(key, after)| {
            let before = was.get(key);
            let same = before.is_some_and(|before| Arc::ptr_eq(before, after));
            (!same).then(|| event(key, before, after.clone(), false))
        });
        let differences = removed.chain(written).collect();
        let log = mem::take(&mut self.log);
        self.restores.push(Restore { log, differences, revision });
        (self.floor, self.closed_at) = (revision, 0);
        self.wake_source.notify_waiters();
    }

    /// The number of restores.
    pub(crate) fn restore_count(&self) -> usize {
        self.restores.len()
    }

    /// The restore after the first `restores` restores.
    pub(crate) fn restore_after(&self, restores: usize) -> Option<&Restore> {
        self.restores.get(restores)
    }

    /// Ends the watches that began at or before `revision`, after they have sent the remaining events.
    pub(super) fn close(&mut self, revision: u64) {
        self.closed_at = revision;
        self.wake_source.notify_waiters();
    }

    /// The objects whose keys begin with `prefix`, in the order of their keys.
    pub(crate) fn range<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Version>)> {
        self.range_from(prefix, prefix)
    }

    fn range_from<'a>(
        &'a self,
        prefix: &'a str,
        start: &str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Version>)> + use<'a> {
        let start = Bound::Included(if start < prefix { prefix } else { start });
        let objects = self.objects.range::<str, _>((start, Bound::Unbounded));
        objects.take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Returns the objects at `revision` whose keys begin with `prefix`, from the key `start` on.
    /// The result is `None` if the log does not reach that far back. The memory cost is one entry per later event.
    pub(crate) fn at<'a>(
        &'a self,
        revision: u64,
        prefix: &'a str,
        start: &str,
    ) -> Option<impl Iterator<Item = (&'a Arc<str>, &'a Arc<Version>)> + use<'a>> {
        if revision < self.floor {
            return None;
        }
        let mut reverted = BTreeMap::new();
        for event in self.log.iter().rev().take_while(|event| event.revision > revision) {
            if event.key.starts_with(prefix) && *event.key >= *start {
                reverted.insert(&event.key, event.before.as_ref());
            }
        }
        let mut reverted = reverted.into_iter().peekable();
        let mut present = self.range_from(prefix, start).peekable();
        Some(std::iter::from_fn(move || {
            loop {
                let next = present.peek().map(|(key, _)| *key);
                let Some((key, before)) = reverted.next_if(|(key, _)| next.is_none_or(|next| *key <= next))
                else {
                    return present.next();
                };
                present.next_if(|(present, _)| *present == key);
                if let Some(before) = before {
                    return Some((key, before));
                }
            }
        }))
    }

    /// The events after `revision`, oldest first; `None` if some of them are no longer in the log.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Event>> {
        let start = self.log.partition_point(|event| event.revision <= revision);
        (revision >= self.floor).then(|| self.log.range(start..))
    }

    /// The oldest revision from which a watch can continue.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// The oldest revision from which a watch can start.
    /// Events before the table was closed are not sent again.
    pub(crate) fn oldest(&self) -> u64 {
        self.floor.max(self.closed_at)
    }

    /// Returns true if a watch that began at `revision` has to end.
    pub(crate) fn is_closed_since(&self, revision: u64) -> bool {
        self.closed_at >= revision
    }

    /// The notification of every write to this table.
    pub(crate) fn wake_source(&self) -> &Arc<Notify> {
        &self.wake_source
    }
}
