//! Validation errors of fields in the format of Kubernetes: `spec.a: Invalid value: "b": why`.
//!
//! Format: k8s.io/apimachinery `pkg/util/validation/field/errors.go`, `pkg/util/errors`.

use std::collections::BTreeSet;

use serde::Serialize;

/// The error of a field with an invalid value, printed as JSON.
pub(super) fn invalid(field: &str, value: impl Serialize, why: &str) -> String {
    let value = serde_json::to_string(&value).unwrap_or_default();
    format!("{field}: Invalid value: {value}: {why}")
}

/// The error of a field with a value that is none of the supported ones.
pub(super) fn not_supported(field: &str, value: &str, supported: &[&str]) -> String {
    let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
    format!("{field}: Unsupported value: {value:?}: supported values: {}", supported.join(", "))
}

/// Joins errors into one, without duplicates, in brackets if there are several.
///
/// # Errors
/// If there are any.
pub(super) fn all_of(errors: Vec<String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let errors: Vec<String> = errors.into_iter().filter(|error| seen.insert(error.clone())).collect();
    match errors.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_reported_like_those_of_kubernetes() {
        assert_eq!(invalid("spec.name", "a b", "no blanks"), r#"spec.name: Invalid value: "a b": no blanks"#);
        assert_eq!(invalid("spec.count", -1, "too few"), "spec.count: Invalid value: -1: too few");
        assert_eq!(
            not_supported("spec.by", "c", &["a", "b"]),
            r#"spec.by: Unsupported value: "c": supported values: "a", "b""#
        );
        let reported = |errors: &[&str]| all_of(errors.iter().map(|error| (*error).to_owned()).collect());
        assert_eq!(reported(&[]), Ok(()));
        assert_eq!(reported(&["a", "a"]), Err("a".into()));
        assert_eq!(reported(&["b", "a"]), Err("[b, a]".into()));
    }
}
