//! One template: find its policy, mark it, and keep its binding in line with both.

use std::sync::Arc;

use kube::api::{DynamicObject, PostParams};
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::{
    FINALIZER_BINDING, LABEL_CLUSTER_POLICY_NAME, LABEL_POLICY_NAME, LABEL_POLICY_NAMESPACE, ObjectReference,
    PropagationPolicySpec, ResourceBinding, ResourceBindingSpec, binding_name,
};
use crate::machinery::{Context, Error, patch};
use crate::rules::Claim;

/// What claims a template: the policy's labels, and what it says.
struct Owner {
    labels: Value,
    policy: PropagationPolicySpec,
}

pub(super) async fn reconcile(context: Arc<Context>, template: Arc<DynamicObject>) -> Result<Action, Error> {
    let object = serde_json::to_value(&*template)?;
    let namespace = template.namespace().unwrap_or_default();
    // Cluster-scoped templates need a binding of another kind, which is not served.
    let owner = if namespace.is_empty() { None } else { owner(&context, &namespace, &object) };
    let Some(owner) = owner.filter(|_| template.metadata.deletion_timestamp.is_none()) else {
        return Ok(Action::await_change());
    };
    if mark(&context, &template, &owner).await? {
        // The change of it comes back here.
        return Ok(Action::await_change());
    }
    let (api_version, kind) = match &template.types {
        Some(types) => (types.api_version.clone(), types.kind.clone()),
        None => return Ok(Action::await_change()),
    };
    let wanted = ResourceBindingSpec {
        resource: ObjectReference {
            api_version,
            namespace: namespace.clone(),
            name: template.name_any(),
            uid: template.uid().unwrap_or_default(),
            resource_version: template.resource_version().unwrap_or_default(),
            kind: kind.clone(),
        },
        replicas: context.rules.template_replicas(&kind, &object),
        replica_requirements: context.rules.replica_requirements(&kind, &object),
        placement: Some(owner.policy.placement.clone()),
        scheduler_name: owner.policy.scheduler_name.clone(),
        ..ResourceBindingSpec::default()
    };
    let name = binding_name(&kind, &template.name_any());
    match context.bindings.get(&namespace, &name) {
        None => create(&context, &namespace, &name, wanted, &owner).await?,
        Some(binding) => update(&context, &namespace, &binding, wanted, &owner).await?,
    }
    Ok(Action::await_change())
}

/// The policy that the template belongs to: one of its namespace before one for all.
fn owner(context: &Context, namespace: &str, template: &Value) -> Option<Owner> {
    let rules = &context.rules;
    let claim = |name: String, policy: &PropagationPolicySpec, namespace: Option<&str>| {
        let closeness = rules.selects(&policy.resource_selectors, namespace, template)?;
        Some(Claim { name, priority: policy.priority.unwrap_or_default(), closeness })
    };
    let policies = context.policies.list();
    let policies = policies.iter().filter(|policy| policy.metadata.deletion_timestamp.is_none());
    let claims: Vec<_> = policies
        .filter_map(|policy| claim(policy.name_any(), &policy.spec, policy.namespace().as_deref()))
        .collect();
    if let Some(winner) = rules.winner(&claims) {
        let policy = context.policies.get(namespace, &winner.name)?.spec.clone();
        let labels = json!({ LABEL_POLICY_NAMESPACE: namespace, LABEL_POLICY_NAME: winner.name });
        return Some(Owner { labels, policy });
    }
    let policies = context.cluster_policies.list();
    let policies = policies.iter().filter(|policy| policy.metadata.deletion_timestamp.is_none());
    let claims: Vec<_> =
        policies.filter_map(|policy| claim(policy.name_any(), &policy.spec.policy, None)).collect();
    let winner = rules.winner(&claims)?;
    let policy = context.cluster_policies.get("", &winner.name)?.spec.policy.clone();
    Some(Owner { labels: json!({ LABEL_CLUSTER_POLICY_NAME: winner.name }), policy })
}

