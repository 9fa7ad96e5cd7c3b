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

/// How long an event is kept: kube-apiserver's `--etcd-compaction-interval`.
const HISTORY_LASTS: Duration = Duration::from_secs(300);

/// What one write did to one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub revision: u64,
    /// When it was written, on the server's clock.
    pub at: Duration,
    /// The key of the object in its table.
    pub key: Arc<str>,
    /// The state before; `None` where the object was created.
    pub before: Option<Arc<Version>>,
    /// The state after. Of a delete, the last stored state at the delete's revision.
    pub after: Arc<Version>,
    pub deleted: bool,
    /// The line that most watches are sent of it. Only the newest event has one: that is what watches wait for.
    pub line: OnceLock<Bytes>,
}

/// The objects of one kind by their keys.
pub(super) type Objects = BTreeMap<Arc<str>, Arc<Version>>;

/// What watches that outlast it are told of a table that comes to hold what it held before.
#[derive(Clone, Debug)]
pub(crate) struct Rift {
    /// What was written up to then.
    pub log: VecDeque<Event>,
    /// How what is there then differs from what was there last: events that nobody has written.
    pub differences: Vec<Event>,
    /// The revision that the store is at then.
    pub revision: u64,
}

/// All objects of one kind.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: Objects,
    log: VecDeque<Event>,
    /// The log holds every event after this revision.
    floor: u64,
    woken: Arc<Notify>,
    /// Watches that began at or before this revision end: what was served then is no longer.
    closed_at: u64,
    rifts: Vec<Rift>,
}

impl Table {
    /// The object under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Version>> {
        self.objects.get(key)
    }

    /// Puts a version under `key`, notes it in the log at the time `at`, and wakes the watches. Back come the revisions that
    /// nobody will write to any more: that of the version before, and of deleted ones that the log has no more.
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

    /// Removes what is under `key`, as [`Table::put`] puts it; its last state, at `revision`, comes back, too.
    pub(super) fn remove(
        &mut self,
        key: &str,
        revision: u64,
        at: Duration,
        limit: usize,
    ) -> Option<(Arc<Version>, Vec<u64>)> {
        let (key, before) = self.objects.remove_entry(key)?;
        let (after, replaced) = (before.leaving(revision), Some(before.revision));
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
        let is_old = |event: &Event| event.at + HISTORY_LASTS <= now;
        while (self.log.len() > limit || self.log.front().is_some_and(is_old))
            && let Some(event) = self.log.pop_front()
        {
            self.floor = event.revision;
            stale.extend(event.deleted.then_some(event.revision));
        }
        self.woken.notify_waiters();
        stale
    }

    /// The objects as they are.
    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Holds `objects` in the place of what it held, and nothing of how they came about. `revision` is the one that the
    /// store is at then.
    pub(super) fn restore(&mut self, objects: Objects, revision: u64, at: Duration) {
        let was = mem::replace(&mut self.objects, objects);
        let event = |key: &Arc<str>, before: Option<&Arc<Version>>, after: Arc<Version>, deleted| {
            let (key, before, line) = (key.clone(), before.cloned(), OnceLock::new());
            Event { revision: after.revision, at, key, before, after, deleted, line }
        };
        let gone = was.iter().filter(|(key, _)| !self.objects.contains_key(*key));
        let gone = gone.map(|(key, before)| event(key, Some(before), before.leaving(revision), true));
        let there = self.objects.iter().filter_map(|(key, after)| {
            let before = was.get(key);
            let same = before.is_some_and(|before| Arc::ptr_eq(before, after));
            (!same).then(|| event(key, before, after.clone(), false))
        });
        let differences = gone.chain(there).collect();
        let log = mem::take(&mut self.log);
        self.rifts.push(Rift { log, differences, revision });
        (self.floor, self.closed_at) = (revision, 0);
        self.woken.notify_waiters();
    }

    /// How often it has come to hold what it held before.
    pub(crate) fn rifts(&self) -> usize {
        self.rifts.len()
    }

    /// What happened the next time that it did so, after so many.
    pub(crate) fn rift_after(&self, rifts: usize) -> Option<&Rift> {
        self.rifts.get(rifts)
    }

    /// Ends the watches that began at or before `revision`, once they have told what there is to tell.
    pub(super) fn close(&mut self, revision: u64) {
        self.closed_at = revision;
        self.woken.notify_waiters();
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

    /// The objects whose keys begin with `prefix`, from the key `start` on, as they were at `revision`; `None` where
    /// the log does not reach that far back. What it costs beside the objects that are read is an entry for each
    /// event since.
    pub(crate) fn at<'a>(
        &'a self,
        revision: u64,
        prefix: &'a str,
        start: &str,
    ) -> Option<impl Iterator<Item = (&'a Arc<str>, &'a Arc<Version>)> + use<'a>> {
        if revision < self.floor {
            return None;
        }
        let mut undone = BTreeMap::new();
        for event in self.log.iter().rev().take_while(|event| event.revision > revision) {
            if event.key.starts_with(prefix) && *event.key >= *start {
                undone.insert(&event.key, event.before.as_ref());
            }
        }
        let mut undone = undone.into_iter().peekable();
        let mut present = self.range_from(prefix, start).peekable();
        Some(std::iter::from_fn(move || {
            loop {
                let next = present.peek().map(|(key, _)| *key);
                let Some((key, before)) = undone.next_if(|(key, _)| next.is_none_or(|next| *key <= next))
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

    /// The events after `revision`, oldest first; `None` where some of them are no longer kept.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Event>> {
        let start = self.log.partition_point(|event| event.revision <= revision);
        (revision >= self.floor).then(|| self.log.range(start..))
    }

    /// The oldest revision that a watch can go on from.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// The oldest revision that a watch can start from: what was before the table was closed is not told again.
    pub(crate) fn oldest(&self) -> u64 {
        self.floor.max(self.closed_at)
    }

    /// Whether a watch that began at `revision` has to end.
    pub(crate) fn is_closed_since(&self, revision: u64) -> bool {
        self.closed_at >= revision
    }

    /// What is notified of every write to this table.
    pub(crate) fn woken(&self) -> &Arc<Notify> {
        &self.woken
    }
}
