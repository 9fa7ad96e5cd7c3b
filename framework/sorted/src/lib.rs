//! Collects sorted maps and sets item by item.
//!
//! [`Iterator::collect`] first sorts the items. The compiler then makes another copy of the sort for each iterator, which
//! was a twentieth of all code of the workspace. Inserting items needs one copy for each type of map.

use std::collections::{BTreeMap, BTreeSet};

/// A map or a set that is sorted by key.
pub trait SortedCollection<T>: Default + Extend<T> {}

impl<K: Ord, V> SortedCollection<(K, V)> for BTreeMap<K, V> {}
impl<T: Ord> SortedCollection<T> for BTreeSet<T> {}
impl SortedCollection<(String, serde_json::Value)> for serde_json::Map<String, serde_json::Value> {}

/// Collects items into a sorted map or a sorted set.
pub trait CollectSorted: IntoIterator + Sized {
    /// Collects as [`Iterator::collect`] does. Of two entries with equal keys, the later one counts.
    fn collect_sorted<C: SortedCollection<Self::Item>>(self) -> C {
        let mut collection = C::default();
        collection.extend(self);
        collection
    }
}

impl<I: IntoIterator> CollectSorted for I {}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    #[test]
    fn the_collections_are_equal_to_those_of_the_standard_library() {
        let entries = || [("b", 1), ("a", 2), ("b", 3)].into_iter();
        assert_eq!(entries().collect_sorted::<BTreeMap<_, _>>(), entries().collect::<BTreeMap<_, _>>());
        assert_eq!(entries().collect_sorted::<BTreeSet<_>>(), entries().collect::<BTreeSet<_>>());
        let fields = || entries().map(|(key, value)| (key.to_owned(), json!(value)));
        assert_eq!(fields().collect_sorted::<Map<_, Value>>(), fields().collect::<Map<_, Value>>());
    }
}