/// Labels the template with its policy. Returns whether it had to.
async fn mark(context: &Context, template: &DynamicObject, owner: &Owner) -> Result<bool, Error> {
    let present = serde_json::to_value(template.labels())?;
    if context.rules.covers(&present, &owner.labels) {
        return Ok(false);
    }
    let resource = ObjectReference {
        api_version: template.types.as_ref().map(|types| types.api_version.clone()).unwrap_or_default(),
        kind: template.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default(),
        ..ObjectReference::default()
    };
    let Some(kind) = context.templates.kind(&resource) else { return Ok(true) };
    let namespace = template.namespace().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(context.client.clone(), &namespace, &kind);
    patch(&api, template, json!({ "metadata": { "labels": owner.labels } })).await?;
    Ok(true)
}

async fn create(
    context: &Context,
    namespace: &str,
    name: &str,
    spec: ResourceBindingSpec,
    owner: &Owner,
) -> Result<(), Error> {
    let resource = &spec.resource;
    let binding: ResourceBinding = serde_json::from_value(json!({
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": owner.labels,
            "finalizers": [FINALIZER_BINDING],
            "ownerReferences": [{
                "apiVersion": resource.api_version, "kind": resource.kind, "name": resource.name,
                "uid": resource.uid, "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    }))?;
    let api = Api::<ResourceBinding>::namespaced(context.client.clone(), namespace);
    api.create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Brings the binding in line with template and policy. Where it is placed, and what it is leaving, is not the
/// detector's business.
async fn update(
    context: &Context,
    namespace: &str,
    binding: &ResourceBinding,
    wanted: ResourceBindingSpec,
    owner: &Owner,
) -> Result<(), Error> {
    let present = &binding.spec;
    if present.resource.uid != wanted.resource.uid || binding.metadata.deletion_timestamp.is_some() {
        // The template was deleted and made again: the binding of the first has to go before.
        return Err(Error::NotYet("the binding belongs to a template that is gone".into()));
    }
    let labels = serde_json::to_value(binding.labels())?;
    if present.replicas == wanted.replicas
        && present.replica_requirements == wanted.replica_requirements
        && present.placement == wanted.placement
        && present.scheduler_name == wanted.scheduler_name
        && context.rules.covers(&labels, &owner.labels)
    {
        return Ok(());
    }
    let mut change = json!({
        "metadata": { "labels": owner.labels },
        "spec": {
            "resource": wanted.resource,
            "replicas": wanted.replicas,
            "schedulerName": wanted.scheduler_name,
        },
    });
    if present.replica_requirements != wanted.replica_requirements {
        change["spec"]["replicaRequirements"] =
            replacement(&present.replica_requirements, &wanted.replica_requirements)?;
    }
    if present.placement != wanted.placement {
        change["spec"]["placement"] = replacement(&present.placement, &wanted.placement)?;
    }
    let api = Api::<ResourceBinding>::namespaced(context.client.clone(), namespace);
    patch(&api, binding, change).await?;
    Ok(())
}

/// A merge patch adds to an object: what the new one no longer has must be said to be gone.
fn replacement<T: Serialize>(present: &T, wanted: &T) -> Result<Value, Error> {
    let before = serde_json::to_value(present)?;
    let mut after = serde_json::to_value(wanted)?;
    erase(&before, &mut after);
    Ok(after)
}

fn erase(before: &Value, after: &mut Value) {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object_mut()) else { return };
    for (key, value) in before {
        match after.get_mut(key) {
            Some(after) => erase(value, after),
            None => drop(after.insert(key.clone(), Value::Null)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_placement_no_longer_has_is_erased_at_any_depth() {
        let before =
            json!({"clusterAffinity": {"clusterNames": ["m1"], "exclude": ["m2"]}, "spreadConstraints": [1]});
        let mut after = json!({"clusterAffinity": {"clusterNames": ["m3"]}});
        erase(&before, &mut after);
        let expected = json!({
            "clusterAffinity": {"clusterNames": ["m3"], "exclude": null}, "spreadConstraints": null,
        });
        assert_eq!(after, expected);
    }
}
