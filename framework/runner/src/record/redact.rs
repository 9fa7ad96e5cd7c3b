//! Removes the values of Secrets from objects before they are recorded.

use serde_json::{Value, json};

/// The text that replaces each value of a Secret.
const REDACTED: &str = "redacted";

/// The domain of the annotations that the guarantees read. Their values are names and identities.
const READ: &str = "karmada.io";

/// `kubectl apply` stores the whole object in this annotation.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Replaces the values of Secrets in `object`, and keeps the names of the values.
/// The object may be a Secret, contain Secrets as a Work does, or write into Secrets as an override does.
pub fn redact(object: &mut Value) {
    if object["kind"] == "Secret" && object["apiVersion"] == "v1" {
        return redact_secret(object);
    }
    if ["OverridePolicy", "ClusterOverridePolicy"].iter().any(|kind| object["kind"] == *kind) {
        return redact_override(object);
    }
    match object {
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| redact(value)),
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

fn redact_secret(secret: &mut Value) {
    for field in ["data", "stringData"] {
        let values = secret.get_mut(field).and_then(Value::as_object_mut);
        values.into_iter().flatten().for_each(|(_, value)| *value = json!(REDACTED));
    }
    if let Some(annotations) = secret.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
        let domain = |key: &str| key.split('/').next().unwrap_or_default().to_owned();
        let is_read = |key: &str| domain(key) == READ || domain(key).ends_with(&format!(".{READ}"));
        annotations
            .iter_mut()
            .filter(|(key, _)| !is_read(key))
            .for_each(|(_, value)| *value = json!(REDACTED));
    }
}

/// Replaces the values that an override writes, if the override may apply to Secrets.
/// An override may apply to Secrets if it names them, or if it names no kind.
fn redact_override(policy: &mut Value) {
    let selectors = policy.pointer("/spec/resourceSelectors").and_then(Value::as_array);
    let is_secret = |selector: &Value| selector["kind"] == "Secret";
    if !selectors.is_none_or(|selectors| selectors.is_empty() || selectors.iter().any(is_secret)) {
        return;
    }
    let metadata = policy.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    metadata.into_iter().for_each(|annotations| drop(annotations.remove(LAST_APPLIED)));
    policy.get_mut("spec").into_iter().for_each(redact_values);
}

/// Replaces each `value` below `tree`.
fn redact_values(tree: &mut Value) {
    match tree {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match name.as_str() {
            "value" => *value = json!(REDACTED),
            _ => redact_values(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(redact_values),
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
            "metadata": {"name": "s", "annotations": {
                LAST_APPLIED: "{\"data\":{\"k\":\"aHVudGVyMg==\"}}",
                "example.com/token": "hunter2",
                "policy.karmada.io/name": "p",
            }},
            "data": {"k": "aHVudGVyMg=="},
            "stringData": {"l": "hunter2"},
        });
        let mut work = json!({"kind": "Work", "spec": {"workload": {"manifests": [secret]}}});
        redact(&mut work);
        let expected = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "annotations": {"example.com/token": "redacted", "policy.karmada.io/name": "p"}},
            "data": {"k": "redacted"},
            "stringData": {"l": "redacted"},
        });
        assert_eq!(work["spec"]["workload"]["manifests"][0], expected);
    }

    #[test]
    fn the_values_that_an_override_writes_into_secrets_are_taken_out() {
        let policy = |selectors: Value| {
            let plaintext = json!([{"path": "/data/k", "operator": "replace", "value": "aHVudGVyMg=="}]);
            let rules = json!([{"overriders": {"plaintext": plaintext}}]);
            let spec = json!({"resourceSelectors": selectors, "overrideRules": rules});
            json!({"kind": "OverridePolicy", "metadata": {"name": "o"}, "spec": spec})
        };
        let value = "/spec/overrideRules/0/overriders/plaintext/0/value";
        for (selectors, expected) in [
            (json!([{"apiVersion": "v1", "kind": "Secret"}]), "redacted"),
            (json!([]), "redacted"),
            (json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]), "aHVudGVyMg=="),
        ] {
            let mut policy = policy(selectors);
            redact(&mut policy);
            assert_eq!(policy.pointer(value), Some(&json!(expected)));
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"kind": "Secret"}});
        let mut kept = object.clone();
        redact(&mut kept);
        assert_eq!(kept, object);
    }
}
