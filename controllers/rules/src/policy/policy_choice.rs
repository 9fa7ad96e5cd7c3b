//! Which policy a template belongs to.
//!
//! karmada-io/karmada `pkg/detector/{compare,policy}.go`, `pkg/util/selector.go`.

use kube::core::{Selector, SelectorExt};
use serde_json::Value;

use crate::api::ResourceSelector;

/// How closely a selector matches a template; later variants are closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// By its kind.
    All,
    /// By its labels.
    Labels,
    /// By its name.
    Name,
}

/// A policy that selects a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Whether it is a namespaced one.
    pub namespaced: bool,
    /// Its explicit priority.
    pub priority: i32,
    /// How closely it matches the template.
    pub closeness: Match,
    /// Whether it takes templates over from other policies.
    pub preempts: bool,
}

/// Returns how closely the selectors of a policy match the template; `None` if they do not.
/// `policy_namespace` is `None` for a cluster-scoped policy; a namespaced one selects templates of its own namespace
/// only.
#[must_use]
pub fn selects(
    selectors: &[ResourceSelector],
    policy_namespace: Option<&str>,
    template: &Value,
) -> Option<Match> {
    let text = |path: &str| template.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    if policy_namespace.is_some_and(|policy| policy != namespace) {
        return None;
    }
    let one = |selector: &ResourceSelector| {
        let meant = selector.api_version == text("/apiVersion")
            && selector.kind == text("/kind")
            && (selector.namespace.is_empty() || selector.namespace == namespace);
        match (&selector.label_selector, selector.name.as_str()) {
            _ if !meant => None,
            (None, "") => Some(Match::All),
            (Some(labels), "") => {
                let present = template.pointer("/metadata/labels").cloned().unwrap_or_default();
                let present = serde_json::from_value(present).unwrap_or_default();
                Selector::try_from(labels.clone())
                    .ok()
                    .filter(|labels| labels.matches(&present))
                    .map(|_| Match::Labels)
            }
            (_, name) => (name == text("/metadata/name")).then_some(Match::Name),
        }
    };
    selectors.iter().filter_map(one).max()
}

/// Returns the policy that a template belongs to, of those that select it.
/// `claimed` is the name of the policy that has claimed the template, and true if that policy is namespaced.
///
/// A policy keeps its template as long as it selects it, unless another preempts it: a namespaced policy preempts a
/// cluster-scoped policy, and a policy of higher priority preempts another policy of its scope (as from 1.7). An unclaimed template goes to the
/// best policy of the namespace, and to a cluster-scoped policy only if there is none.
#[must_use]
pub fn owner<'a>(claims: &'a [Claim], claimed: Option<(bool, &str)>) -> Option<&'a Claim> {
    let has_it = |claim: &&Claim| claimed == Some((claim.namespaced, claim.name.as_str()));
    let Some(present) = claims.iter().find(has_it) else {
        let of = |namespaced: bool| claims.iter().filter(move |claim| claim.namespaced == namespaced);
        return best(of(true)).or_else(|| best(of(false)));
    };
    let takes_it = |claim: &&Claim| {
        let outranks = if claim.namespaced == present.namespaced {
            claim.priority > present.priority
        } else {
            claim.namespaced
        };
        claim.preempts && outranks
    };
    let takers: Vec<&Claim> = claims.iter().filter(takes_it).collect();
    let of = |namespaced: bool| takers.iter().copied().filter(move |claim| claim.namespaced == namespaced);
    best(of(true)).or_else(|| best(of(false))).or(Some(present))
}

