//! Finds the policy that a template belongs to.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::candidates::PolicyKey;
use super::kind::Kind;
use crate::api::{LABEL_CLUSTER_POLICY_ID, LABEL_POLICY_ID, PropagationPolicySpec, RawObject};
use crate::machinery::Context;
use crate::rules::{Claim, Owner};

/// The policy that the template belongs to, with its spec.
pub(super) fn owner(
    context: &Context,
    kind: &Kind,
    template: &RawObject,
    object: &Value,
) -> Option<(Owner, PropagationPolicySpec)> {
    let namespace = template.namespace().unwrap_or_default();
    let candidates = kind.candidates.of(&namespace, &template.name_any());
    let claims: Vec<Claim> =
        candidates.iter().filter_map(|candidate| claim(context, candidate, object)).collect();
    let claimed = context.rules.claimed_by(template.labels(), template.annotations());
    let winner = context.rules.owner(&claims, claimed)?;
    let key = (winner.namespaced.then_some(namespace), winner.name.clone());
    let (policy, id) = policy(context, &key)?;
    Some((Owner { namespace: key.0, name: key.1, id }, policy))
}

/// The claim of a policy, if the policy selects the template and is not being deleted.
fn claim(context: &Context, (namespace, name): &PolicyKey, template: &Value) -> Option<Claim> {
    let (policy, _) = policy(context, &(namespace.clone(), name.clone()))?;
    Some(Claim {
        closeness: context.rules.selects(&policy.resource_selectors, namespace.as_deref(), template)?,
        namespaced: namespace.is_some(),
        priority: policy.priority.unwrap_or_default(),
        preempts: policy.preemption == "Always",
        name: name.clone(),
    })
}

/// The spec and the permanent id of a policy that is not being deleted.
/// Webhooks label a policy with its id; without the label, the uid serves as the id.
fn policy(context: &Context, (namespace, name): &PolicyKey) -> Option<(PropagationPolicySpec, String)> {
    let (metadata, spec, label) = match namespace {
        Some(namespace) => {
            let policy = context.policies.get(namespace, name)?;
            (policy.metadata.clone(), policy.spec.clone(), LABEL_POLICY_ID)
        }
        None => {
            let policy = context.cluster_policies.get("", name)?;
            (policy.metadata.clone(), policy.spec.policy.clone(), LABEL_CLUSTER_POLICY_ID)
        }
    };
    let labelled = metadata.labels.and_then(|mut labels| labels.remove(label));
    let id = labelled.or(metadata.uid).unwrap_or_default();
    metadata.deletion_timestamp.is_none().then_some((spec, id))
}

/// Whether the override policies that a policy depends on exist.
pub(super) fn overrides_present(context: &Context, owner: &Owner, policy: &PropagationPolicySpec) -> bool {
    policy.dependent_overrides.iter().all(|name| match &owner.namespace {
        Some(namespace) => context.override_policies.get(namespace, name).is_some(),
        None => context.cluster_override_policies.get("", name).is_some(),
    })
}

/// The labels and annotations of an object, for comparison with the marks of an owner.
pub(super) fn marks_of(object: &impl ResourceExt) -> Value {
    json!({ "labels": object.labels(), "annotations": object.annotations() })
}
