//! Converts JSON into values of expressions.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map, Opaque, OptionalValue};
use serde_json::Value as Json;

/// A value that does not match its schema. Every use of the value in an expression is an error.
#[derive(Debug, PartialEq, Eq)]
struct Mismatch;

impl Opaque for Mismatch {
    fn runtime_type_name(&self) -> &'static str {
        "mismatch"
    }
}

/// The value that represents a mismatch with the schema.
pub fn mismatch() -> Value {
    Value::Opaque(Arc::new(Mismatch))
}

/// Returns true if the value represents a mismatch with the schema.
pub(crate) fn is_mismatch(value: &Value) -> bool {
    matches!(value, Value::Opaque(opaque) if opaque.downcast_ref::<Mismatch>().is_some())
}

/// The optional value inside a value, if it is one.
#[must_use]
pub fn optional(value: &Value) -> Option<&OptionalValue> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

/// Creates an optional value.
pub(crate) fn optional_of(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

/// A map of these fields.
pub fn map(fields: impl Iterator<Item = (String, Value)>) -> Value {
    let map = fields.map(|(name, value)| (Key::String(Arc::new(name)), value)).collect();
    Value::Map(Map { map: Arc::new(map) })
}

/// A list of these items.
pub fn list(items: impl Iterator<Item = Value>) -> Value {
    Value::List(Arc::new(items.collect()))
}

/// Converts JSON without a known schema.
pub fn from_json(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => list(items.iter().map(from_json)),
        Json::Object(fields) => map(fields.iter().map(|(name, value)| (name.clone(), from_json(value)))),
    }
}
