//! A number that stands for a JSON value: equal values have equal numbers, in whatever order their keys come.

use serde_json::Value;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// The number of `value` (FNV-1a, 64 bits).
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

fn bytes(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
