//! Which policy has a template, and the labels that say so on template and binding.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::api::{
    LABEL_CLUSTER_POLICY_NAME, LABEL_POLICY_NAME, LABEL_POLICY_NAMESPACE, PropagationPolicySpec,
};
use crate::machinery::Context;
use crate::rules::Claim;

/// What has a template: the labels that say so, `null` for those that must not be there, and what the policy says.
pub(super) struct Owner {
    pub(super) labels: Value,
    pub(super) policy: PropagationPolicySpec,
}

/// The labels of no policy.
pub(super) fn without_owner() -> Value {
    json!({ LABEL_POLICY_NAMESPACE: null, LABEL_POLICY_NAME: null, LABEL_CLUSTER_POLICY_NAME: null })
}

/// The policy that labels name, and whether it is a namespaced one.
pub(super) fn claimed_by(labels: &BTreeMap<String, String>) -> Option<(bool, &str)> {
    let namespaced = labels.get(LABEL_POLICY_NAME).map(|name| (true, name.as_str()));
    namespaced.or_else(|| labels.get(LABEL_CLUSTER_POLICY_NAME).map(|name| (false, name.as_str())))
}

/// The policy that the template belongs to.
pub(super) fn owner(context: &Context, template: &DynamicObject, object: &Value) -> Option<Owner> {
    let namespace = template.namespace().unwrap_or_default();
    let claims = claims(context, &namespace, object);
    let winner = context.rules.owner(&claims, claimed_by(template.labels()))?;
    let mut labels = without_owner();
    let policy = if winner.namespaced {
        labels[LABEL_POLICY_NAMESPACE] = namespace.clone().into();
        labels[LABEL_POLICY_NAME] = winner.name.clone().into();
        context.policies.get(&namespace, &winner.name)?.spec.clone()
    } else {
        labels[LABEL_CLUSTER_POLICY_NAME] = winner.name.clone().into();
        context.cluster_policies.get("", &winner.name)?.spec.policy.clone()
    };
    Some(Owner { labels, policy })
}

/// All policies that mean the template.
fn claims(context: &Context, namespace: &str, template: &Value) -> Vec<Claim> {
    let claim = |name: String, policy: &PropagationPolicySpec, namespace: Option<&str>| {
        Some(Claim {
            closeness: context.rules.selects(&policy.resource_selectors, namespace, template)?,
            namespaced: namespace.is_some(),
            priority: policy.priority.unwrap_or_default(),
            preempts: policy.preemption == "Always",
            name,
        })
    };
    let (policies, everywhere) = (context.policies.list(), context.cluster_policies.list());
    let here = policies
        .iter()
        .filter(|policy| policy.metadata.deletion_timestamp.is_none())
        .filter(|policy| !namespace.is_empty() && policy.namespace().as_deref() == Some(namespace))
        .filter_map(|policy| claim(policy.name_any(), &policy.spec, Some(namespace)));
    let everywhere = everywhere
        .iter()
        .filter(|policy| policy.metadata.deletion_timestamp.is_none())
        .filter_map(|policy| claim(policy.name_any(), &policy.spec.policy, None));
    here.chain(everywhere).collect()
}
