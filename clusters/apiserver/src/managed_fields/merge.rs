//! The merge of server-side apply, and the removal of what a manager gave up.

use serde_json::Value;

use super::set::{FieldSet, field_step, item_step};
use crate::topology::{ListForm, Shape};

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

/// Merges the items of a list: those applied come in the order of the configuration, and those that only the object
/// has come as soon as what stood before them has.
fn merge_items(items: Vec<Value>, config: &[Value], shape: Shape<'_>) -> Vec<Value> {
    let form = shape.list();
    let step = |item: &Value| item_step(item, &form, shape);
    let applied: Vec<String> = config.iter().map(step).collect();
    let order: Vec<String> = items.iter().map(step).collect();
    let mut slots: Vec<Option<Value>> = items.into_iter().map(Some).collect();
    let mut merged = Vec::with_capacity(slots.len() + config.len());
    // An applied item, merged with the one that is there.
    let take = |slots: &mut Vec<Option<Value>>, index: usize| {
        let place = order.iter().position(|step| *step == applied[index]);
        let Some(mut item) = place.and_then(|place| slots[place].take()) else {
            return config[index].clone();
        };
        merge(&mut item, &config[index], shape.item());
        item
    };
    let mut next = 0;
    for (at, step) in order.iter().enumerate() {
        if !applied.contains(step) {
            merged.extend(slots[at].take());
            continue;
        }
        // Only the next item that both have is waited for; the others come where the configuration has them.
        let shared = (next..applied.len()).find(|index| order.contains(&applied[*index]));
        if let Some(place) = shared.filter(|place| applied[*place] == *step) {
            merged.extend((next..=place).map(|index| take(&mut slots, index)));
            next = place + 1;
        }
    }
    merged.extend((next..config.len()).map(|index| take(&mut slots, index)));
    merged
}

/// Removes from an object what is in `gone` and in none of `kept`.
pub(crate) fn remove(object: &mut Value, gone: &FieldSet, kept: &[&FieldSet], shape: Shape<'_>) {
    for path in gone.paths() {
        if !kept.iter().any(|set| set.reaches(&path)) {
            remove_path(object, &path, shape);
        }
    }
}

fn remove_path(value: &mut Value, path: &[String], shape: Shape<'_>) {
    let Some((step, rest)) = path.split_first() else { return };
    match value {
        Value::Object(fields) => {
            let Some(name) = fields.keys().find(|name| field_step(name) == *step).cloned() else { return };
            if rest.is_empty() {
                fields.remove(&name);
            } else if let Some(value) = fields.get_mut(&name) {
                remove_path(value, rest, shape.field(&name));
            }
        }
        Value::Array(items) => {
            let form = shape.list();
            let found = items.iter().position(|item| item_step(item, &form, shape) == *step);
            match found {
                Some(index) if rest.is_empty() => drop(items.remove(index)),
                Some(index) => remove_path(&mut items[index], rest, shape.item()),
                None => {}
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
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
