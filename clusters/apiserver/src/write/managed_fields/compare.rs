//! Compares two states of an object field by field.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value};

use super::set::{FieldSet, field_step, item_step};
use crate::kind::merge_schema::{ListForm, Shape};

/// The differences of two states.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

/// Compares two states of an object.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    comparison.walk(Some(old), Some(new), shape, &mut Vec::new());
    comparison
}

impl Comparison {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    fn walk(&mut self, old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>, at: &mut Vec<String>) {
        if old == new {
            return;
        }
        // A null value is present, and is treated like the type of the other value.
        let (old_set, new_set) = (old.filter(|value| !value.is_null()), new.filter(|value| !value.is_null()));
        let present = new_set.or(old_set);
        let map = present.is_some_and(Value::is_object) && !shape.is_atomic_map();
        let list = present.is_some_and(Value::is_array) && shape.list() != ListForm::Atomic;
        let same_kind = match (old_set, new_set) {
            (Some(old), Some(new)) => old.is_object() == new.is_object() && old.is_array() == new.is_array(),
            _ => true,
        };
        let fields =
            |value: Option<&Value>| value.and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        if map && same_kind && (fields(old) || fields(new)) {
            self.walk_fields(old, new, shape, at);
        } else if list && same_kind {
            self.walk_items(old, new, shape, at);
        } else if old.is_some() && new.is_some() {
            self.modified.insert(at);
        }
        if old.is_none() {
            self.added.insert(at);
        } else if new.is_none() {
            self.removed.insert(at);
        }
    }

    fn walk_fields(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        shape: Shape<'_>,
        at: &mut Vec<String>,
    ) {
        let empty = Map::new();
        let old = old.and_then(Value::as_object).unwrap_or(&empty);
        let new = new.and_then(Value::as_object).unwrap_or(&empty);
        for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
            at.push(field_step(name));
            self.walk(old.get(name), new.get(name), shape.field(name), at);
            at.pop();
        }
    }

    fn walk_items(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        shape: Shape<'_>,
        at: &mut Vec<String>,
    ) {
        let (old, new) = (by_step(old, shape), by_step(new, shape));
        for step in old.keys().chain(new.keys().filter(|step| !old.contains_key(*step))) {
            at.push(step.clone());
            self.walk(old.get(step).copied(), new.get(step).copied(), shape.item(), at);
            at.pop();
        }
    }
}

/// The items of a list by their path steps.
fn by_step<'v>(list: Option<&'v Value>, shape: Shape<'_>) -> BTreeMap<String, &'v Value> {
    let form = shape.list();
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| (item_step(item, &form, shape), item)).collect_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use serde_json::json;

    #[test]
    fn a_new_field_is_added_with_all_fields_inside_it() {
        let old = json!({"data": {"a": "1", "b": "1"}});
        let new = json!({"data": {"a": "2", "c": "1"}, "metadata": {"labels": {"l": "1"}}});
        let comparison = compare(&old, &new, Shape::of(builtin("", "v1", "configmaps")));
        let added = json!({"f:data": {"f:c": {}}, "f:metadata": {".": {}, "f:labels": {".": {}, "f:l": {}}}});
        assert_eq!(comparison.added.to_json(), added);
        assert_eq!(comparison.modified.to_json(), json!({"f:data": {"f:a": {}}}));
        assert_eq!(comparison.removed.to_json(), json!({"f:data": {"f:b": {}}}));
    }
}
