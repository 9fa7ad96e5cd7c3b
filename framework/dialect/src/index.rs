//! Lookups from keys to the latest versions of objects, and which keys were looked up.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_cel::Host;
use capsize_sorted::CollectSorted;
use kube_cel::cel::Value;

/// The function that looks objects up in an index.
pub(crate) const LOOK_UP: &str = "@lookUp";

/// The key of lookups in an index of which no object was observed. No name of an object is empty.
const NEVER_SHOWN: &str = "";

/// An index and a key in it.
pub(crate) type Lookup = (String, String);

/// All indexes of a dialect.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    /// For each index, the objects by key and by name.
    entries: BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>>,
    /// For each index, the key of each object by its name.
    keys: BTreeMap<String, BTreeMap<String, String>>,
    /// The indexes of which any object was observed, and those that may be empty.
    /// A history may leave out kinds.
    shown: BTreeSet<String>,
    /// The lookups since they were last taken.
    looked_up: RefCell<BTreeSet<Lookup>>,
}

impl Indexes {
    /// Indexes in which lookups find an empty list before the first object was observed.
    pub(crate) fn that_may_be_empty<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        Self { shown: names.cloned().collect_sorted(), ..Self::default() }
    }

    /// Puts the object called `name` under `key`, or removes it if there is no key.
    /// Returns the lookups whose result changes.
    pub(crate) fn put(&mut self, index: &str, name: &str, found: Option<(String, Value)>) -> Vec<Lookup> {
        let mut changed = Vec::new();
        if self.shown.insert(index.to_owned()) {
            changed.push((index.to_owned(), NEVER_SHOWN.to_owned()));
        }
        let keys = self.keys.entry(index.to_owned()).or_default();
        let entries = self.entries.entry(index.to_owned()).or_default();
        let now = found.as_ref().map(|(key, _)| key.clone());
        let was = match &now {
            Some(key) => keys.insert(name.to_owned(), key.clone()),
            None => keys.remove(name),
        };
        if let Some(was) = was.filter(|was| now.as_ref() != Some(was)) {
            if let Some(objects) = entries.get_mut(&was) {
                objects.remove(name);
            }
            changed.push((index.to_owned(), was));
        }
        if let Some((key, value)) = found {
            entries.entry(key.clone()).or_default().insert(name.to_owned(), value);
            changed.push((index.to_owned(), key));
        }
        changed
    }

    /// Takes the lookups that were made since the last call.
    pub(crate) fn take_lookups(&self) -> BTreeSet<Lookup> {
        std::mem::take(&mut self.looked_up.borrow_mut())
    }

    /// The objects under the key; `None` if no object of the index was ever observed.
    fn get(&self, index: &str, key: &str) -> Option<Value> {
        let mut looked_up = self.looked_up.borrow_mut();
        looked_up.insert((index.to_owned(), key.to_owned()));
        if !self.shown.contains(index) {
            looked_up.insert((index.to_owned(), NEVER_SHOWN.to_owned()));
            return None;
        }
        let found = self.entries.get(index).and_then(|entries| entries.get(key));
        let found = found.into_iter().flat_map(BTreeMap::values).cloned().collect();
        Some(Value::List(Arc::new(found)))
    }
}

/// The function that expressions call to look up objects.
pub(crate) struct LookUp<'a>(pub(crate) &'a Indexes);

impl Host for LookUp<'_> {
    fn call(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        match (name, arguments) {
            (LOOK_UP, [Value::String(index), Value::String(key)]) => self.0.get(index, key),
            _ => None,
        }
    }
}
