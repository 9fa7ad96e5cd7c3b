//! Which policy a template belongs to.
//!
//! karmada-io/karmada `pkg/detector/{compare,policy}.go`, `pkg/util/selector.go`.

use kube::core::{Selector, SelectorExt};
use serde_json::Value;

use crate::api::ResourceSelector;

/// How closely a selector means a template; later is closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// By its kind.
    All,
    /// By its labels.
    Labels,
    /// By its name.
    Name,
}

/// A policy that means a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Its explicit priority.
    pub priority: i32,
    /// How closely it means the template.
    pub closeness: Match,
}

/// How closely the selectors of a policy mean the template; `None` where they do not. `policy_namespace` is `None`
/// for a cluster-scoped policy; a namespaced one means templates of its own namespace only.
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

/// The policy that a template belongs to, of those that mean it: by explicit priority, then by closeness, then the
/// first by name.
#[must_use]
pub fn winner(claims: &[Claim]) -> Option<&Claim> {
    claims.iter().min_by(|a, b| {
        b.priority.cmp(&a.priority).then(b.closeness.cmp(&a.closeness)).then_with(|| a.name.cmp(&b.name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            let selectors = [serde_json::from_value(whole).unwrap()];
            assert_eq!(selects(&selectors, namespace, &template), expected, "{selector}");
        }
    }

    #[test]
    fn priority_beats_closeness_beats_name() {
        let claim = |name: &str, priority, closeness| Claim { name: name.into(), priority, closeness };
        let (a, b, c) = (claim("a", 0, Match::All), claim("b", 0, Match::Name), claim("c", 1, Match::All));
        let named = |claims: &[Claim]| winner(claims).map(|claim| claim.name.clone());
        assert_eq!(named(&[a.clone(), b.clone()]), Some("b".into()));
        assert_eq!(named(&[a.clone(), b.clone(), c]), Some("c".into()));
        assert_eq!(named(&[claim("d", 0, Match::All), a]), Some("a".into()));
        assert_eq!(named(&[]), None);
    }
}
