//! The store: every object's present version, one revision sequence, and a bounded log a table for watches.
//!
//! It knows keys and versions only. What a write means, and whether it may happen, is decided by its callers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use capsize_clock::Clock;
use serde_json::Value;
use tokio::sync::Notify;

use crate::respond::encode;

/// How long an event is kept: kube-apiserver's `--etcd-compaction-interval`.
const HISTORY_LASTS: Duration = Duration::from_secs(300);

/// One version of one object. It never changes; readers share it.
#[derive(Debug)]
pub(crate) struct Version {
    /// The object as it is served, with `apiVersion` and `kind` of the version that is stored.
    pub object: Value,
    /// The revision of the write that made it; for the last state of a deleted object, that of the delete.
    pub revision: u64,
    encoded: OnceLock<Encoded>,
}

/// An object as JSON text whose first two fields are `kind` and `apiVersion`.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub bytes: Bytes,
    /// How much of the front, behind the brace, the two type fields with their commas take.
    pub type_fields: usize,
}

impl Version {
    fn new(mut object: Value, revision: u64) -> Arc<Self> {
        object["metadata"]["resourceVersion"] = Value::String(revision.to_string());
        Arc::new(Self { object, revision, encoded: OnceLock::new() })
    }

    /// The same object as if written at `revision`: how a watch sees it leave.
    pub(crate) fn at(&self, revision: u64) -> Arc<Self> {
        Self::new(self.object.clone(), revision)
    }

    /// The object as JSON text: made once, whatever the number of readers.
    pub(crate) fn encoded(&self) -> &Encoded {
        self.encoded.get_or_init(|| encode(&self.object))
    }
}

/// What one write did to one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub revision: u64,
    /// When it was written, on the server's clock.
    pub at: Duration,
    /// The key of the object in its table.
    pub key: String,
    /// The state before; `None` where the object was created.
    pub before: Option<Arc<Version>>,
    /// The state after. Of a delete, the last stored state at the delete's revision.
    pub after: Arc<Version>,
    pub deleted: bool,
}

/// All objects of one kind.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: BTreeMap<String, Arc<Version>>,
    log: VecDeque<Event>,
    /// The log holds every event after this revision.
    floor: u64,
    woken: Arc<Notify>,
    /// Watches that began at or before this revision end: what was served then is no longer.
    closed_at: u64,
}

/// The objects of one server.
#[derive(Debug)]
pub(crate) struct Store {
    tables: BTreeMap<Arc<str>, Table>,
    revision: u64,
    clock: Clock,
    history_limit: usize,
}

/// The key of an object in its table; keys sort as etcd's do.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    let mut key = String::with_capacity(namespace.len() + 1 + name.len());
    key.push_str(namespace);
    key.push('/');
    key.push_str(name);
    key
}

impl Store {
    /// An empty store that keeps at most `history_limit` events a table, and none for longer than real servers do.
    pub(crate) fn new(clock: Clock, history_limit: usize) -> Self {
        Self { tables: BTreeMap::new(), revision: 1, clock, history_limit }
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The table called `storage`, which need not exist yet.
    pub(crate) fn table(&self, storage: &str) -> Option<&Table> {
        self.tables.get(storage)
    }

    /// The tables that exist, by name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&Arc<str>, &Table)> {
        self.tables.iter()
    }

    /// The table called `storage`, made where it does not exist.
    pub(crate) fn table_mut(&mut self, storage: &Arc<str>) -> &mut Table {
        if !self.tables.contains_key(storage) {
            self.tables.insert(storage.clone(), Table::default());
        }
        self.tables.get_mut(storage).expect("it was just made")
    }

    /// The object under `key`.
    pub(crate) fn get(&self, storage: &str, key: &str) -> Option<&Arc<Version>> {
        self.tables.get(storage)?.objects.get(key)
    }

    /// Writes `object` under `key` at the next revision and wakes the table's watches.
    pub(crate) fn put(&mut self, storage: &Arc<str>, key: String, object: Value) -> Arc<Version> {
        self.revision += 1;
        let version = Version::new(object, self.revision);
        let (at, limit) = (self.clock.elapsed(), self.history_limit);
        let table = self.table_mut(storage);
        let before = table.objects.insert(key.clone(), version.clone());
        let after = version.clone();
        let event = Event { revision: version.revision, at, key, before, after, deleted: false };
        table.record(event, limit);
        version
    }

    /// Ends the watches of the table called `storage`, once they have told what there is to tell.
    pub(crate) fn close(&mut self, storage: &str) {
        if let Some(table) = self.tables.get_mut(storage) {
            table.closed_at = self.revision;
            table.woken.notify_waiters();
        }
    }

    /// Removes the object under `key` at the next revision; its last state, with that revision, comes back.
    pub(crate) fn remove(&mut self, storage: &str, key: &str) -> Option<Arc<Version>> {
        let table = self.tables.get_mut(storage)?;
        let before = table.objects.remove(key)?;
        self.revision += 1;
        let after = before.at(self.revision);
        let key = key.to_owned();
        let (revision, at) = (self.revision, self.clock.elapsed());
        let event = Event { revision, at, key, before: Some(before), after: after.clone(), deleted: true };
        table.record(event, self.history_limit);
        Some(after)
    }
}

impl Table {
    fn record(&mut self, event: Event, limit: usize) {
        let now = event.at;
        self.log.push_back(event);
        while self.log.len() > limit || self.log.front().is_some_and(|event| event.at + HISTORY_LASTS <= now)
        {
            self.floor = self.log.pop_front().map_or(self.floor, |event| event.revision);
        }
        self.woken.notify_waiters();
    }

    /// The objects whose keys begin with `prefix`, in the order of their keys.
    pub(crate) fn range<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a String, &'a Arc<Version>)> {
        self.objects.range(prefix.to_owned()..).take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The objects as they were at `revision`; `None` where the log does not reach that far back.
    pub(crate) fn at(&self, revision: u64, prefix: &str) -> Option<BTreeMap<String, Arc<Version>>> {
        if revision < self.floor {
            return None;
        }
        let mut objects: BTreeMap<_, _> =
            self.range(prefix).map(|(key, version)| (key.clone(), version.clone())).collect();
        for event in self.log.iter().rev().take_while(|event| event.revision > revision) {
            if !event.key.starts_with(prefix) {
                continue;
            }
            match &event.before {
                Some(before) => objects.insert(event.key.clone(), before.clone()),
                None => objects.remove(&event.key),
            };
        }
        Some(objects)
    }

    /// The events after `revision`, oldest first; `None` where some of them are no longer kept.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Event>> {
        let start = self.log.partition_point(|event| event.revision <= revision);
        (revision >= self.floor).then(|| self.log.range(start..))
    }

    /// The oldest revision that a watch can start from.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
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

/// The key that `object` has by its metadata.
pub(crate) fn object_key(object: &Value) -> String {
    let metadata = &object["metadata"];
    key(metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str().unwrap_or_default())
}
