//! What users ask of the placement of templates, and how copies are to differ.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Affinity, Placement, WorkloadKey};

/// A policy that places templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Where they may run.
    pub placement: Placement,
    /// Whether what changes in it waits for the templates.
    pub lazy: bool,
    /// Whether it takes templates away from others.
    pub preempts: bool,
    /// Its explicit priority.
    pub priority: i64,
    /// Whether it is for all namespaces.
    pub everywhere: bool,
    /// Whether it means templates by their labels.
    pub by_labels: bool,
    /// What it means by name.
    pub names: BTreeSet<WorkloadKey>,
    /// Stands for what it means.
    pub selectors: u64,
    /// When that last changed.
    pub changed: Duration,
}

/// What is held back from members, or from all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchSuspension {
    /// From all of them.
    pub all: bool,
    /// From these.
    pub members: BTreeSet<String>,
}

/// A policy that makes copies different in some members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverridePolicy {
    /// The namespace of what it is about; absent for one that is about all.
    pub namespace: Option<String>,
    /// Kind, namespace and name of what it means; an empty text is any. Empty means everything.
    pub selectors: Vec<(String, String, String)>,
    /// What it changes, one after another.
    pub rules: Vec<Override>,
}

/// One change of an override policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Override {
    /// The members meant; `None` is all.
    pub members: Option<Affinity>,
    /// New tags of all images.
    pub tags: Vec<String>,
    /// Whether it changes anything else.
    pub more: bool,
}

impl DispatchSuspension {
    /// Whether `member` gets nothing.
    #[must_use]
    pub fn from(&self, member: &str) -> bool {
        self.all || self.members.contains(member)
    }
}

impl OverridePolicy {
    /// Whether it is about the object of this kind, namespace and name.
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
