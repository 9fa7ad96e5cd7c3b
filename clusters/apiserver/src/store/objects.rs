//! The store: the current version of every object, and one sequence of revisions.
//!
//! The store knows only keys and versions. Its callers decide the meaning of writes, and whether they are allowed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use capsize_clock::Clock;
use capsize_sorted::CollectSorted;
use serde_json::Value;
use tokio::sync::Notify;

use super::table::{Objects, Table};
use super::version::Version;
use crate::store::encoded::Part;

/// The size limit of the texts of objects with cached trees, in bytes.
/// The most recent writes are cached. The limit is large enough for the Leases of five thousand nodes.
const TREE_CACHE_BYTES: usize = 4 * 1024 * 1024;

/// The objects of one server.
#[derive(Debug)]
pub(crate) struct Store {
    tables: BTreeMap<Arc<str>, Table>,
    revision: u64,
    clock: Clock,
    history_limit: usize,
    recent: RefCell<TreeCache>,
    written: Arc<Notify>,
}

/// The objects of a store at one moment. Unchanged objects share their memory.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    revision: u64,
    tables: BTreeMap<Arc<str>, Objects>,
}

/// The versions with cached trees, by revision. Replaced versions are not in the cache.
#[derive(Debug, Default)]
struct TreeCache {
    versions: BTreeMap<u64, Arc<Version>>,
    /// The total length of their texts.
    bytes: usize,
}

impl TreeCache {
    /// Caches the tree of a version, and drops the oldest ones if the cache is too large.
    fn keep(&mut self, version: Arc<Version>) {
        let revision = version.revision;
        self.bytes += version.encoded().bytes.len();
        self.versions.insert(revision, version);
        while self.bytes > TREE_CACHE_BYTES
            && let Some(oldest) = self.versions.keys().copied().find(|each| *each != revision)
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, revision: u64) {
        if let Some(version) = self.versions.remove(&revision) {
            self.bytes -= version.encoded().bytes.len();
            version.drop_tree();
        }
    }
}

/// The key of an object in its table; the keys have the same order as in etcd.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    let mut key = String::with_capacity(namespace.len() + 1 + name.len());
    key.push_str(namespace);
    key.push('/');
    key.push_str(name);
    key
}

/// The key of `object` according to its metadata.
pub(crate) fn object_key(object: &Value) -> String {
    let metadata = &object["metadata"];
    key(metadata["namespace"].as_str().unwrap_or_default(), metadata["name"].as_str().unwrap_or_default())
}

impl Store {
    /// An empty store with at most `history_limit` events per table. Events expire as in real servers.
    pub(crate) fn new(clock: Clock, history_limit: usize) -> Self {
        let (recent, written) = (RefCell::default(), Arc::default());
        Self { tables: BTreeMap::new(), revision: 1, clock, history_limit, recent, written }
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The notification of every write.
    pub(crate) fn written(&self) -> &Arc<Notify> {
        &self.written
    }

    /// The table called `storage`; `None` if it does not exist yet.
    pub(crate) fn table(&self, storage: &str) -> Option<&Table> {
        self.tables.get(storage)
    }

    /// All objects of the table called `storage`, by key.
    pub(crate) fn objects(&self, storage: &str) -> impl Iterator<Item = &Arc<Version>> {
        self.tables.get(storage).into_iter().flat_map(|table| table.range("")).map(|(_, version)| version)
    }

    /// The tables that exist, by name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&Arc<str>, &Table)> {
        self.tables.iter()
    }

    /// The table called `storage`; created if it does not exist.
    pub(crate) fn table_mut(&mut self, storage: &Arc<str>) -> &mut Table {
        if !self.tables.contains_key(storage) {
            self.tables.insert(storage.clone(), Table::default());
        }
        self.tables.get_mut(storage).expect("it was just made")
    }

    /// The object under `key`.
    pub(crate) fn get(&self, storage: &str, key: &str) -> Option<&Arc<Version>> {
        self.tables.get(storage)?.get(key)
    }

    /// The object under `key`, with its tree cached. Used before writes.
    pub(crate) fn load(&self, storage: &str, key: &str) -> Option<&Arc<Version>> {
        let version = self.get(storage, key)?;
        if version.keep_tree() {
            self.recent.borrow_mut().keep(version.clone());
        }
        Some(version)
    }

    /// Writes `object` under `key` at the next revision and wakes the table's watches.
    /// `fields` are the values of its selectable fields.
    pub(crate) fn put(
        &mut self,
        storage: &Arc<str>,
        key: &str,
        object: Value,
        fields: Box<str>,
    ) -> Arc<Version> {
        let version = Version::new(object, self.revision + 1, fields);
        self.recent.get_mut().keep(version.clone());
        self.put_version(storage, key, version)
    }

