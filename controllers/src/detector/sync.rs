//! One template: find its policy, mark it, and keep its binding in line with both.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{DynamicObject, PostParams};
use kube::runtime::controller::Action;
use serde::Serialize;
use serde_json::{Value, json};

use super::owner::{Owner, claimed_by, owner, without_owner};
use crate::api::{
    ClusterResourceBinding, ObjectReference, ResourceBinding, ResourceBindingSpec, binding_name,
};
use crate::machinery::{Binding, Context, Error, dynamic_api, patch};

pub(super) async fn reconcile(context: Arc<Context>, template: Arc<DynamicObject>) -> Result<Action, Error> {
    if template.namespace().is_some() {
        bind::<ResourceBinding>(&context, &template).await?;
    } else {
        bind::<ClusterResourceBinding>(&context, &template).await?;
    }
    Ok(Action::await_change())
}

async fn bind<B: Binding>(context: &Context, template: &DynamicObject) -> Result<(), Error> {
    let Some(types) = template.types.clone().filter(|_| template.metadata.deletion_timestamp.is_none())
    else {
        return Ok(());
    };
    let object = serde_json::to_value(template)?;
    let namespace = template.namespace().unwrap_or_default();
    let resource = ObjectReference {
        api_version: types.api_version,
        kind: types.kind,
        namespace: namespace.clone(),
        name: template.name_any(),
        uid: template.uid().unwrap_or_default(),
        resource_version: template.resource_version().unwrap_or_default(),
    };
    let name = binding_name(&resource.kind, &resource.name);
    let present = B::all(context).get(&namespace, &name);
    let Some(owner) = owner(context, template, &object) else {
        // The policy is gone, or means it no more: the marks go, and what is placed stays.
        if let Some(binding) = present.filter(|binding| claimed_by(binding.labels()).is_some()) {
            let change = json!({ "metadata": { "labels": without_owner() } });
            patch(&binding.own_api(context), &*binding, change).await?;
        }
        if claimed_by(template.labels()).is_some() {
            mark(context, template, &resource, &without_owner()).await?;
        }
        return Ok(());
    };
    if !context.rules.covers(&serde_json::to_value(template.labels())?, &owner.labels) {
        // The change of it comes back here.
        return mark(context, template, &resource, &owner.labels).await;
    }
    let wanted = ResourceBindingSpec {
        replicas: context.rules.template_replicas(&resource.kind, &object),
        replica_requirements: context.rules.replica_requirements(&resource.kind, &object),
        placement: Some(owner.policy.placement.clone()),
        scheduler_name: owner.policy.scheduler_name.clone(),
        resource,
        ..ResourceBindingSpec::default()
    };
    match present {
        None => create::<B>(context, &namespace, &name, wanted, &owner).await,
        Some(binding) => update(context, &*binding, wanted, &owner).await,
    }
}

/// Labels the template with its policy, or takes the labels away.
async fn mark(
    context: &Context,
    template: &DynamicObject,
    resource: &ObjectReference,
    labels: &Value,
) -> Result<(), Error> {
    let Some(kind) = context.templates.kind(resource) else { return Ok(()) };
    let api = dynamic_api(context.client.clone(), &resource.namespace, &kind);
    patch(&api, template, json!({ "metadata": { "labels": labels } })).await?;
    Ok(())
}

async fn create<B: Binding>(
    context: &Context,
    namespace: &str,
    name: &str,
    spec: ResourceBindingSpec,
    owner: &Owner,
) -> Result<(), Error> {
    let resource = &spec.resource;
    let mut labels = owner.labels.clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.retain(|_, value| !value.is_null());
    }
    let binding: B = serde_json::from_value(json!({
        "apiVersion": B::api_version(&()),
        "kind": B::kind(&()),
        "metadata": {
            "name": name,
            "namespace": (!namespace.is_empty()).then_some(namespace),
            "labels": labels,
            "finalizers": [B::FINALIZER],
            "ownerReferences": [{
                "apiVersion": resource.api_version, "kind": resource.kind, "name": resource.name,
                "uid": resource.uid, "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    }))?;
    B::api(context, namespace).create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Brings the binding in line with template and policy. Where it is placed, and what it is leaving, is not the
/// detector's business.
async fn update<B: Binding>(
    context: &Context,
    binding: &B,
    wanted: ResourceBindingSpec,
    owner: &Owner,
) -> Result<(), Error> {
    let present = binding.spec();
    if present.resource.uid != wanted.resource.uid || binding.meta().deletion_timestamp.is_some() {
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
    patch(&binding.own_api(context), binding, change).await?;
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
