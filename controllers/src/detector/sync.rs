//! Reconciles one template: finds its policy, marks the template, and updates its binding.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::{Api, ResourceExt};
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::owner::{marks_of, overrides_present, owner};
use crate::api::{
    ClusterResourceBinding, ObjectReference, PolicySchedulePriority, PropagationPolicySpec, RawObject,
    ResourceBinding, ResourceBindingSpec, SchedulePriority, binding_name,
};
use crate::machinery::{
    Action, Binding, Context, Error, InvolvedObject, create as create_object, dynamic_api, erase, patch,
};
use crate::rules::{ObjectName, Owner, ReportedAction};

/// The name of the detector, as its events carry it.
const COMPONENT: &str = "resource-detector";

pub(super) async fn reconcile(
    context: Arc<Context>,
    kind: Arc<Kind>,
    template: Arc<RawObject>,
) -> Result<Action, Error> {
    let (namespace, name) = (template.namespace().unwrap_or_default(), template.name_any());
    let skipped = &context.settings.skipped_propagating_namespaces;
    if template.metadata.deletion_timestamp.is_some()
        || context.rules.skips_object(&kind.resource.kind, &namespace, &name, skipped)
    {
        return Ok(Action::await_change());
    }
    if template.namespace().is_some() {
        bind::<ResourceBinding>(&context, &kind, &template).await?;
    } else {
        bind::<ClusterResourceBinding>(&context, &kind, &template).await?;
    }
    Ok(Action::await_change())
}

async fn bind<B: Binding>(context: &Context, kind: &Kind, template: &RawObject) -> Result<(), Error> {
    let object = template.tree()?;
    let (namespace, name) = (template.namespace().unwrap_or_default(), template.name_any());
    let present = B::all(context).get(&namespace, &binding_name(&kind.resource.kind, &name));
    let start = context.clock.elapsed();
    let found = owner(context, kind, template, &object);
    context.metrics.matched(context.clock.elapsed().saturating_sub(start));
    let Some(found) = found else {
        release(context, kind, template, present.as_deref()).await?;
        kind.clear_touched(&namespace, &name);
        return Ok(());
    };
    let start = context.clock.elapsed();
    let outcome = apply(context, kind, (template, &object), found, present).await;
    context.metrics.applied(outcome.is_ok(), context.clock.elapsed().saturating_sub(start));
    outcome
}

/// Applies the policy to the template.
async fn apply<B: Binding>(
    context: &Context,
    kind: &Kind,
    (template, object): (&RawObject, &Value),
    (owner, policy): (Owner, PropagationPolicySpec),
    present: Option<Arc<B>>,
) -> Result<(), Error> {
    let resource = ObjectReference {
        api_version: kind.resource.api_version.clone(),
        kind: kind.resource.kind.clone(),
        namespace: template.namespace().unwrap_or_default(),
        name: template.name_any(),
        uid: template.uid().unwrap_or_default(),
        resource_version: template.resource_version().unwrap_or_default(),
    };
    let (namespace, template_name) = (resource.namespace.clone(), resource.name.clone());
    let name = binding_name(&resource.kind, &resource.name);
    if !overrides_present(context, &owner, &policy) {
        return Err(Error::NotYet("the policy waits for the overrides that it depends on".into()));
    }
    let marks = context.rules.claim_marks(Some(&owner));
    if !context.rules.covers(&marks_of(template), &marks) {
        // The write triggers another reconciliation.
        let marked = mark(context, kind, template, &marks).await;
        let before = context.rules.claimed_by(template.labels(), template.annotations());
        if let Some(before) = before.filter(|before| *before != (owner.namespace.is_some(), &owner.name)) {
            context.metrics.preempted(marked.is_ok());
            publish_preemption(context, kind, template, &owner, before, &marked);
        }
        return marked;
    }
    if !context.rules.activates(&policy.activation_preference, kind.was_touched(&namespace, &template_name)) {
        return Ok(());
    }
    let schedule_priority = schedule_priority(context, policy.schedule_priority.as_ref()).await?;
    let labels = template.metadata.labels.as_ref();
    let workload_affinity_groups = context.rules.affinity_groups(&policy.placement, labels);
    let wanted = ResourceBindingSpec {
        replicas: context.rules.template_replicas(&resource.kind, object),
        replica_requirements: context.rules.replica_requirements(&resource.kind, object),
        placement: Some(policy.placement),
        scheduler_name: policy.scheduler_name,
        propagate_deps: policy.propagate_deps,
        failover: policy.failover,
        conflict_resolution: policy.conflict_resolution,
        suspension: context.rules.suspension_of_binding(
            policy.suspension.as_ref(),
            present.as_ref().and_then(|binding| binding.spec().suspension.as_ref()),
        ),
        preserve_resources_on_deletion: policy.preserve_resources_on_deletion,
        workload_affinity_groups,
        schedule_priority,
        resource,
        ..ResourceBindingSpec::default()
    };
    let written = match present {
        None => create::<B>(context, &namespace, &name, wanted, marks).await.map(|()| true),
        Some(binding) => update(context, &*binding, wanted, &marks).await,
    };
    publish(context, kind, template, &owner, &written);
    written?;
    kind.clear_touched(&namespace, &template_name);
    Ok(())
}

