//! Changes the known fields of an object without losing the unknown ones.

use serde_json::Value;

/// Applies to `object` the difference between `before` and `after`.
/// The values `before` and `after` hold only the known fields of the object. Unknown fields, for example the fields of
/// a later release, stay.
pub(super) fn overlay(object: &mut Value, before: &Value, after: &Value) {
    match (object, before, after) {
        _ if before == after => {}
        (Value::Object(object), Value::Object(before), Value::Object(after)) => {
            for (key, value) in after.iter().filter(|(key, value)| before.get(*key) != Some(value)) {
                let own = object.entry(key.clone()).or_insert(Value::Null);
                overlay(own, before.get(key).unwrap_or(&Value::Null), value);
            }
            object.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
        }
        (Value::Array(object), Value::Array(before), Value::Array(after))
            if object.len() == before.len() && before.len() <= after.len() =>
        {
            let (kept, added) = after.split_at(before.len());
            for ((own, before), after) in object.iter_mut().zip(before).zip(kept) {
                overlay(own, before, after);
            }
            object.extend_from_slice(added);
        }
        (object, _, after) => *object = after.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_stay() {
        let cases = [
            ("nothing", json!({"a": 1, "x": 2}), json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "x": 2})),
            ("a field", json!({"a": 1, "x": 2}), json!({"a": 1}), json!({"a": 3}), json!({"a": 3, "x": 2})),
            (
                "a new field",
                json!({"x": 2}),
                json!({}),
                json!({"a": {"b": 1}}),
                json!({"x": 2, "a": {"b": 1}}),
            ),
            ("one less", json!({"a": 1, "x": 2}), json!({"a": 1}), json!({}), json!({"x": 2})),
            (
                "in an element, and one more of them",
                json!([{"a": 1, "x": 2}]),
                json!([{"a": 1}]),
                json!([{"a": 3}, {"a": 4}]),
                json!([{"a": 3, "x": 2}, {"a": 4}]),
            ),
            ("fewer elements", json!([{"a": 1, "x": 2}]), json!([{"a": 1}]), json!([]), json!([])),
            (
                "what is known by default",
                json!({}),
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                json!({"b": 2}),
            ),
        ];
        for (about, mut object, before, after, expected) in cases {
            overlay(&mut object, &before, &after);
            assert_eq!(object, expected, "{about}");
        }
    }
}
