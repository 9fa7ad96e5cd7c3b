//! Finds the policies that may select a template, by the names in their selectors.
//!
//! No template has to be compared with every policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use capsize_sorted::CollectSorted;

use crate::api::ResourceSelector;

/// A policy: its namespace, `None` for a cluster-scoped one, and its name.
pub(super) type PolicyKey = (Option<String>, String);

/// The policies that select templates of a kind, by the name of the template.
/// Policies whose selectors have no name are under the empty name.
#[derive(Default)]
pub(super) struct Candidates(Mutex<BTreeMap<String, BTreeSet<PolicyKey>>>);

impl Candidates {
    /// Updates the candidates after the selectors of a policy changed.
    pub(super) fn change(
        &self,
        policy: &PolicyKey,
        before: &[&ResourceSelector],
        after: &[&ResourceSelector],
    ) {
        let mut by_name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for selector in before {
            if let Some(policies) = by_name.get_mut(&selector.name) {
                policies.remove(policy);
                if policies.is_empty() {
                    by_name.remove(&selector.name);
                }
            }
        }
        for selector in after {
            by_name.entry(selector.name.clone()).or_default().insert(policy.clone());
        }
    }

    /// The policies that may select the template.
    pub(super) fn of(&self, namespace: &str, name: &str) -> BTreeSet<PolicyKey> {
        let by_name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = [name, ""].into_iter().filter_map(|name| by_name.get(name)).flatten();
        let reaches =
            |policy: &&PolicyKey| policy.0.as_deref().is_none_or(|of| of == namespace && !of.is_empty());
        named.filter(reaches).cloned().collect_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_a_candidate_for_the_templates_that_it_names_or_for_all() {
        let selector = |name: &str| ResourceSelector { name: name.into(), ..ResourceSelector::default() };
        let (web, any) = (selector("web"), selector(""));
        let here: PolicyKey = (Some("default".into()), "a".into());
        let wide: PolicyKey = (None, "b".into());
        let candidates = Candidates::default();
        candidates.change(&here, &[], &[&web]);
        candidates.change(&wide, &[], &[&any]);
        let of = |namespace: &str, name: &str| {
            let names = candidates.of(namespace, name).into_iter().map(|(_, policy)| policy);
            names.collect::<Vec<_>>()
        };
        assert_eq!(of("default", "web"), ["b", "a"]);
        assert_eq!(of("default", "other"), ["b"]);
        assert_eq!(of("elsewhere", "web"), ["b"]);
        assert_eq!(of("", "web"), ["b"]);
        candidates.change(&here, &[&web], &[&any]);
        assert_eq!(of("default", "other"), ["b", "a"]);
        candidates.change(&wide, &[&any], &[]);
        assert_eq!(of("default", "web"), ["a"]);
    }
}
