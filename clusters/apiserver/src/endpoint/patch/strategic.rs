//! Strategic merge patch: a merge patch that merges lists by keys and has directives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use capsize_sorted::CollectSorted;
use serde_json::{Map, Value};

use super::outcome::go_map;
use crate::http::failure::Failure;
use crate::kind::merge_schema::Shape;

const ORDER: &str = "$setElementOrder/";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList/";

pub(super) fn read(body: &Bytes) -> Result<Value, Failure> {
    super::merge::parse_map(body).map_err(Failure::bad_request)
}

/// Merges `patch` into `object`.
///
/// # Errors
/// An internal error if a list item lacks the merge key of its list.
pub(super) fn apply(patch: &Value, object: &mut Value, shape: Shape<'_>) -> Result<(), Failure> {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return Ok(());
    };
    if patch.get("$patch").is_some_and(|directive| directive == "replace") {
        *object = without_directives(&Value::Object(patch.clone()));
        return Ok(());
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let fields = object.as_object_mut().expect("it was just made one");
    retain_keys(patch, fields);
    for (key, change) in patch {
        if let Some(list) = key.strip_prefix(DELETE_VALUES) {
            delete_values(fields, list, change);
        } else if let Some(list) = key.strip_prefix(ORDER) {
            // A list that is only ordered is merged with an empty list.
            if !patch.contains_key(list) {
                merge_field(patch, fields, list, &Value::Array(Vec::new()), shape.field(list))?;
            }
        } else if !key.starts_with('$') {
            merge_field(patch, fields, key, change, shape.field(key))?;
        }
    }
    Ok(())
}

fn merge_field(
    patch: &Map<String, Value>,
    fields: &mut Map<String, Value>,
    key: &str,
    change: &Value,
    shape: Shape<'_>,
) -> Result<(), Failure> {
    match (change, shape.merge_key()) {
        (Value::Null, _) => drop(fields.remove(key)),
        (Value::Object(directives), _) if directives.get("$patch").is_some_and(|d| d == "delete") => {
            fields.remove(key);
        }
        (Value::Object(_), _) => {
            let target = fields.entry(key).or_insert(Value::Null);
            apply(change, target, shape)?;
        }
        (Value::Array(items), Some(merge_key)) => {
            let order = patch.get(&format!("{ORDER}{key}")).and_then(Value::as_array);
            let present = match fields.remove(key) {
                Some(Value::Array(present)) => present,
                _ => Vec::new(),
            };
            let merged = if merge_key.is_empty() {
                merge_values(present, items, order)
            } else {
                merge_items(present, items, order, merge_key, shape)?
            };
            fields.insert(key.to_owned(), Value::Array(merged));
        }
        _ => drop(fields.insert(key.to_owned(), without_directives(change))),
    }
    Ok(())
}

fn retain_keys(patch: &Map<String, Value>, fields: &mut Map<String, Value>) {
    if let Some(Value::Array(kept)) = patch.get("$retainKeys") {
        // The directive takes effect only if the patch sets at least one field.
        let sets = patch.keys().filter(|key| !key.starts_with('$')).count();
        if sets > 0 {
            let kept: BTreeSet<&str> = kept.iter().filter_map(Value::as_str).collect_sorted();
            fields.retain(|key, _| kept.contains(key.as_str()));
        }
    }
}

fn delete_values(fields: &mut Map<String, Value>, list: &str, values: &Value) {
    if let (Some(Value::Array(present)), Value::Array(values)) = (fields.get_mut(list), values) {
        let deleted: BTreeSet<String> = values.iter().map(Value::to_string).collect_sorted();
        present.retain(|value| !deleted.contains(&value.to_string()));
    }
}

/// The value of a patch without directives, for the case that there is no old value to merge with.
fn without_directives(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, value)| !key.starts_with('$') && !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_directives(value))).collect_sorted())
        }
        Value::Array(list) => {
            let kept =
                list.iter().filter(|item| item.get("$patch").is_none_or(|directive| directive == "merge"));
            Value::Array(kept.map(without_directives).collect())
        }
        value => value.clone(),
    }
}

fn merge_values(present: Vec<Value>, items: &[Value], order: Option<&Vec<Value>>) -> Vec<Value> {
    let tokens = |values: &[Value]| -> Vec<String> { values.iter().map(Value::to_string).collect() };
    let server = tokens(&present);
    let mut merged = present;
    let known: BTreeSet<&String> = server.iter().collect_sorted();
    merged.extend(items.iter().filter(|item| !known.contains(&item.to_string())).cloned());
    let order = order.map(|order| tokens(order));
    arrange(merged, &tokens(items), &server, order.as_deref(), &Value::to_string)
}

