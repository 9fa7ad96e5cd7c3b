//! Validation of override policies.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/validation/validation.go`, with its messages.

use serde_json::Value;

use super::errors::{all_of, invalid};
use super::names::{not_a_key, not_a_label_value, not_a_pointer};
use super::placement::affinity_errors;
use crate::api::{
    FieldOverrider, FieldPatch, LabelAnnotationOverrider, OverridePolicySpec, OverriderOperator, Overriders,
};

/// Refuses an override policy with conflicting or invalid fields.
///
/// # Errors
/// The invalid fields, with reasons.
pub fn validate_overrides(spec: &OverridePolicySpec) -> Result<(), String> {
    all_of(override_errors(spec))
}

fn override_errors(spec: &OverridePolicySpec) -> Vec<String> {
    let mut errors = Vec::new();
    let has_rules = !spec.override_rules.is_empty();
    if let Some(target) = &spec.target_cluster {
        errors.extend(affinity_errors(target, "spec.targetCluster"));
        if has_rules {
            let why = "overrideRules and targetCluster can't co-exist";
            errors.push(invalid("spec.targetCluster", target, why));
        }
    }
    let overriders = spec.overriders.as_ref().filter(|overriders| **overriders != Overriders::default());
    if let Some(overriders) = overriders.filter(|_| has_rules) {
        let why = "overrideRules and overriders can't co-exist";
        errors.push(invalid("spec.overriders", overriders, why));
    }
    for (index, rule) in spec.override_rules.iter().enumerate() {
        let at = format!("spec.overrideRules[{index}]");
        errors.extend(overriders_errors(&rule.overriders, &format!("{at}.overriders")));
        let target = rule.target_cluster.as_ref();
        errors.extend(target.and_then(|target| affinity_errors(target, &format!("{at}.targetCluster"))));
    }
    errors
}

fn overriders_errors(overriders: &Overriders, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for (index, annotations) in overriders.annotations_overrider.iter().enumerate() {
        errors.extend(key_errors(annotations, &format!("{at}.annotationsOverrider[{index}].value")));
    }
    for (index, labels) in overriders.labels_overrider.iter().enumerate() {
        let at = format!("{at}.labelsOverrider[{index}].value");
        errors.extend(key_errors(labels, &at));
        for value in labels.value.values() {
            errors.extend(not_a_label_value(value).iter().map(|why| invalid(&at, value, why)));
        }
    }
    for (index, image) in overriders.image_overrider.iter().enumerate() {
        let at = format!("{at}.imageOverrider[{index}].predicate.path");
        errors.extend(image.predicate.iter().flat_map(|predicate| pointer_errors(&predicate.path, &at)));
    }
    for (index, field) in overriders.field_overrider.iter().enumerate() {
        errors.extend(field_errors(field, &format!("{at}.fieldOverrider[{index}]")));
    }
    errors
}

fn key_errors(entries: &LabelAnnotationOverrider, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for key in entries.value.keys() {
        errors.extend(not_a_key(key).iter().map(|why| invalid(at, key, why)));
    }
    errors
}

fn pointer_errors(path: &str, at: &str) -> Vec<String> {
    not_a_pointer(path).iter().map(|why| invalid(at, path, why)).collect()
}

fn field_errors(field: &FieldOverrider, at: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if !field.yaml.is_empty() && !field.json.is_empty() {
        let why = "FieldOverrider has both YAML and JSON set. Only one is allowed";
        errors.push(invalid(at, field, why));
    }
    errors.extend(pointer_errors(&field.field_path, &format!("{at}.fieldPath")));
    for (name, patches) in [("json", &field.json), ("yaml", &field.yaml)] {
        for (index, patch) in patches.iter().enumerate() {
            let at = format!("{at}.{name}[{index}]");
            errors.extend(pointer_errors(&patch.sub_path, &format!("{at}.subPath")));
            errors.extend(value_error(patch, &format!("{at}.value")));
        }
    }
    errors
}

fn value_error(patch: &FieldPatch, at: &str) -> Option<String> {
    let why = match (patch.operator, &patch.value) {
        (OverriderOperator::Add | OverriderOperator::Replace, Value::Null) => {
            "value is required for add or replace operation"
        }
        (OverriderOperator::Remove, value) if !value.is_null() => "value is not allowed for remove operation",
        _ => return None,
    };
    Some(invalid(at, &patch.value, why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn errors_in_an_override_policy_name_the_field() {
        let rule = |overriders: Value| json!({"overrideRules": [{"overriders": overriders}]});
        let field =
            |patch: Value| rule(json!({"fieldOverrider": [{"fieldPath": "/data/a", "json": [patch]}]}));
        let labels = |key: &str, value: &str| {
            rule(json!({"labelsOverrider": [{"operator": "add", "value": {key: value}}]}))
        };
        let unknown = json!({"fieldSelector": {"matchExpressions": [{"key": "foo", "operator": "In"}]}});
        let cases: [(Value, &str); 16] = [
            (json!({}), ""),
            (json!({"overriders": {}, "targetCluster": {}}), ""),
            (json!({"overrideRules": [{"overriders": {}}], "overriders": {}}), ""),
            (
                json!({"overrideRules": [{"overriders": {}}], "targetCluster": {}}),
                "spec.targetCluster: Invalid value: {}: overrideRules and targetCluster can't co-exist",
            ),
            (
                json!({"overrideRules": [{"overriders": {}}], "overriders": {"plaintext": [{"path": "/a", "operator": "remove"}]}}),
                "overrideRules and overriders can't co-exist",
            ),
            (
                json!({"overrideRules": [{"overriders": {}, "targetCluster": unknown}]}),
                "spec.overrideRules[0].targetCluster.fieldSelector: Invalid value",
            ),
            (labels("tier", "gold"), ""),
            (labels("tier~1", "gold"), "spec.overrideRules[0].overriders.labelsOverrider[0].value: Invalid"),
            (labels("tier", "-"), "a valid label must be an empty string"),
            (
                rule(
                    json!({"imageOverrider": [{"component": "Tag", "operator": "remove", "predicate": {"path": "spec"}}]}),
                ),
                "imageOverrider[0].predicate.path: Invalid value: \"spec\": JSON pointer must be empty",
            ),
            (field(json!({"subPath": "/a", "operator": "replace", "value": 1})), ""),
            (field(json!({"subPath": "/a", "operator": "add"})), "value is required for add or replace"),
            (
                field(json!({"subPath": "/a", "operator": "remove", "value": 1})),
                "fieldOverrider[0].json[0].value: Invalid value: 1: value is not allowed for remove operation",
            ),
            (field(json!({"subPath": "a", "operator": "remove"})), "json[0].subPath: Invalid value"),
            (field(json!({"subPath": "/a", "operator": "remove"})), ""),
            (
                rule(json!({"fieldOverrider": [{"fieldPath": "/data/a",
                    "json": [{"subPath": "/a", "operator": "remove"}], "yaml": [{"subPath": "/a", "operator": "remove"}]}]})),
                "FieldOverrider has both YAML and JSON set",
            ),
        ];
        for (spec, expected) in cases {
            let parsed: OverridePolicySpec = from_json(spec.clone());
            let why = validate_overrides(&parsed).err().unwrap_or_default();
            assert_eq!(expected.is_empty(), why.is_empty(), "{spec}: {why}");
            assert!(why.contains(expected), "{spec}: {why}");
        }
    }
}
