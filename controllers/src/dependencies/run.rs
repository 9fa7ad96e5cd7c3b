//! The triggers of the dependencies distributor, and its reconciliation of one binding.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_sorted::CollectSorted;
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use serde_json::{Map, Value, json};

use super::attach::{attach, release};
use crate::api::{ANNOTATION_DEPENDENCIES, RawObject, ResourceBinding, ResourceSelector, binding_name};
use crate::machinery::{
    Action, Binding, Context, Error, InvolvedObject, Queue, erase, patch_guarded, run as run_queue,
};
use crate::rules::{ReportedAction, Write};

/// The name of the controller, as its events carry it.
pub(super) const COMPONENT: &str = "dependencies-distributor";

/// Reconciles every namespaced binding after a change of the binding or of a related object.
/// The related objects are a binding that the binding requires, a binding that requires the binding, its template, and
/// a dependency of its template.
pub(crate) async fn run(context: Arc<Context>) {
    let by_binding = {
        let context = Arc::clone(&context);
        let changes = context.bindings.changes().filter(|change| {
            let mut sides = change.before.iter().chain(&change.after);
            std::future::ready(sides.any(|binding| binding.spec.propagate_deps || is_required(binding)))
        });
        changes.flat_map(move |change| {
            let sides = || change.before.iter().chain(&change.after);
            let mut concerned: BTreeSet<String> =
                sides().flat_map(|binding| required_bindings(&context, binding)).collect_sorted();
            // A binding that requires this one may have compared itself with an earlier version of it.
            let requiring = sides().flat_map(|binding| &binding.spec.required_by);
            concerned.extend(requiring.map(|snapshot| snapshot.name.clone()));
            concerned.insert(change.object().name_any());
            let namespace = change.object().namespace().unwrap_or_default();
            stream::iter(concerned.into_iter().map(move |name| ObjectRef::new(&name).within(&namespace)))
        })
    };
    let by_template = {
        let context = Arc::clone(&context);
        context.clone().templates.changed_bindings().flat_map(move |(namespace, name)| {
            let concerned = dependents(&context, &namespace, &name);
            stream::iter(concerned.into_iter().map(move |name| ObjectRef::new(&name).within(&namespace)))
        })
    };
    let queue = Queue {
        name: "dependencies-distributor",
        objects: context.bindings.clone(),
        triggers: stream::select(by_binding.boxed(), by_template.boxed()).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

fn is_required(binding: &ResourceBinding) -> bool {
    !binding.spec.required_by.is_empty()
}

/// The dependencies of a binding's template, as recorded on the binding.
pub(super) fn recorded_dependencies(binding: &ResourceBinding) -> Vec<ResourceSelector> {
    let text = binding.annotations().get(ANNOTATION_DEPENDENCIES);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The bindings of the dependencies of a binding's template, by name.
fn required_bindings(context: &Context, binding: &ResourceBinding) -> Vec<String> {
    let names = recorded_dependencies(binding).into_iter().flat_map(|dependency| {
        if dependency.name.is_empty() {
            matching_objects(context, &dependency)
                .iter()
                .map(|one| binding_name(&dependency.kind, &one.name_any()))
                .collect()
        } else {
            vec![binding_name(&dependency.kind, &dependency.name)]
        }
    });
    names.collect()
}

/// Returns the names of the bindings that a change of a template concerns.
/// These are the binding of the template, and the bindings whose templates depend on the template or may begin to
/// depend on it.
fn dependents(context: &Context, namespace: &str, name: &str) -> BTreeSet<String> {
    let kind = name.rsplit_once('-').map_or("", |(_, kind)| kind);
    let by_name = context.bindings.by(BY_DEPENDENCY, &format!("{namespace}/{name}"));
    let by_kind = context.bindings.by(BY_DEPENDENCY, &format!("{namespace}/-{kind}"));
    let dependents = by_name.into_iter().chain(by_kind).map(|binding| binding.name_any());
    dependents.chain([name.to_owned()]).collect_sorted()
}

/// The index of bindings by what their templates depend on.
pub(crate) const BY_DEPENDENCY: &str = "dependency";

/// Returns the keys of a binding in the index [`BY_DEPENDENCY`].
/// Each key names the binding of a dependency of the template, with the namespace of that binding. For a dependency by
/// labels, the key contains only the kind instead of the name of a binding.
pub(crate) fn dependencies_of(binding: &ResourceBinding) -> Vec<String> {
    let namespace = binding.namespace().unwrap_or_default();
    let dependencies = if binding.spec.propagate_deps { recorded_dependencies(binding) } else { Vec::new() };
    let key = |it: &ResourceSelector| format!("{namespace}/{}", binding_name(&it.kind, &it.name));
    dependencies.iter().map(key).collect()
}

/// The objects on the control plane that match a dependency; empty where the kind is not known.
pub(super) fn matching_objects(context: &Context, dependency: &ResourceSelector) -> Vec<Arc<RawObject>> {
    let key = (dependency.api_version.clone(), dependency.kind.clone());
    let Some((_, store)) = context.templates.of_kind(&key) else { return Vec::new() };
    if !dependency.name.is_empty() {
        return store.get(&dependency.namespace, &dependency.name).into_iter().collect();
    }
    let is_meant = |object: &Arc<RawObject>| {
        object.tree().is_ok_and(|object| context.rules.is_dependency(dependency, &object))
    };
    store.list().into_iter().filter(is_meant).collect()
}

async fn reconcile(context: Arc<Context>, binding: Arc<ResourceBinding>) -> Result<Action, Error> {
    if binding.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    release(&context, &binding).await?;
    if !binding.spec.propagate_deps {
        return Ok(Action::await_change());
    }
    // While the template is not known, its dependencies are not known either.
    let Ok(Some((kind, template))) = context.templates.get(&binding.spec.resource) else {
        return Ok(Action::await_change());
    };
    let dependencies = context.rules.dependencies(&kind.kind, &template.tree()?);
    if dependencies != recorded_dependencies(&binding) {
        record_dependencies(&context, &binding, &dependencies).await?;
        let action = ReportedAction::DependenciesFound(&dependencies);
        context.publish(COMPONENT, &action, || [InvolvedObject::template(&kind, &template)]);
        // The write triggers another reconciliation.
        return Ok(Action::await_change());
    }
    let attached = attach_all(&context, &binding, &dependencies).await;
    let failure = attached.as_ref().err().map(ToString::to_string);
    let action =
        failure.as_deref().map_or(ReportedAction::DependenciesPlaced, ReportedAction::DependenciesNotPlaced);
    if !matches!(attached, Ok(false)) {
        context.publish(COMPONENT, &action, || [InvolvedObject::object(&*binding)]);
    }
    attached.map(|_| Action::await_change())
}

/// Makes the bindings of all dependencies follow the binding. Returns whether anything was written.
async fn attach_all(
    context: &Context,
    binding: &ResourceBinding,
    dependencies: &[ResourceSelector],
) -> Result<bool, Error> {
    let mut wrote = false;
    for dependency in dependencies {
        context.templates.request_kind((dependency.api_version.clone(), dependency.kind.clone()));
        for object in matching_objects(context, dependency) {
            wrote |= attach(context, binding, dependency, &object).await?;
        }
    }
    Ok(wrote)
}

/// Records the dependencies of the template on the binding.
/// The write contains all annotations as they were read, so it must not overwrite a concurrent change (#7208).
async fn record_dependencies(
    context: &Context,
    binding: &ResourceBinding,
    dependencies: &[ResourceSelector],
) -> Result<(), Error> {
    let all = |binding: &ResourceBinding| -> Result<Map<String, Value>, Error> {
        Ok(serde_json::from_value(json!(binding.annotations()))?)
    };
    let mut annotations = all(binding)?;
    let text = (!dependencies.is_empty()).then(|| serde_json::to_string(dependencies)).transpose()?;
    annotations.insert(ANNOTATION_DEPENDENCIES.into(), json!(text));
    let guarded = context.guards(Write::Dependencies).await;
    let present = context.bindings.get(&binding.namespace().unwrap_or_default(), &binding.name_any());
    let Some(present) = present.filter(|present| recorded_dependencies(present) != dependencies) else {
        return Ok(());
    };
    erase(&all(&present)?, &mut annotations);
    let change = json!({ "metadata": { "annotations": annotations } });
    patch_guarded(&binding.own_api(context), binding, change, guarded).await?;
    Ok(())
}
