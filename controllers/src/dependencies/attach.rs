//! Creates and updates the bindings of dependencies, for the bindings that require them.

use capsize_sorted::CollectSorted;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::run::{COMPONENT, recorded_dependencies};
use crate::api::{
    BindingSnapshot, FINALIZER_BINDING, RawObject, ResourceBinding, ResourceBindingSpec, ResourceSelector,
    binding_name, depended_by_label,
};
use crate::machinery::{Binding, Context, Error, InvolvedObject, create as create_object, patch};
use crate::rules::{InheritedFields, ReportedAction};

/// Makes the binding of `object` follow the binding `by`. Returns whether anything was written.
pub(super) async fn attach(
    context: &Context,
    by: &ResourceBinding,
    dependency: &ResourceSelector,
    object: &RawObject,
) -> Result<bool, Error> {
    let namespace = by.namespace().unwrap_or_default();
    let snapshot = context.rules.snapshot(&namespace, &by.name_any(), &by.spec);
    let name = binding_name(&dependency.kind, &object.name_any());
    let Some(present) = context.bindings.get(&namespace, &name) else {
        // A binding that has not been scheduled yet has no targets to follow.
        let anywhere = !snapshot.clusters.is_empty() && object.metadata.deletion_timestamp.is_none();
        if anywhere {
            create(context, &name, dependency, object, by, snapshot).await?;
        }
        return Ok(anywhere);
    };
    if Some(&present.spec.resource.uid) != object.metadata.uid.as_ref()
        || present.metadata.deletion_timestamp.is_some()
    {
        // The object was deleted and made again: the old binding has to be deleted first (#6034).
        return Err(Error::NotYet("the binding belongs to a template that is gone".into()));
    }
    let (label, value) = depended_by_label(&namespace, &by.name_any());
    let required_by = context.rules.require(&present.spec.required_by, snapshot);
    let inherited = inherited(context, &present, &required_by);
    if present.spec.required_by == required_by
        && present.labels().get(&label) == Some(&value)
        && inherited.is_none_or(|inherited| has(&present, inherited))
    {
        return Ok(false);
    }
    let mut change =
        json!({ "metadata": { "labels": { label: value } }, "spec": { "requiredBy": required_by } });
    extend(&mut change["spec"], inherited);
    patch(&present.own_api(context), &*present, change).await?;
    Ok(true)
}

/// Returns the fields that the binding of a dependency inherits; `None` if it keeps its own.
/// A binding with a placement has its fields from its own policy.
fn inherited(
    context: &Context,
    binding: &ResourceBinding,
    required_by: &[BindingSnapshot],
) -> Option<InheritedFields> {
    if binding.spec.placement.is_some() {
        return None;
    }
    let requirers: Vec<_> =
        required_by.iter().filter_map(|by| context.bindings.get(&by.namespace, &by.name)).collect();
    let specs: Vec<_> = requirers.iter().map(|requirer| &requirer.spec).collect();
    let inherited = context.rules.inherited(&specs);
    let conflicts = context.rules.inheritance_conflicts(&specs);
    if !conflicts.is_empty() && inherited.is_some_and(|inherited| !has(binding, inherited)) {
        let action = ReportedAction::DependencyPoliciesConflict(&conflicts);
        context.publish(COMPONENT, &action, || [InvolvedObject::object(binding)]);
    }
    inherited
}

/// Whether the binding has the inherited fields.
/// The definition sets `conflictResolution` where it is missing.
fn has(binding: &ResourceBinding, inherited: InheritedFields) -> bool {
    let ResourceBindingSpec { conflict_resolution, preserve_resources_on_deletion, .. } = &binding.spec;
    conflict_resolution.unwrap_or_default() == inherited.conflict_resolution.unwrap_or_default()
        && *preserve_resources_on_deletion == inherited.preserve_resources_on_deletion
}

/// Adds the inherited fields to the spec of a binding.
fn extend(spec: &mut Value, inherited: Option<InheritedFields>) {
    let Value::Object(fields) = json!(inherited) else { return };
    spec.as_object_mut().into_iter().for_each(|spec| spec.extend(fields.clone()));
}

async fn create(
    context: &Context,
    name: &str,
    dependency: &ResourceSelector,
    object: &RawObject,
    by: &ResourceBinding,
    snapshot: BindingSnapshot,
) -> Result<(), Error> {
    let ResourceSelector { api_version, kind, namespace, .. } = dependency;
    let (label, value) = depended_by_label(&snapshot.namespace, &snapshot.name);
    let uid = object.uid().unwrap_or_default();
    let mut binding = json!({
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": { label: value },
            "finalizers": [FINALIZER_BINDING],
            "ownerReferences": [{
                "apiVersion": api_version, "kind": kind, "name": object.name_any(), "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "resource": {
                "apiVersion": api_version, "kind": kind, "namespace": namespace, "name": object.name_any(),
                "uid": uid, "resourceVersion": object.resource_version(),
            },
            "requiredBy": [snapshot],
        },
    });
    extend(&mut binding["spec"], context.rules.inherited(&[&by.spec]));
    binding["spec"].as_object_mut().into_iter().for_each(|spec| spec.retain(|_, value| !value.is_null()));
    create_object(&ResourceBinding::api(context, namespace), binding).await?;
    Ok(())
}

/// Removes the bindings that no longer require this binding from it.
/// The binding itself stays as long as its template.
pub(super) async fn release(context: &Context, binding: &ResourceBinding) -> Result<(), Error> {
    let Some(before) = Some(&binding.spec.required_by).filter(|before| !before.is_empty()) else {
        return Ok(());
    };
    let object = object(context, binding)?;
    let (kept, gone): (Vec<_>, Vec<_>) =
        before.iter().cloned().partition(|by| requires(context, by, object.as_ref()));
    if gone.is_empty() {
        return Ok(());
    }
    let labels = gone.iter().map(|by| (depended_by_label(&by.namespace, &by.name).0, Value::Null));
    let labels: serde_json::Map<_, _> = labels.collect_sorted();
    let inherited = inherited(context, binding, &kept);
    let required_by = (!kept.is_empty()).then_some(kept);
    let mut change = json!({ "metadata": { "labels": labels }, "spec": { "requiredBy": required_by } });
    extend(&mut change["spec"], inherited);
    patch(&binding.own_api(context), binding, change).await?;
    Ok(())
}

/// The template of a binding; `None` where the template is not known.
fn object(context: &Context, binding: &ResourceBinding) -> Result<Option<Value>, Error> {
    let template = context.templates.get(&binding.spec.resource).ok().flatten();
    Ok(template.map(|(_, template)| template.tree()).transpose()?)
}

/// Whether the binding of a snapshot still depends on the object.
/// Where the object is not known, any recorded dependency counts.
fn requires(context: &Context, by: &BindingSnapshot, object: Option<&Value>) -> bool {
    let Some(binding) = context.bindings.get(&by.namespace, &by.name) else { return false };
    let is_live = binding.metadata.deletion_timestamp.is_none() && binding.spec.propagate_deps;
    let means = |dependency: &ResourceSelector| {
        object.is_none_or(|object| context.rules.is_dependency(dependency, object))
    };
    is_live && recorded_dependencies(&binding).iter().any(means)
}