fn merge_items(
    present: Vec<Value>,
    items: &[Value],
    order: Option<&Vec<Value>>,
    merge_key: &str,
    shape: Shape<'_>,
) -> Result<Vec<Value>, Failure> {
    let directive = |item: &Value| item.get("$patch").and_then(Value::as_str).map(str::to_owned);
    if items.iter().any(|item| directive(item).as_deref() == Some("replace") && item.get(merge_key).is_none())
    {
        return Ok(items.iter().filter(|item| directive(item).is_none()).map(without_directives).collect());
    }
    let key_of = |item: &Value| item.get(merge_key).unwrap_or(&Value::Null).to_string();
    let server: Vec<String> = present.iter().map(key_of).collect();
    // The positions of the items of each key. A deleted item leaves an empty position.
    let mut places: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
    for (index, key) in server.iter().enumerate() {
        places.entry(key.clone()).or_default().push_back(index);
    }
    let mut merged: Vec<Option<Value>> = present.into_iter().map(Some).collect();
    for item in items {
        if item.get(merge_key).is_none() {
            let shown = go_map(item);
            return Err(Failure::internal(format!(
                "map: {shown} does not contain declared merge key: {merge_key}"
            )));
        }
        let found = places.entry(key_of(item)).or_default();
        match (directive(item).as_deref(), found.front().copied()) {
            (Some("delete"), None) => {}
            (Some("delete"), Some(index)) => {
                merged[index] = None;
                found.pop_front();
            }
            (Some("replace"), Some(index)) => merged[index] = Some(without_directives(item)),
            (_, Some(index)) => {
                if let Some(present) = &mut merged[index] {
                    apply(item, present, shape.item())?;
                }
            }
            (_, None) => {
                found.push_back(merged.len());
                merged.push(Some(without_directives(item)));
            }
        }
    }
    let merged = merged.into_iter().flatten().collect();
    let patched: Vec<String> =
        items.iter().filter(|item| directive(item).as_deref() != Some("delete")).map(key_of).collect();
    let order: Option<Vec<String>> = order.map(|order| order.iter().map(key_of).collect());
    Ok(arrange(merged, &patched, &server, order.as_deref(), &key_of))
}

/// The first position of each key.
fn places(keys: &[String]) -> BTreeMap<&str, usize> {
    let mut places = BTreeMap::new();
    for (index, key) in keys.iter().enumerate() {
        places.entry(key.as_str()).or_insert(index);
    }
    places
}

/// Puts the items of a merged list in order.
/// The items of the patch have the order of the patch, or of its directive. An item that only the server has stays
/// before the items that followed it. Items are identified by their keys, as JSON
/// text.
fn arrange(
    merged: Vec<Value>,
    patched: &[String],
    server: &[String],
    order: Option<&[String]>,
    key_of: &dyn Fn(&Value) -> String,
) -> Vec<Value> {
    let (named, patched, server) = (places(order.unwrap_or(patched)), places(patched), places(server));
    let keyed = merged.into_iter().map(|item| (key_of(&item), item));
    let (mut ours, theirs): (Vec<_>, Vec<_>) =
        keyed.partition(|(key, _)| named.contains_key(key.as_str()) || patched.contains_key(key.as_str()));
    ours.sort_by_key(|(key, _)| named.get(key.as_str()).copied().unwrap_or(usize::MAX));
    let mut arranged = Vec::with_capacity(ours.len() + theirs.len());
    let mut ours = ours.into_iter().peekable();
    for (key, item) in theirs {
        while let Some((next, _)) = ours.peek() {
            let before = match (server.get(key.as_str()), server.get(next.as_str())) {
                (Some(item), Some(next)) => item < next,
                _ => false,
            };
            if before {
                break;
            }
            arranged.extend(ours.next().map(|(_, item)| item));
        }
        arranged.push(item);
    }
    arranged.extend(ours.map(|(_, item)| item));
    arranged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use serde_json::json;

    fn patched(plural: (&str, &str), object: Value, patch: &Value) -> Value {
        let mut object = object;
        apply(patch, &mut object, Shape::of(builtin(plural.0, "v1", plural.1))).unwrap();
        object
    }

    #[test]
    fn lists_with_keys_are_merged_by_their_keys() {
        let pod = |containers: Value| json!({"spec": {"containers": containers}});
        let table = [
            (
                json!([{"name": "a", "image": "2"}]),
                json!([{"name": "a", "image": "2"}, {"name": "b", "image": "1"}]),
            ),
            (json!([{"name": "b", "$patch": "delete"}]), json!([{"name": "a", "image": "1"}])),
            (
                json!([{"name": "c"}]),
                json!([{"name": "c"}, {"name": "a", "image": "1"}, {"name": "b", "image": "1"}]),
            ),
            (json!([{"$patch": "replace"}, {"name": "c"}]), json!([{"name": "c"}])),
        ];
        for (patch, expected) in table {
            let before = pod(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]));
            assert_eq!(patched(("", "pods"), before, &pod(patch.clone())), pod(expected), "{patch}");
        }
    }

    #[test]
    fn an_order_directive_puts_items_in_order() {
        let before = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}});
        let patch =
            json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}});
        let after = json!({"spec": {"containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}});
        assert_eq!(patched(("", "pods"), before, &patch), after);
    }

    #[test]
    fn taints_are_replaced_and_finalizers_are_a_set() {
        let before = json!({"metadata": {"finalizers": ["a/1"]}, "spec": {"taints": [{"key": "a"}]}});
        let patch = json!({"metadata": {"finalizers": ["a/2"]}, "spec": {"taints": [{"key": "b"}]}});
        let after = patched(("", "nodes"), before, &patch);
        assert_eq!(
            after,
            json!({"metadata": {"finalizers": ["a/2", "a/1"]}, "spec": {"taints": [{"key": "b"}]}})
        );
    }
}
