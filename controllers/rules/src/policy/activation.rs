//! When a change of a policy reaches the bindings of its templates.
//!
//! karmada-io/karmada v1.18.2 `pkg/util/eventfilter/eventfilter.go`, `pkg/detector/detector.go` (`ApplyPolicy`,
//! `enqueueResourceTemplateForPolicyChange`); as from 1.9.

use std::collections::BTreeMap;

use kube::ResourceExt;
use serde_json::Value;

use crate::api::{LABEL_SKIP_PROPAGATION, RawObject};

/// Returns true if a policy with this activation preference is applied to a template.
/// A lazy policy is applied only if a user has `touched` the template since; any other policy is applied at once. The
/// claim itself is never lazy.
#[must_use]
pub fn activates(preference: &str, touched: bool) -> bool {
    preference != "Lazy" || touched
}

/// Returns true if a template is new, or if a part was changed that the control plane does not write.
/// The control plane itself writes the status, and labels and annotations of its own.
#[must_use]
pub fn touched(before: Option<&RawObject>, after: &RawObject) -> bool {
    let Some(before) = before else { return true };
    let metadata = |template: &RawObject| {
        let metadata = &template.metadata;
        let owners = metadata.owner_references.clone();
        (owners, metadata.finalizers.clone(), metadata.deletion_timestamp.clone(), metadata.uid.clone())
    };
    !same(before, after)
        || !users(before.labels()).eq(users(after.labels()))
        || !users(before.annotations()).eq(users(after.annotations()))
        || metadata(before) != metadata(after)
}

/// Whether two templates are equal except for their status.
fn same(before: &RawObject, after: &RawObject) -> bool {
    let (mut before, mut after) = (before.fields(), after.fields());
    before.remove("status");
    after.remove("status");
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let unchanged = |before: &str, after: &str| before == after || read(before) == read(after);
    before.keys().eq(after.keys())
        && before.values().zip(after.values()).all(|(before, after)| unchanged(before.get(), after.get()))
}

/// Returns the labels or annotations that are not those of the control plane.
/// These are the labels or annotations without the domain of the control plane, and one label that users set.
fn users(marks: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    marks.iter().filter(|(key, _)| !key.contains(".karmada.io") || *key == LABEL_SKIP_PROPAGATION)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn only_a_lazy_policy_waits_for_the_template() {
        for (preference, touched, expected) in
            [("", false, true), ("", true, true), ("Lazy", false, false), ("Lazy", true, true)]
        {
            assert_eq!(activates(preference, touched), expected, "{preference} {touched}");
        }
    }

    #[test]
    fn what_the_control_plane_writes_touches_nothing() {
        let base = json!({"metadata": {"name": "web", "generation": 1, "resourceVersion": "1", "labels": {"app": "web"}},
            "spec": {"replicas": 1}, "status": {"replicas": 1}});
        let with = |path: &str, value: Value| {
            let mut object = base.clone();
            let (parent, field) = path.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[field] = value;
            object
        };
        let cases = [
            ("nothing", base.clone(), false),
            ("status", with("/status", json!({"replicas": 2})), false),
            ("no status", with("/status", Value::Null), false),
            ("version", with("/metadata/resourceVersion", json!("2")), false),
            ("generation", with("/metadata/generation", json!(2)), false),
            (
                "a claim",
                with("/metadata/labels", json!({"app": "web", "propagationpolicy.karmada.io/name": "p"})),
                false,
            ),
            (
                "a claim in annotations",
                with("/metadata/annotations", json!({"propagationpolicy.karmada.io/name": "p"})),
                false,
            ),
            ("a label", with("/metadata/labels", json!({"app": "other"})), true),
            (
                "a label for users",
                with("/metadata/labels", json!({"app": "web", LABEL_SKIP_PROPAGATION: "true"})),
                true,
            ),
            ("an annotation", with("/metadata/annotations", json!({"a": "b"})), true),
            ("the spec", with("/spec", json!({"replicas": 2})), true),
            ("a field more", with("/data", json!({})), true),
        ];
        let parse = |object: Value| -> RawObject { from_json(object) };
        for (about, after, expected) in cases {
            assert_eq!(touched(Some(&parse(base.clone())), &parse(after)), expected, "{about}");
        }
        assert!(touched(None, &parse(base)));
    }
}
