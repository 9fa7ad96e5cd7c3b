//! Removes the values of Secrets from objects before they are recorded.

use serde_json::{Value, json};

/// The text that replaces each value of a Secret.
const REDACTED: &str = "redacted";

/// `kubectl apply` stores the whole object in this annotation.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Replaces the values in `object` if it is a Secret or contains Secrets, as a Work does. The names of the values stay.
pub fn redact(object: &mut Value) {
    if object["kind"] == "Secret" && object["apiVersion"] == "v1" {
        for field in ["data", "stringData"] {
            for (_, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
                *value = json!(REDACTED);
            }
        }
        if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        {
            annotations.remove(LAST_APPLIED);
        }
        return;
    }
    match object {
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| redact(value)),
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_secret_are_taken_out_wherever_it_is() {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: "{\"data\":{\"k\":\"aHVudGVyMg==\"}}", "a": "b"}},
            "data": {"k": "aHVudGVyMg=="},
            "stringData": {"l": "hunter2"},
        });
        let mut work = json!({"kind": "Work", "spec": {"workload": {"manifests": [secret]}}});
        redact(&mut work);
        let expected = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "annotations": {"a": "b"}},
            "data": {"k": "redacted"},
            "stringData": {"l": "redacted"},
        });
        assert_eq!(work["spec"]["workload"]["manifests"][0], expected);
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"kind": "Secret"}});
        let mut kept = object.clone();
        redact(&mut kept);
        assert_eq!(kept, object);
    }
}