/// By explicit priority, then by closeness, then the first by name.
fn best<'a>(claims: impl Iterator<Item = &'a Claim>) -> Option<&'a Claim> {
    claims.min_by(|a, b| {
        b.priority.cmp(&a.priority).then(b.closeness.cmp(&a.closeness)).then_with(|| a.name.cmp(&b.name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn a_selector_means_by_name_by_labels_or_all_of_a_kind() {
        let template = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}}});
        let cases = [
            (json!({"name": "web"}), Some("default"), Some(Match::Name)),
            (
                json!({"name": "web", "labelSelector": {"matchLabels": {"app": "x"}}}),
                Some("default"),
                Some(Match::Name),
            ),
            (json!({"labelSelector": {"matchLabels": {"app": "web"}}}), Some("default"), Some(Match::Labels)),
            (json!({"labelSelector": {"matchLabels": {"app": "x"}}}), Some("default"), None),
            (json!({}), Some("default"), Some(Match::All)),
            (json!({}), None, Some(Match::All)),
            (json!({"namespace": "other"}), None, None),
            (json!({"name": "web"}), Some("other"), None),
            (json!({"kind": "StatefulSet"}), Some("default"), None),
        ];
        for (selector, namespace, expected) in cases {
            let mut whole = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
            whole.as_object_mut().unwrap().extend(selector.as_object().unwrap().clone());
            let selectors = [from_json(whole)];
            assert_eq!(selects(&selectors, namespace, &template), expected, "{selector}");
        }
    }

    fn claim(name: &str, namespaced: bool, priority: i32, closeness: Match, preempts: bool) -> Claim {
        Claim { name: name.into(), namespaced, priority, closeness, preempts }
    }

    #[test]
    fn priority_beats_closeness_beats_name_and_the_namespace_beats_all() {
        let (a, b) = (claim("a", true, 0, Match::All, false), claim("b", true, 0, Match::Name, false));
        let c = claim("c", true, 1, Match::All, false);
        let everywhere = claim("e", false, 9, Match::Name, true);
        let named = |claims: &[&Claim]| {
            let claims: Vec<Claim> = claims.iter().copied().cloned().collect();
            owner(&claims, None).map(|claim| claim.name.clone())
        };
        assert_eq!(named(&[&a, &b]).as_deref(), Some("b"));
        assert_eq!(named(&[&a, &b, &c]).as_deref(), Some("c"));
        assert_eq!(named(&[&claim("d", true, 0, Match::All, false), &a]).as_deref(), Some("a"));
        assert_eq!(named(&[&everywhere, &a]).as_deref(), Some("a"));
        assert_eq!(named(&[&everywhere]).as_deref(), Some("e"));
        assert_eq!(named(&[]), None);
    }

    #[test]
    fn a_claim_lasts_until_it_is_preempted_or_gone() {
        let claims = [
            claim("low", true, 1, Match::All, true),
            claim("high", true, 5, Match::All, false),
            claim("taker", true, 3, Match::All, true),
            claim("wide", false, 1, Match::All, false),
            claim("wide-taker", false, 2, Match::All, true),
            claim("even", true, 3, Match::All, false),
        ];
        type Case<'a> = (&'a str, &'a [usize], Option<(bool, &'a str)>, Option<&'a str>);
        let cases: [Case<'_>; 10] = [
            ("higher alone does not take", &[0, 1], Some((true, "low")), Some("low")),
            ("higher that preempts does", &[0, 1, 2], Some((true, "low")), Some("taker")),
            ("lower that preempts does not", &[0, 1, 2], Some((true, "high")), Some("high")),
            ("a namespaced one takes from a wide one", &[0, 3], Some((false, "wide")), Some("low")),
            ("but not without preempting", &[1, 3], Some((false, "wide")), Some("wide")),
            ("one of the same priority does not", &[2, 5], Some((true, "even")), Some("even")),
            ("of two that take it the namespaced one does", &[0, 3, 4], Some((false, "wide")), Some("low")),
            ("a wide one takes from a wide one", &[3, 4], Some((false, "wide")), Some("wide-taker")),
            ("but not from a namespaced one", &[1, 4], Some((true, "high")), Some("high")),
            ("one that is gone has nothing", &[3], Some((true, "wide")), Some("wide")),
        ];
        for (about, which, claimed, expected) in cases {
            let claims: Vec<Claim> = which.iter().map(|index| claims[*index].clone()).collect();
            let owner = owner(&claims, claimed).map(|claim| claim.name.as_str());
            assert_eq!(owner, expected, "{about}");
        }
    }
}
