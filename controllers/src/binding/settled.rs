//! What was found right, so that it is not made anew whenever a Work says something: manifests above all.
//!
//! What may be skipped is decided in `run`.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::works::Named;
use crate::api::{RawObject, Work};
use crate::machinery::{Binding, Context};

/// All that the Works of a binding are made of, and the Works: while it is the same, they need not be looked at again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settled {
    generation: Option<i64>,
    id: String,
    template: Option<String>,
    works: Vec<Seen>,
}

/// A Work, but for what it says of its object.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    uid: Option<String>,
    generation: Option<i64>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    leaving: bool,
}

impl Settled {
    /// As things are. Where there are override policies, more goes into a manifest than is compared here: `None`.
    pub(super) fn of(
        context: &Context,
        binding: &impl Binding,
        template: &RawObject,
        works: &[Arc<Work>],
    ) -> Option<Self> {
        let overridden =
            !context.override_policies.is_empty() || !context.cluster_override_policies.is_empty();
        let seen = || works.iter().map(|work| Seen::of(&work.metadata)).collect();
        (!overridden).then(|| Self {
            generation: binding.meta().generation,
            id: Named::of(binding).id,
            template: template.resource_version(),
            works: seen(),
        })
    }
}

impl Seen {
    fn of(metadata: &ObjectMeta) -> Self {
        Self {
            uid: metadata.uid.clone(),
            generation: metadata.generation,
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
            leaving: metadata.deletion_timestamp.is_some(),
        }
    }
}
