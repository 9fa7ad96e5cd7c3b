//! The dependents of objects, according to the owner references of all objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capsize_sorted::CollectSorted;
use serde_json::Value;

/// The tables and keys of the dependents, by the uid of the owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependents(BTreeMap<String, BTreeSet<(Arc<str>, String)>>);

impl Dependents {
    /// Records the change of the object under `key` from `before` to `after`.
    pub(crate) fn update(
        &mut self,
        storage: &Arc<str>,
        key: &str,
        before: Option<&Value>,
        after: Option<&Value>,
    ) {
        if before.map(listed) == after.map(listed) {
            return;
        }
        let uids = |object: Option<&Value>| -> BTreeSet<String> {
            let owners = object.into_iter().flat_map(references);
            owners.filter_map(|owner| owner["uid"].as_str().map(str::to_owned)).collect_sorted()
        };
        let (before, after) = (uids(before), uids(after));
        let entry = (storage.clone(), key.to_owned());
        for uid in before.difference(&after) {
            if let Some(entries) = self.0.get_mut(uid) {
                entries.remove(&entry);
                if entries.is_empty() {
                    self.0.remove(uid);
                }
            }
        }
        for uid in after.difference(&before) {
            self.0.entry(uid.clone()).or_default().insert(entry.clone());
        }
    }

    pub(super) fn of(&self, uid: &str) -> impl Iterator<Item = &(Arc<str>, String)> {
        self.0.get(uid).into_iter().flatten()
    }
}

/// The owner references of an object.
pub(crate) fn references(object: &Value) -> impl Iterator<Item = &Value> {
    listed(object).as_array().into_iter().flatten()
}

fn listed(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"]
}
