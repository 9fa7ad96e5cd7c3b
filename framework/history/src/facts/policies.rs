//! Policies of users: the placement of templates, and the differences between copies.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Affinity, Content, Placement, Requirement, WorkloadKey};

/// A policy that places templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The placement.
    pub placement: Placement,
    /// A digest of the rules for failover; absent if there are none.
    pub failover: Option<u64>,
    /// Whether the policy propagates the dependencies of its templates.
    pub leads: bool,
    /// Whether changes of the policy wait until the templates change.
    pub lazy: bool,
    /// Whether the policy takes templates away from other policies.
    pub preempts: bool,
    /// The explicit priority.
    pub priority: i64,
    /// Whether the policy applies to all namespaces.
    pub everywhere: bool,
    /// Whether the policy selects templates by labels.
    pub by_labels: bool,
    /// The templates that the policy selects by name.
    pub names: BTreeSet<WorkloadKey>,
    /// A digest of the selectors.
    pub selectors: u64,
    /// The selectors; empty where the history does not show them.
    pub selects: Vec<TemplateSelector>,
    /// When the policy last changed.
    pub changed: Duration,
}

/// A selector of templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateSelector {
    /// The kind of the templates.
    pub kind: String,
    /// The namespace of the templates; empty for any.
    pub namespace: String,
    /// The name of the template; empty for any. The labels do not count if there is a name.
    pub name: String,
    /// Required labels of the templates.
    pub labels: Vec<Requirement>,
}

/// The members for which dispatching is suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchSuspension {
    /// Whether dispatching is suspended for all members.
    pub all: bool,
    /// The members for which dispatching is suspended by name.
    pub members: BTreeSet<String>,
}

/// A policy that makes copies differ between members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverridePolicy {
    /// The namespace of the policy; absent if the policy applies to all namespaces.
    pub namespace: Option<String>,
    /// Kind, namespace and name of the selected objects.
    /// An empty text matches any. An empty list selects all objects.
    pub selectors: Vec<(String, String, String)>,
    /// The changes, one after another.
    pub rules: Vec<Override>,
}

/// One change of an override policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Override {
    /// The members that the change applies to; `None` is all.
    pub members: Option<Affinity>,
    /// New tags of all images.
    pub tags: Vec<String>,
    /// Whether it also changes anything else.
    pub more: bool,
}

impl Policy {
    /// Whether the policy selects the template with this content.
    ///
    /// A policy whose selectors are unknown selects each template.
    #[must_use]
    pub fn selects(&self, key: &WorkloadKey, template: &Content) -> bool {
        self.selects.is_empty() || self.selects.iter().any(|selector| selector.admits(key, template))
    }
}

impl TemplateSelector {
    fn admits(&self, key: &WorkloadKey, template: &Content) -> bool {
        let any = |text: &str, is: &str| text.is_empty() || text == is;
        let label = |key: &str| template.labels.get(key).map(std::slice::from_ref).unwrap_or_default();
        let named = !self.name.is_empty();
        self.kind == key.kind()
            && any(&self.namespace, key.namespace())
            && any(&self.name, key.name())
            && (named || self.labels.iter().all(|each| each.holds(label(&each.key))))
    }
}

impl DispatchSuspension {
    /// Whether dispatching is suspended for `member`.
    #[must_use]
    pub fn from(&self, member: &str) -> bool {
        self.all || self.members.contains(member)
    }
}

impl OverridePolicy {
    /// Whether the policy applies to the object with this kind, namespace and name.
    #[must_use]
    pub fn means(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let any = |text: &str, is: &str| text.is_empty() || text == is;
        let one = |(its_kind, its_namespace, its_name): &(String, String, String)| {
            its_kind == kind && any(its_namespace, namespace) && any(its_name, name)
        };
        self.namespace.as_ref().is_none_or(|its| its == namespace)
            && (self.selectors.is_empty() || self.selectors.iter().any(one))
    }
}
