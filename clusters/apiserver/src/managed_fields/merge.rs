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
            let form = shape.list();
            for item in config {
                let step = item_step(item, &form, shape);
                match items.iter_mut().find(|present| item_step(present, &form, shape) == step) {
                    Some(present) => merge(present, item, shape.item()),
                    None => items.push(item.clone()),
                }
            }
        }
        _ => *object = config.clone(),
    }
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