/// The priority that a policy gives to its workloads.
async fn schedule_priority(
    context: &Context,
    wanted: Option<&PolicySchedulePriority>,
) -> Result<Option<SchedulePriority>, Error> {
    let Some(class) = wanted else { return Ok(None) };
    let classes = Api::<PriorityClass>::all(context.client.clone());
    let classes: Vec<_> = classes.get_opt(&class.priority_class_name).await?.into_iter().collect();
    context.rules.schedule_priority(wanted, &classes).map_err(Error::NotYet)
}

/// Publishes that a policy was applied to a template, if anything was written, or that it could not be.
fn publish(
    context: &Context,
    kind: &Kind,
    template: &RawObject,
    owner: &Owner,
    written: &Result<bool, Error>,
) {
    let failure = match written {
        Ok(false) => return,
        Ok(true) => None,
        Err(error) => Some(error.to_string()),
    };
    let policy = named(owner.namespace.as_deref(), &owner.name);
    let action = match &failure {
        None => ReportedAction::PolicyApplied(policy),
        Some(error) => ReportedAction::PolicyNotApplied(policy, error),
    };
    context.publish(COMPONENT, &action, || [InvolvedObject::template(&kind.resource, template)]);
}

/// Publishes that a policy took a template from another, or could not.
fn publish_preemption(
    context: &Context,
    kind: &Kind,
    template: &RawObject,
    owner: &Owner,
    (namespaced, before): (bool, &str),
    marked: &Result<(), Error>,
) {
    let failure = marked.as_ref().err().map(ToString::to_string);
    let namespace = template.namespace().filter(|_| namespaced);
    let (by, of) = (named(owner.namespace.as_deref(), &owner.name), named(namespace.as_deref(), before));
    let action = match &failure {
        None => ReportedAction::Preempted(by, of),
        Some(error) => ReportedAction::NotPreempted(by, of, error),
    };
    context.publish(COMPONENT, &action, || [InvolvedObject::template(&kind.resource, template)]);
}

/// A policy, as messages name it.
fn named<'a>(namespace: Option<&'a str>, name: &'a str) -> ObjectName<'a> {
    ObjectName { kind: "", namespace: namespace.unwrap_or_default(), name }
}

/// Removes the marks, because the policy is gone or no longer selects the template.
/// The placement stays.
async fn release<B: Binding>(
    context: &Context,
    kind: &Kind,
    template: &RawObject,
    binding: Option<&B>,
) -> Result<(), Error> {
    let marks = context.rules.claim_marks(None);
    let has = |of: &BTreeMap<String, String>, also: &BTreeMap<String, String>| {
        context.rules.claimed_by(of, also).is_some()
    };
    if let Some(binding) = binding.filter(|binding| has(binding.labels(), binding.annotations())) {
        patch(&binding.own_api(context), binding, json!({ "metadata": marks })).await?;
    }
    if has(template.labels(), template.annotations()) {
        mark(context, kind, template, &marks).await?;
    }
    Ok(())
}

/// Marks the template as belonging to a policy, or removes the marks.
async fn mark(context: &Context, kind: &Kind, template: &RawObject, marks: &Value) -> Result<(), Error> {
    let namespace = template.namespace().unwrap_or_default();
    let api = dynamic_api(context.client.clone(), &namespace, &kind.resource);
    patch(&api, template, json!({ "metadata": marks })).await?;
    Ok(())
}

