//! Collects the changes of override policies for a target, and the annotations that record them.

use std::borrow::Cow;

use kube::ResourceExt;
use serde_json::{Value, json};

use crate::api::{
    ANNOTATION_APPLIED_CLUSTER_OVERRIDES, ANNOTATION_APPLIED_OVERRIDES, Cluster, OverridePolicySpec,
    Overriders,
};
use crate::machinery::{Context, Error};
use crate::rules::OverridePolicyRef;

/// The changes for a target, in order, with the names of their policies.
#[derive(Default)]
pub(crate) struct Overrides {
    cluster_scoped: Vec<(String, Overriders)>,
    namespaced: Vec<(String, Overriders)>,
}

impl Overrides {
    /// The changes for the template in the cluster.
    /// Namespaced policies are matched with the object that the cluster-scoped ones have changed, for example its labels
    /// (`ApplyOverridePolicies` in `pkg/util/overridemanager/overridemanager.go`).
    pub(crate) fn of(context: &Context, template: &Value, cluster: &Cluster) -> Self {
        let everywhere = context.cluster_override_policies.list();
        let everywhere: Vec<_> =
            everywhere.iter().map(|policy| (policy.name_any(), None, &policy.spec.policy)).collect();
        let here = context.override_policies.list();
        let here: Vec<_> =
            here.iter().map(|policy| (policy.name_any(), policy.namespace(), &policy.spec)).collect();
        let of = |policies: &[(String, Option<String>, &OverridePolicySpec)], object: &Value| -> Vec<_> {
            let refs: Vec<_> = policies
                .iter()
                .map(|(name, namespace, spec)| OverridePolicyRef {
                    name,
                    namespace: namespace.as_deref(),
                    spec,
                })
                .collect();
            let found = context.rules.overrides_for(&refs, object, cluster);
            found.into_iter().map(|(name, overriders)| (name.to_owned(), overriders.clone())).collect()
        };
        let cluster_scoped: Vec<(String, Overriders)> = of(&everywhere, template);
        let mut changed = Cow::Borrowed(template);
        for (_, overriders) in cluster_scoped.iter().filter(|_| !here.is_empty()) {
            // The manifest reports an error.
            let _ = context.rules.override_object(changed.to_mut(), overriders);
        }
        Self { namespaced: of(&here, &changed), cluster_scoped }
    }

    /// The changes, in the order in which they are made.
    pub(crate) fn overriders(&self) -> Vec<&Overriders> {
        self.cluster_scoped.iter().chain(&self.namespaced).map(|(_, overriders)| overriders).collect()
    }

    /// The annotations of the Work that record the changes; `null` where there are none.
    pub(crate) fn annotations(&self) -> Result<[(&'static str, Value); 2], Error> {
        let text = |applied: &[(String, Overriders)]| -> Result<Value, Error> {
            let applied: Vec<Value> = applied
                .iter()
                .map(|(name, overriders)| json!({ "policyName": name, "overriders": overriders }))
                .collect();
            Ok(if applied.is_empty() { Value::Null } else { serde_json::to_string(&applied)?.into() })
        };
        Ok([
            (ANNOTATION_APPLIED_CLUSTER_OVERRIDES, text(&self.cluster_scoped)?),
            (ANNOTATION_APPLIED_OVERRIDES, text(&self.namespaced)?),
        ])
    }
}
