//! The inputs of a binding's Works: while these are unchanged, no manifest has to be made again.
//!
//! `run` decides which steps are skipped.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::ObjectMeta;

use super::works::BindingNames;
use crate::api::{RawObject, Work};
use crate::machinery::{Binding, Context};

/// All inputs of the Works of a binding, and the Works: while these are equal, the Works need no check.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WorkInputs {
    generation: Option<i64>,
    id: String,
    template: Option<String>,
    works: Vec<WorkVersion>,
}

/// The parts of a Work that are compared; its status is not.
#[derive(Clone, Debug, PartialEq)]
struct WorkVersion {
    uid: Option<String>,
    generation: Option<i64>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    is_leaving: bool,
}

impl WorkInputs {
    /// The present inputs.
    /// `None` where there are override policies, which change manifests and are not compared here.
    pub(super) fn of(
        context: &Context,
        binding: &impl Binding,
        template: &RawObject,
        works: &[Arc<Work>],
    ) -> Option<Self> {
        let overridden =
            !context.override_policies.is_empty() || !context.cluster_override_policies.is_empty();
        let versions = || works.iter().map(|work| WorkVersion::of(&work.metadata)).collect();
        (!overridden).then(|| Self {
            generation: binding.meta().generation,
            id: BindingNames::of(binding).id,
            template: template.resource_version(),
            works: versions(),
        })
    }
}

impl WorkVersion {
    fn of(metadata: &ObjectMeta) -> Self {
        Self {
            uid: metadata.uid.clone(),
            generation: metadata.generation,
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
            is_leaving: metadata.deletion_timestamp.is_some(),
        }
    }
}