async fn create<B: Binding>(
    context: &Context,
    namespace: &str,
    name: &str,
    spec: ResourceBindingSpec,
    mut marks: Value,
) -> Result<(), Error> {
    for field in marks.as_object_mut().into_iter().flat_map(Map::values_mut) {
        field.as_object_mut().into_iter().for_each(|field| field.retain(|_, value| !value.is_null()));
    }
    let binding = json!({
        "metadata": {
            "name": name,
            "namespace": (!namespace.is_empty()).then_some(namespace),
            "labels": marks.get("labels"),
            "annotations": marks.get("annotations"),
            "finalizers": context.rules.has_finalizer(&spec).then_some([B::FINALIZER]),
            "ownerReferences": context.rules.owners_of_binding(&spec.resource),
        },
        "spec": spec,
    });
    create_object(&B::api(context, namespace), binding).await?;
    Ok(())
}

/// Updates the binding from template and policy, but not its targets and eviction tasks.
/// Returns whether anything was written.
async fn update<B: Binding>(
    context: &Context,
    binding: &B,
    wanted: ResourceBindingSpec,
    marks: &Value,
) -> Result<bool, Error> {
    let present = binding.spec();
    if present.resource.uid != wanted.resource.uid || binding.meta().deletion_timestamp.is_some() {
        // The template was deleted and made again: the old binding has to be deleted first.
        return Err(Error::NotYet("the binding belongs to a template that is gone".into()));
    }
    let (before, mut after) = (own_fields(present)?, own_fields(&wanted)?);
    if before == after && context.rules.covers(&marks_of(binding), marks) {
        return Ok(false);
    }
    erase(&before, &mut after);
    after.insert("resource".into(), serde_json::to_value(&wanted.resource)?);
    let change = json!({ "metadata": marks, "spec": after });
    patch(&binding.own_api(context), binding, change).await?;
    Ok(true)
}

/// The fields of a binding that the detector writes, besides the template.
const OWN_FIELDS: [&str; 11] = [
    "replicas",
    "replicaRequirements",
    "placement",
    "schedulerName",
    "propagateDeps",
    "failover",
    "conflictResolution",
    "suspension",
    "preserveResourcesOnDeletion",
    "workloadAffinityGroups",
    "schedulePriority",
];

/// Whether two versions of a binding are equal in their [`OWN_FIELDS`] and labels.
pub(super) fn has_same_content<B: Binding>(one: &B, other: &B) -> bool {
    fn own(spec: &ResourceBindingSpec) -> impl PartialEq + '_ {
        (
            (spec.replicas, &spec.replica_requirements, &spec.placement, &spec.scheduler_name),
            (spec.propagate_deps, &spec.failover, &spec.conflict_resolution, &spec.suspension),
            (spec.preserve_resources_on_deletion, &spec.workload_affinity_groups, &spec.schedule_priority),
        )
    }
    own(one.spec()) == own(other.spec()) && one.labels() == other.labels()
}

fn own_fields(spec: &ResourceBindingSpec) -> Result<Map<String, Value>, Error> {
    let Value::Object(mut fields) = serde_json::to_value(spec)? else { return Ok(Map::new()) };
    fields.retain(|field, _| OWN_FIELDS.contains(&field.as_str()));
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn a_binding_differs_by_any_field_of_the_detector_and_by_no_other() {
        let binding = |metadata: Value, own: Value| -> ResourceBinding {
            let mut spec =
                json!({"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}});
            spec.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            from_json(json!({"metadata": metadata, "spec": spec}))
        };
        let plain = binding(json!({}), json!({}));
        let differs = |metadata: Value, own: Value| !has_same_content(&plain, &binding(metadata, own));
        let samples = json!({
            "replicas": 2,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "placement": {"clusterAffinity": {"exclude": ["m1"]}},
            "schedulerName": "other",
            "propagateDeps": true,
            "failover": {"cluster": {"purgeMode": "Directly"}},
            "conflictResolution": "Overwrite",
            "suspension": {"dispatching": true},
            "preserveResourcesOnDeletion": true,
            "workloadAffinityGroups": {},
            "schedulePriority": {"priority": 3},
        });
        for field in OWN_FIELDS {
            assert!(differs(json!({}), json!({field: samples[field]})), "{field}");
        }
        assert!(differs(json!({"labels": {"mark": "w"}}), json!({})));
        assert!(!differs(json!({"annotations": {"by": "others"}}), json!({"clusters": [{"name": "m1"}]})));
    }
}
