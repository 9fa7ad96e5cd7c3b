//! The merge of server-side apply, and the removal of fields that a manager no longer applies.

use std::collections::{BTreeMap, BTreeSet};

use capsize_sorted::CollectSorted;
use serde_json::Value;

use super::set::{FieldSet, item_step, name_of};
use crate::kind::merge_schema::{ListForm, Shape};

/// Merges an applied configuration into an object.
pub(crate) fn merge(object: &mut Value, config: &Value, shape: Shape<'_>) {
    match (config, &mut *object) {
        (Value::Object(config), Value::Object(fields)) if !shape.is_atomic_map() => {
            for (name, value) in config {
                match fields.get_mut(name) {
                    Some(present) => merge(present, value, shape.field(name)),
                    None => drop(fields.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(config), Value::Array(items)) if shape.list() != ListForm::Atomic => {
            *items = merge_items(std::mem::take(items), config, shape);
        }
        _ => *object = config.clone(),
    }
}

/// Merges the items of a list.
/// Applied items have the order of the configuration. The other items stay after the items that came before them.
fn merge_items(items: Vec<Value>, config: &[Value], shape: Shape<'_>) -> Vec<Value> {
    let form = shape.list();
    let step = |item: &Value| item_step(item, &form, shape);
    let applied: Vec<String> = config.iter().map(step).collect();
    let order: Vec<String> = items.iter().map(step).collect();
    let mut slots: Vec<Option<Value>> = items.into_iter().map(Some).collect();
    let mut merged = Vec::with_capacity(slots.len() + config.len());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, step) in order.iter().enumerate() {
        places.entry(step).or_insert(place);
    }
    // For each applied item, the index of the next applied item that the object also has.
    let mut shared = vec![None; applied.len() + 1];
    for index in (0..applied.len()).rev() {
        shared[index] =
            if places.contains_key(applied[index].as_str()) { Some(index) } else { shared[index + 1] };
    }
    // An applied item, merged with the item of the object.
    let take = |slots: &mut Vec<Option<Value>>, index: usize| {
        let place = places.get(applied[index].as_str());
        let Some(mut item) = place.and_then(|place| slots[*place].take()) else {
            return config[index].clone();
        };
        merge(&mut item, &config[index], shape.item());
        item
    };
    let known: BTreeSet<&String> = applied.iter().collect_sorted();
    let mut next = 0;
    for (at, step) in order.iter().enumerate() {
        if !known.contains(step) {
            merged.extend(slots[at].take());
            continue;
        }
        // Only the next common item is awaited; the other applied items are placed in the order of the configuration.
        if let Some(place) = shared[next].filter(|place| applied[*place] == *step) {
            merged.extend((next..=place).map(|index| take(&mut slots, index)));
            next = place + 1;
        }
    }
    merged.extend((next..config.len()).map(|index| take(&mut slots, index)));
    merged
}

/// Removes from an object the fields in `gone` that are in none of `kept`.
pub(crate) fn remove(object: &mut Value, gone: &FieldSet, kept: &[&FieldSet], shape: Shape<'_>) {
    remove_below(object, gone, kept, shape, &mut Vec::new());
}

/// The same for the part of the object at the path `at`. `gone` is relative to that part.
fn remove_below(
    value: &mut Value,
    gone: &FieldSet,
    kept: &[&FieldSet],
    shape: Shape<'_>,
    at: &mut Vec<String>,
) {
    if gone.is_empty() {
        return;
    }
    let form = shape.list();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
        places.entry(item_step(item, &form, shape)).or_insert(place);
    }
    let mut removed = BTreeSet::new();
    for (step, member, below) in gone.steps() {
        at.push(step.to_owned());
        let goes = member && !kept.iter().any(|set| set.reaches(at));
        match value {
            Value::Object(fields) => {
                if let Some(name) = name_of(step)
                    && let Some(field) = fields.get_mut(name)
                {
                    if goes {
                        fields.remove(name);
                    } else {
                        remove_below(field, below, kept, shape.field(name), at);
                    }
                }
            }
            Value::Array(items) => match places.get(step) {
                Some(place) if goes => drop(removed.insert(*place)),
                Some(place) => remove_below(&mut items[*place], below, kept, shape.item(), at),
                None => {}
            },
            _ => {}
        }
        at.pop();
    }
    if let (Value::Array(items), false) = (value, removed.is_empty()) {
        let mut place = 0;
        items.retain(|_| {
            place += 1;
            !removed.contains(&(place - 1))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use serde_json::json;

    #[test]
    fn items_come_in_the_order_of_the_configuration() {
        let pod = |names: &str| {
            let containers: Vec<_> = names.chars().map(|name| json!({"name": name.to_string()})).collect();
            json!({"spec": {"containers": containers}})
        };
        let table = [
            ("ab", "ba", "ba"),
            ("a", "b", "ab"),
            ("axb", "ba", "xba"),
            ("axb", "acb", "axcb"),
            ("", "ab", "ab"),
        ];
        for (present, applied, expected) in table {
            let mut object = pod(present);
            merge(&mut object, &pod(applied), Shape::of(builtin("", "v1", "pods")));
            assert_eq!(object, pod(expected), "{present} {applied}");
        }
    }
}
