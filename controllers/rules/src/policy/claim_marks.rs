//! How templates and bindings name the policy that has claimed them.
//!
//! karmada-io/karmada v1.5.0 `pkg/detector/policy.go`, v1.18.2 `pkg/detector/claim.go`,
//! `pkg/apis/policy/v1alpha1/well_known_constants.go`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Behaviour;
use crate::api::{
    CLUSTER_POLICY_NAME, FINALIZER_CLUSTER_POLICY, FINALIZER_POLICY, LABEL_CLUSTER_POLICY_ID,
    LABEL_POLICY_ID, POLICY_NAME, POLICY_NAMESPACE, ResourceBindingSpec,
};

/// A policy as its templates and bindings name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its namespace; `None` for a cluster-scoped one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its permanent id.
    pub id: String,
}

/// Returns the labels and annotations of an object claimed by `owner`, or by no policy.
/// The value is `null` for labels and annotations to remove.
///
/// Until 1.7 labels name the policy. As from 1.8 annotations name it, and a label has its permanent id.
#[must_use]
pub fn claim_marks(behaviour: Behaviour, owner: Option<&Owner>) -> Value {
    let here = owner.filter(|owner| owner.namespace.is_some());
    let everywhere = owner.filter(|owner| owner.namespace.is_none());
    let names = json!({
        POLICY_NAMESPACE: here.map(|owner| &owner.namespace),
        POLICY_NAME: here.map(|owner| &owner.name),
        CLUSTER_POLICY_NAME: everywhere.map(|owner| &owner.name),
    });
    if !behaviour.permanent_ids {
        return json!({ "labels": names });
    }
    let ids = json!({
        LABEL_POLICY_ID: here.map(|owner| &owner.id),
        LABEL_CLUSTER_POLICY_ID: everywhere.map(|owner| &owner.id),
    });
    json!({ "labels": ids, "annotations": names })
}

/// Returns the name of the policy in the labels or annotations, and whether it is a namespaced one.
#[must_use]
pub fn claimed_by<'a>(
    behaviour: Behaviour,
    labels: &'a BTreeMap<String, String>,
    annotations: &'a BTreeMap<String, String>,
) -> Option<(bool, &'a str)> {
    let names = if behaviour.permanent_ids { annotations } else { labels };
    let named = |key: &str, namespaced: bool| names.get(key).map(|name| (namespaced, name.as_str()));
    named(POLICY_NAME, true).or_else(|| named(CLUSTER_POLICY_NAME, false))
}

/// Returns the finalizer of a kind of policy.
/// The finalizer keeps the policy until no object names the policy any more. The finalizer exists as from 1.10 (#4836,
/// `pkg/detector/detector.go`, `ReconcilePropagationPolicy`).
#[must_use]
pub fn policy_finalizer(behaviour: Behaviour, kind: &str) -> Option<&'static str> {
    let finalizer = match kind {
        "PropagationPolicy" => FINALIZER_POLICY,
        "ClusterPropagationPolicy" => FINALIZER_CLUSTER_POLICY,
        _ => return None,
    };
    behaviour.policy_finalizers.then_some(finalizer)
}

/// Whether a new binding gets a finalizer.
/// Each does, so that it stays until its Works are gone, also if no controller is running when it is deleted (#708).
#[must_use]
pub fn has_finalizer(_spec: &ResourceBindingSpec) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_have_a_finalizer_as_from_release_1_10() {
        let of = |release: &str, kind: &str| policy_finalizer(Behaviour::of(release), kind);
        let cases = [
            ("1.9", "PropagationPolicy", None),
            ("1.10", "PropagationPolicy", Some("karmada.io/propagation-policy-controller")),
            ("1.18", "ClusterPropagationPolicy", Some("karmada.io/cluster-propagation-policy-controller")),
            ("1.18", "OverridePolicy", None),
        ];
        for (release, kind, expected) in cases {
            assert_eq!(of(release, kind), expected, "{release} {kind}");
        }
    }

    #[test]
    fn what_a_policy_has_names_it_and_nobody_else() {
        let with_ids = Behaviour { permanent_ids: true, ..Behaviour::default() };
        let here = Owner { namespace: Some("default".into()), name: "web".into(), id: "7".into() };
        let everywhere = Owner { namespace: None, ..here.clone() };
        let none = Option::<&str>::None;
        let names = |namespace: Option<&str>, name: Option<&str>, wide: Option<&str>| json!({POLICY_NAMESPACE: namespace, POLICY_NAME: name, CLUSTER_POLICY_NAME: wide});
        let ids = |here: Option<&str>, wide: Option<&str>| json!({LABEL_POLICY_ID: here, LABEL_CLUSTER_POLICY_ID: wide});
        let cases = [
            (Some(&here), names(Some("default"), Some("web"), none), ids(Some("7"), none)),
            (Some(&everywhere), names(none, none, Some("web")), ids(none, Some("7"))),
            (None, names(none, none, none), ids(none, none)),
        ];
        for (owner, names, ids) in cases {
            assert_eq!(claim_marks(Behaviour::default(), owner), json!({ "labels": names }), "{owner:?}");
            assert_eq!(
                claim_marks(with_ids, owner),
                json!({"labels": ids, "annotations": names}),
                "{owner:?}"
            );
        }
    }

    #[test]
    fn the_marks_of_a_release_are_read_where_it_puts_them() {
        let with_ids = Behaviour { permanent_ids: true, ..Behaviour::default() };
        let names = BTreeMap::from([(CLUSTER_POLICY_NAME.to_owned(), "wide".to_owned())]);
        let both =
            BTreeMap::from([(POLICY_NAME.to_owned(), "web".to_owned())]).into_iter().chain(names.clone());
        let (both, nothing) = (both.collect(), BTreeMap::new());
        assert_eq!(claimed_by(Behaviour::default(), &names, &nothing), Some((false, "wide")));
        assert_eq!(claimed_by(Behaviour::default(), &both, &nothing), Some((true, "web")));
        assert_eq!(claimed_by(with_ids, &nothing, &names), Some((false, "wide")));
        assert_eq!(claimed_by(with_ids, &names, &nothing), None);
    }
}
