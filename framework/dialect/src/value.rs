//! Converts values of expressions into the types of facts, and JSON into values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use capsize_history::Tree;
use capsize_history::dialect::digest;
use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;
use serde_json::Number;

/// The value inside an optional value; `None` for null and for an empty optional value.
pub(crate) fn present(value: Value) -> Option<Value> {
    match capsize_cel::optional(&value) {
        Some(optional) => optional.value().cloned().and_then(present),
        None => (!matches!(value, Value::Null)).then_some(value),
    }
}

/// The text of a value. A number is written in digits.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// Whether a value is true.
pub(crate) fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}

/// A whole number that is not negative.
pub(crate) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        _ => None,
    }
}

/// A number of seconds, which may have a fraction. Negative numbers count as zero.
pub(crate) fn seconds(value: &Value) -> Option<std::time::Duration> {
    let seconds = match value {
        Value::Float(number) => *number,
        Value::Int(number) if *number < 0 => 0.0,
        other => {
            return number(other).map(|it| std::time::Duration::from_secs(it).min(capsize_history::LONGEST));
        }
    };
    let length = std::time::Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
    Some(length.min(capsize_history::LONGEST))
}

/// The items of a list; empty for any other value.
pub(crate) fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}

/// The texts of a list. Items that are no text are left out.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    items(value).iter().cloned().filter_map(present).filter_map(|item| text(&item)).collect()
}

/// The field of a map.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Map(map) => map.get(&kube_cel::cel::objects::KeyRef::String(name)),
        _ => None,
    }
}

/// The texts of a map by key.
pub(crate) fn text_map(value: &Value) -> BTreeMap<String, String> {
    let Value::Map(map) = value else { return BTreeMap::new() };
    let pair = |(key, value): (&Key, &Value)| Some((key_text(key), text(value)?));
    map.map.iter().filter_map(pair).collect_sorted()
}

/// The time in a text or in a value of CEL.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => capsize_clock::parse_time(text),
        Value::Timestamp(time) => {
            Timestamp::new(time.timestamp(), time.timestamp_subsec_nanos().try_into().ok()?).ok()
        }
        _ => None,
    }
}

/// Converts JSON into a value.
pub(crate) fn from_tree(tree: &Tree<'_>) -> Value {
    match tree {
        Tree::Null => Value::Null,
        Tree::Bool(flag) => Value::Bool(*flag),
        Tree::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Tree::Text(text) => Value::String(text.to_string().into()),
        Tree::List(items) => capsize_cel::list(items.iter().map(from_tree)),
        Tree::Fields(fields) => {
            capsize_cel::map(fields.iter().map(|(name, value)| (name.to_string(), from_tree(value))))
        }
    }
}

/// Converts a value into JSON. Values that JSON does not have become null.
pub(crate) fn to_tree(value: &Value) -> Tree<'static> {
    match value {
        Value::Bool(flag) => Tree::Bool(*flag),
        Value::Int(number) => Tree::Number((*number).into()),
        Value::UInt(number) => Tree::Number((*number).into()),
        Value::Float(number) => Number::from_f64(*number).map_or(Tree::Null, Tree::Number),
        Value::String(text) => Tree::Text(Cow::Owned(text.to_string())),
        Value::List(items) => Tree::List(items.iter().map(to_tree).collect()),
        Value::Map(map) => {
            let mut fields: Vec<(Cow<'static, str>, Tree<'static>)> =
                map.map.iter().map(|(key, value)| (Cow::Owned(key_text(key)), to_tree(value))).collect();
            // The order of a map is not the same in every process.
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Tree::Fields(fields)
        }
        other => capsize_cel::optional(other).and_then(|inner| inner.value()).map_or(Tree::Null, to_tree),
    }
}

/// A digest of a value.
pub(crate) fn digest_of(value: &Value) -> u64 {
    digest::digest(&to_tree(value))
}

fn key_text(key: &Key) -> String {
    match key {
        Key::String(text) => text.to_string(),
        Key::Int(number) => number.to_string(),
        Key::Uint(number) => number.to_string(),
        Key::Bool(flag) => flag.to_string(),
    }
}
