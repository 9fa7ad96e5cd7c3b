//! A number that stands for a JSON value: equal values have equal numbers, in whatever order their keys come.

use serde_json::Value;

use crate::history::digest::{OFFSET, digest as bytes};

/// The number of `value`.
pub(super) fn digest(value: &Value) -> u64 {
    fold(OFFSET, value)
}

fn fold(state: u64, value: &Value) -> u64 {
    match value {
        Value::Null => bytes(state, b"n"),
        Value::Bool(true) => bytes(state, b"t"),
        Value::Bool(false) => bytes(state, b"f"),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => bytes(bytes(state, b"#"), &whole.to_le_bytes()),
            None => bytes(bytes(state, b"."), &number.as_f64().unwrap_or_default().to_le_bytes()),
        },
        Value::String(text) => bytes(bytes(bytes(state, b"\""), text.as_bytes()), b"\""),
        Value::Array(items) => bytes(items.iter().fold(bytes(state, b"["), fold), b"]"),
        Value::Object(fields) => {
            // A sum does not depend on the order.
            let sum = fields.iter().fold(0_u64, |sum, (key, value)| {
                sum.wrapping_add(fold(bytes(OFFSET, key.as_bytes()), value))
            });
            bytes(bytes(state, b"{"), &sum.to_le_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn texts_that_differ_in_the_last_byte_of_two_words_have_different_numbers() {
        let text = |first: u8, second: u8| {
            json!(format!("0123456{}0123456{}", char::from(first), char::from(second)))
        };
        let pairs = (0..128).flat_map(|first| (0..128).map(move |second| (first, second)));
        let numbers: BTreeSet<_> = pairs.map(|(first, second)| digest(&text(first, second))).collect();
        assert_eq!(numbers.len(), 128 * 128);
    }

    #[test]
    fn zeros_at_the_end_of_a_text_count() {
        assert_ne!(digest(&json!("a")), digest(&json!("a\0\0\0\0\0\0\0")));
    }

    #[test]
    fn equal_values_and_only_those_have_equal_numbers() {
        let other: Value = serde_json::from_str(r#"{"b":[1,null],"a":"x"}"#).unwrap();
        assert_eq!(digest(&json!({"a": "x", "b": [1, null]})), digest(&other));
        let different = [
            json!({"a": "x", "b": [1]}),
            json!({"a": "b", "x": [1, null]}),
            json!({"a": ["x"], "b": [1, null]}),
            json!({"a": "x", "b": [null, 1]}),
            json!({"a": "x", "b": [1.5, null]}),
            json!([]),
        ];
        assert!(different.iter().all(|each| digest(each) != digest(&other)));
    }
}