    /// Writes the object `stored` under `key` with a new text for one part, as [`Store::put`] does.
    pub(crate) fn put_part(
        &mut self,
        storage: &Arc<str>,
        key: &str,
        stored: &Version,
        part: (Part, &[u8]),
        fields: Box<str>,
    ) -> Arc<Version> {
        let version = stored.with_part(part, self.revision + 1, fields);
        self.put_version(storage, key, version)
    }

    fn put_version(&mut self, storage: &Arc<str>, key: &str, version: Arc<Version>) -> Arc<Version> {
        self.revision = version.revision;
        let (at, limit) = (self.clock.elapsed(), self.history_limit);
        let stale = self.table_mut(storage).put(key, version.clone(), at, limit);
        self.forget(&stale);
        self.written.notify_waiters();
        version
    }

    /// Ends the watches of the table called `storage`, after they have sent the remaining events.
    pub(crate) fn close(&mut self, storage: &str) {
        if let Some(table) = self.tables.get_mut(storage) {
            table.close(self.revision);
        }
    }

    /// Removes the object under `key` at the next revision, and returns its last state with that revision.
    pub(crate) fn remove(&mut self, storage: &str, key: &str) -> Option<Arc<Version>> {
        let table = self.tables.get_mut(storage)?;
        let (at, limit) = (self.clock.elapsed(), self.history_limit);
        let (version, stale) = table.remove(key, self.revision + 1, at, limit)?;
        self.revision += 1;
        self.recent.get_mut().keep(version.clone());
        self.forget(&stale);
        self.written.notify_waiters();
        Some(version)
    }

    /// A snapshot of all objects.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let tables = self.tables.iter().map(|(name, table)| (name.clone(), table.objects().clone()));
        Snapshot { revision: self.revision, tables: tables.collect_sorted() }
    }

    /// Restores the objects and the revision of `snapshot`. Watches end, except those of restore observers.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) {
        for version in mem::take(self.recent.get_mut()).versions.values() {
            version.drop_tree();
        }
        for name in snapshot.tables.keys() {
            self.table_mut(name);
        }
        let at = self.clock.elapsed();
        for (name, table) in &mut self.tables {
            let objects = snapshot.tables.get(name).cloned().unwrap_or_default();
            table.restore(objects, snapshot.revision, at);
        }
        self.revision = snapshot.revision;
        self.written.notify_waiters();
    }

    /// An empty store with the same settings.
    pub(crate) fn blank(&self) -> Self {
        Self::new(self.clock, self.history_limit)
    }

    /// Drops replaced versions from the cache of trees.
    fn forget(&mut self, stale: &[u64]) {
        for revision in stale {
            self.recent.get_mut().forget(*revision);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capsize_clock::{Seed, simulate};
    use serde_json::json;

    use super::*;

    fn object(name: &str, room: usize) -> Value {
        json!({"kind": "A", "metadata": {"name": name}, "text": "x".repeat(room)})
    }

    #[test]
    fn replaced_and_deleted_versions_leave_the_cache() {
        simulate(Seed(1), |run| async move {
            let (mut store, table) = (Store::new(run.clock, 10), Arc::from("a"));
            for _ in 0..100 {
                store.put(&table, "a", object("a", 10), "".into());
            }
            let kept = |store: &Store| store.recent.borrow().versions.keys().copied().collect::<Vec<_>>();
            assert_eq!(kept(&store), [store.revision()]);
            store.remove("a", "a").unwrap();
            assert_eq!(kept(&store), [store.revision()]);
            run.clock.sleep(Duration::from_secs(600)).await;
            store.put(&table, "b", object("b", 10), "".into());
            assert_eq!(kept(&store), [store.revision()]);
            let text = store.get("a", "b").unwrap().encoded().bytes.len();
            assert_eq!(store.recent.borrow().bytes, text);
        });
    }

    #[test]
    fn the_trees_of_the_oldest_versions_are_dropped_first() {
        simulate(Seed(1), |run| async move {
            let (mut store, table) = (Store::new(run.clock, 1), Arc::from("a"));
            for name in ["a", "b", "c"] {
                store.put(&table, name, object(name, TREE_CACHE_BYTES / 2), "".into());
            }
            let has_tree = |store: &Store, name: &str| !store.get("a", name).unwrap().keep_tree();
            assert!(has_tree(&store, "c"));
            assert_eq!(store.recent.borrow().versions.len(), 1);
            store.load("a", "a").unwrap();
            assert!(has_tree(&store, "a") && !has_tree(&store, "c"));
        });
    }
}
