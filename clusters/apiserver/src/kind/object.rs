//! Reads and writes the metadata of objects, and checks the size of objects.

use jiff::Timestamp;
use rand::RngExt;
use serde_json::{Map, Value, json};

use capsize_clock::Stream;

use crate::http::failure::Failure;

/// The finalizer for the deletion of dependents before the owner.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer for a deletion that keeps the dependents.
pub(crate) const ORPHAN: &str = "orphan";

/// The maximum nesting depth of an object, which a JSON reader can still read.
const DEEPEST: usize = 120;

/// The size limit of a stored object in bytes: the default of etcd (`--max-request-bytes`).
pub(crate) const LONGEST: usize = 1536 * 1024;

/// Refuses an object that cannot be stored.
///
/// # Errors
/// The error of a real server if the object is too large for etcd, or a bad request if the object is nested too
/// deeply.
pub(crate) fn check_storable(object: &Value) -> Result<(), Failure> {
    if is_too_deep(object) {
        return Err(Failure::bad_request(format!("the object is nested more than {DEEPEST} levels deep")));
    }
    check_length(text_length(object))
}

/// Refuses an object whose text is too long for etcd.
///
/// # Errors
/// If the text is too long.
pub(crate) fn check_length(length: usize) -> Result<(), Failure> {
    if length > LONGEST { Err(Failure::internal("etcdserver: request is too large")) } else { Ok(()) }
}

/// Returns true if a value is nested too deeply.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    fn exceeds(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(_) | Value::Object(_) if left == 0 => true,
            Value::Array(items) => items.iter().any(|item| exceeds(item, left - 1)),
            Value::Object(fields) => fields.values().any(|field| exceeds(field, left - 1)),
            _ => false,
        }
    }
    exceeds(value, DEEPEST)
}

/// The approximate length of a value as JSON text. Escapes and long fractions can make the text longer.
pub(crate) fn text_length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.as_i64().map_or(8, |number| match number.unsigned_abs() {
            0..10 => 1,
            10..1000 => 3,
            1000..100_000 => 5,
            _ => 9,
        }),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().fold(1, |sum, item| sum + text_length(item) + 1).max(2),
        Value::Object(fields) => {
            fields.iter().fold(1, |sum, (name, field)| sum + name.len() + text_length(field) + 4).max(2)
        }
    }
}

/// The metadata of an object as `PartialObjectMetadata`, in that version of `meta.k8s.io`.
pub(crate) fn metadata_only(object: &Value, version: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| Value::Object(Map::new()))})
}

/// A text field of the metadata; empty if it is not set.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// The metadata. [`check_metadata_types`] has checked that it is an object.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    let metadata = &mut object["metadata"];
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().expect("the shape was checked when the object was read")
}

/// Sets or removes a field of the metadata.
pub(crate) fn set_meta(object: &mut Value, field: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(meta_mut(object).insert(field.to_owned(), value)),
        None => drop(meta_mut(object).remove(field)),
    }
}

/// The finalizers, in order.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The struct in the field `name`; created if it does not exist.
pub(crate) fn child<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let field = &mut object[name];
    if !field.is_object() {
        *field = Value::Object(Map::new());
    }
    field
}

/// Returns true if the object is being deleted.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// A time in the format of objects.
pub(crate) fn time(at: Timestamp) -> Value {
    Value::String(capsize_clock::whole_seconds(at).to_string())
}

/// A random UUID, version 4.
pub(crate) fn uid(chance: &mut Stream) -> String {
    let bits: u128 = chance.random();
    let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A name of `prefix` and five random characters that do not form words.
pub(crate) fn generated_name(prefix: &str, chance: &mut Stream) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const LONGEST_PREFIX: usize = 58;
    let cut =
        prefix.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST_PREFIX).unwrap_or(prefix.len());
    let mut name = prefix[..cut].to_owned();
    name.extend((0..5).map(|_| char::from(LETTERS[chance.random_range(0..LETTERS.len())])));
    name
}

/// Refuses an object whose metadata has values of a wrong type.
/// The code after this check relies on the form of the metadata.
///
/// # Errors
/// A bad request that names the field.
pub(crate) fn check_metadata_types(object: &Value) -> Result<(), Failure> {
    let wrong = |field: &str, what: &str| {
        Err(Failure::bad_request(format!("the object provided is unrecognized: {field} must be {what}")))
    };
    if !object.is_object() {
        return wrong("it", "an object");
    }
    let Some(metadata) = object.get("metadata").filter(|metadata| !metadata.is_null()) else {
        return Ok(());
    };
    if !metadata.is_object() {
        return wrong("metadata", "an object");
    }
    let absent_or =
        |field: &str, is: fn(&Value) -> bool| metadata.get(field).is_none_or(|v| v.is_null() || is(v));
    let texts = [
        "name",
        "namespace",
        "generateName",
        "uid",
        "resourceVersion",
        "deletionTimestamp",
        "creationTimestamp",
    ];
    for field in texts {
        if !absent_or(field, Value::is_string) {
            return wrong(&format!("metadata.{field}"), "a string");
        }
    }
    for field in ["labels", "annotations"] {
        if !absent_or(field, |v| {
            v.as_object().is_some_and(|map| map.values().all(|v| v.is_string() || v.is_null()))
        }) {
            return wrong(&format!("metadata.{field}"), "a map of strings");
        }
    }
    if !absent_or("finalizers", |v| v.as_array().is_some_and(|list| list.iter().all(Value::is_string))) {
        return wrong("metadata.finalizers", "a list of strings");
    }
    if !absent_or("ownerReferences", |v| v.as_array().is_some_and(|list| list.iter().all(Value::is_object))) {
        return wrong("metadata.ownerReferences", "a list of objects");
    }
    Ok(())
}

/// Removes nulls and empty values from the metadata, as Go does while decoding.
pub(crate) fn tidy_metadata(object: &mut Value) {
    let metadata = meta_mut(object);
    if metadata.values().any(|value| value.is_null() || is_empty(value)) {
        metadata.retain(|_, value| !value.is_null() && !is_empty(value));
    }
    for field in ["labels", "annotations"] {
        if let Some(Value::Object(map)) = metadata.get_mut(field) {
            for value in map.values_mut().filter(|value| value.is_null()) {
                *value = Value::String(String::new());
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Removes nulls at every depth, as Go does when it decodes a built-in kind.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            // A check for nulls is faster than a rebuild of the map.
            if map.values().any(Value::is_null) {
                map.retain(|_, value| !value.is_null());
            }
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capsize_clock::Seed;

    #[test]
    fn uids_are_version_four_and_depend_on_the_seed() {
        let uid = || uid(&mut Seed(1).stream("uid"));
        assert_eq!(uid(), uid());
        assert_eq!((uid().len(), &uid()[14..15]), (36, "4"));
        assert!("89ab".contains(&uid()[19..20]), "{}", uid());
    }

    #[test]
    fn generated_names_keep_at_most_58_characters_of_the_prefix() {
        let name = generated_name(&"p".repeat(70), &mut Seed(1).stream("name"));
        assert_eq!(name.len(), 63);
    }
}
