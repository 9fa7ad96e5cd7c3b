//! The operators of expressions.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::common::ast::operators;
use kube_cel::cel::objects::{KeyRef, Opaque, OptionalValue};
use kube_cel::cel::{ExecutionError, Value};

use super::value::{is_mismatch, optional, optional_of};

/// Returns true for an operator with two operands that are both evaluated.
pub(crate) fn is_operator(name: &str) -> bool {
    use operators::{
        ADD, DIVIDE, EQUALS, GREATER, GREATER_EQUALS, IN, INDEX, LESS, LESS_EQUALS, MODULO, MULTIPLY,
        NOT_EQUALS, OPT_INDEX, OPT_SELECT, SUBSTRACT,
    };
    matches!(
        name,
        ADD | DIVIDE
            | EQUALS
            | GREATER
            | GREATER_EQUALS
            | IN
            | INDEX
            | LESS
            | LESS_EQUALS
            | MODULO
            | MULTIPLY
            | NOT_EQUALS
            | OPT_INDEX
            | OPT_SELECT
            | SUBSTRACT
    )
}

/// The cost of an operator, as in `cel-go`, but including all compared or copied parts of a value.
pub(crate) fn cost(operator: &str, left: &Value, right: &Value) -> u64 {
    let tenth = |size: u64| size.div_ceil(10).max(1);
    match operator {
        operators::EQUALS | operators::NOT_EQUALS => tenth(weight(left).min(weight(right))),
        operators::ADD => match (left, right) {
            (Value::List(left), Value::List(right)) => tenth((left.len() + right.len()) as u64),
            _ => tenth(size(left) + size(right)),
        },
        operators::IN => match right {
            Value::List(items) => items.len() as u64 + tenth(weight(left)) * items.len() as u64 / 10,
            _ => 1,
        },
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            tenth(size(left).min(size(right)))
        }
        _ => 1,
    }
}

/// The size of a value for costs: the bytes of a text, the items of a list.
pub(crate) fn size(value: &Value) -> u64 {
    let size = match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => 1,
    };
    size as u64
}

/// The number of parts of a value. Ten bytes of a text count as one part.
pub(crate) fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 10,
        Value::Bytes(bytes) => 1 + bytes.len() as u64 / 10,
        Value::List(items) => items.iter().fold(1, |sum, item| weight(item).saturating_add(sum)),
        Value::Map(map) => map.map.values().fold(1, |sum, value| weight(value).saturating_add(sum) + 1),
        Value::Opaque(_) => {
            optional(value).and_then(OptionalValue::value).map_or(1, |inner| 1 + weight(inner))
        }
        _ => 1,
    }
}

/// Evaluates an operator with two operands.
pub(crate) fn two(operator: &str, left: Value, right: Value) -> Result<Value, ExecutionError> {
    let ordered = |wanted: fn(Ordering) -> bool| {
        let ordering = left.partial_cmp(&right).ok_or(ExecutionError::NoSuchOverload)?;
        Ok(Value::Bool(wanted(ordering)))
    };
    match operator {
        operators::EQUALS => equal(&left, &right).map(Value::Bool),
        operators::NOT_EQUALS => equal(&left, &right).map(|equal| Value::Bool(!equal)),
        operators::LESS => ordered(Ordering::is_lt),
        operators::LESS_EQUALS => ordered(Ordering::is_le),
        operators::GREATER => ordered(Ordering::is_gt),
        operators::GREATER_EQUALS => ordered(Ordering::is_ge),
        operators::ADD => sum(left, right),
        operators::SUBSTRACT => checked(left - right),
        operators::MULTIPLY => left * right,
        operators::DIVIDE => left / right,
        operators::MODULO => left % right,
        operators::IN => contains(&right, &left).map(Value::Bool),
        operators::INDEX => index(&left, &right),
        operators::OPT_INDEX => match optional(&left) {
            Some(_) => index(&left, &right),
            None => Ok(optional_of(index(&left, &right).ok())),
        },
        operators::OPT_SELECT => match (&right, optional(&left)) {
            (Value::String(name), Some(_)) => field(&left, name),
            (Value::String(name), None) => match field(&left, name) {
                Err(ExecutionError::NoSuchKey(_)) => Ok(optional_of(None)),
                found => found.map(|found| optional_of(Some(found))),
            },
            _ => Err(ExecutionError::NoSuchOverload),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Evaluates an operator with one operand.
pub(crate) fn one(operator: &str, operand: &Value) -> Result<Value, ExecutionError> {
    match (operator, operand) {
        (operators::LOGICAL_NOT, Value::Bool(flag)) => Ok(Value::Bool(!flag)),
        (operators::NEGATE, Value::Int(number)) => {
            let overflow = || ExecutionError::Overflow("minus", operand.clone(), Value::Null);
            number.checked_neg().map(Value::Int).ok_or_else(overflow)
        }
        (operators::NEGATE, Value::Float(number)) => Ok(Value::Float(-number)),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// The sum of numbers, texts, lists, times or durations.
pub(crate) fn sum(left: Value, right: Value) -> Result<Value, ExecutionError> {
    match (left, right) {
        // The crate checks the bounds of a timestamp only if it is the left operand.
        (left @ Value::Duration(_), right @ Value::Timestamp(_)) => right + left,
        (Value::Bytes(mut left), Value::Bytes(right)) => {
            Arc::make_mut(&mut left).extend_from_slice(&right);
            Ok(Value::Bytes(left))
        }
        (left, right) => checked(left + right),
    }
}

/// Refuses durations that Go cannot represent: their nanoseconds exceed 64 bits.
fn checked(result: Result<Value, ExecutionError>) -> Result<Value, ExecutionError> {
    match result? {
        Value::Duration(duration) if duration.num_nanoseconds().is_none() => {
            Err(ExecutionError::Overflow("duration", Value::Null, Value::Null))
        }
        value => Ok(value),
    }
}

fn equal(left: &Value, right: &Value) -> Result<bool, ExecutionError> {
    if is_mismatch(left) || is_mismatch(right) {
        return Err(ExecutionError::NoSuchOverload);
    }
    Ok(left == right)
}

fn contains(container: &Value, item: &Value) -> Result<bool, ExecutionError> {
    match container {
        Value::List(items) => Ok(items.contains(item)),
        Value::Map(map) => Ok(KeyRef::try_from(item).is_ok_and(|key| map.get(&key).is_some())),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// The item of a list or the value of a map.
fn index(of: &Value, at: &Value) -> Result<Value, ExecutionError> {
    if let Some(optional) = optional(of) {
        return Ok(optional_of(optional.value().and_then(|inner| index(inner, at).ok())));
    }
    match of {
        Value::List(items) => {
            let number = match at {
                Value::Int(number) => usize::try_from(*number).ok(),
                Value::UInt(number) => usize::try_from(*number).ok(),
                _ => return Err(ExecutionError::NoSuchOverload),
            };
            let found = number.and_then(|number| items.get(number)).cloned();
            found.ok_or_else(|| ExecutionError::IndexOutOfBounds(at.clone()))
        }
        Value::Map(map) => {
            let key = KeyRef::try_from(at).map_err(|_| ExecutionError::NoSuchOverload)?;
            let found = map.get(&key).cloned();
            found.ok_or_else(|| ExecutionError::NoSuchKey(Arc::new(key_text(at))))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn key_text(key: &Value) -> String {
    match key {
        Value::String(text) => text.as_ref().clone(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => String::new(),
    }
}

/// The field of a value. The field of an optional value is an optional value.
pub(crate) fn field(of: &Value, name: &str) -> Result<Value, ExecutionError> {
    if let Some(optional) = optional(of) {
        return match optional.value().map(|inner| field(inner, name)) {
            None | Some(Err(ExecutionError::NoSuchKey(_))) => Ok(optional_of(None)),
            Some(found) => found.map(|found| optional_of(Some(found))),
        };
    }
    let Value::Map(map) = of else { return Err(ExecutionError::NoSuchOverload) };
    map.get(&KeyRef::String(name)).cloned().ok_or_else(|| ExecutionError::no_such_key(name))
}

/// Returns true if a value has a field.
pub(crate) fn has_field(of: &Value, name: &str) -> Result<bool, ExecutionError> {
    if let Some(optional) = optional(of) {
        return optional.value().map_or(Ok(false), |inner| has_field(inner, name));
    }
    let Value::Map(map) = of else { return Err(ExecutionError::NoSuchOverload) };
    Ok(map.get(&KeyRef::String(name)).is_some())
}

/// The type of a value, as a value.
#[derive(Debug, PartialEq, Eq)]
struct TypeName(&'static str);

impl Opaque for TypeName {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

/// The type with the given name.
pub(crate) fn type_named(name: &str) -> Option<Value> {
    let known = TYPES.iter().find(|known| **known == name)?;
    Some(Value::Opaque(Arc::new(TypeName(known))))
}

/// The type of a value.
pub(crate) fn type_of(value: &Value) -> Value {
    let name = match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        Value::Function(..) | Value::Opaque(_) => "type",
    };
    Value::Opaque(Arc::new(TypeName(name)))
}
