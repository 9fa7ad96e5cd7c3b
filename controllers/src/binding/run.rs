//! What wakes the binding controller, and the order in which it does its work.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::status::{report, report_on_template};
use super::works::{delete_orphans, ensure, works_of};
use crate::api::{
    ANNOTATION_BINDING_NAME, ANNOTATION_BINDING_NAMESPACE, ClusterOverridePolicy, FINALIZER_BINDING,
    OverridePolicy, OverridePolicySpec, ResourceBinding, ResourceSelector, Work,
};
use crate::machinery::{Context, Error, Queue, patch, refs, run as run_queue};

/// Reconciles every binding: when it changes, when a Work of it does, and when its template does.
pub(crate) async fn run(context: Arc<Context>) {
    let by_work =
        context.works.changes().filter_map(|change| std::future::ready(binding_of(change.object())));
    let by_template = context.templates.changed_bindings();
    let by_override = {
        let context = Arc::clone(&context);
        let all = context.cluster_override_policies.changes().map(|change| {
            let spec = |policy: &Arc<ClusterOverridePolicy>| policy.spec.policy.clone();
            (None, change.before.iter().chain(&change.after).map(spec).collect::<Vec<_>>())
        });
        let one = context.override_policies.changes().map(|change| {
            let spec = |policy: &Arc<OverridePolicy>| policy.spec.clone();
            let specs = change.before.iter().chain(&change.after).map(spec).collect::<Vec<_>>();
            (change.object().namespace(), specs)
        });
        stream::select(all.boxed(), one.boxed()).flat_map(move |(namespace, specs)| {
            let bindings = context.bindings.list().into_iter();
            let about = bindings.filter(move |binding| may_be_about(binding, namespace.as_deref(), &specs));
            stream::iter(about.map(|binding| ObjectRef::from_obj(&*binding)))
        })
    };
    let triggers = stream::select_all([
        refs(context.bindings.changes()),
        by_work.boxed(),
        by_template.boxed(),
        by_override.boxed(),
    ]);
    let queue = Queue {
        name: "binding",
        store: context.bindings.store(),
        triggers: triggers.boxed(),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

/// Whether override policies of this namespace, or of none, may be about the binding's template.
fn may_be_about(binding: &ResourceBinding, namespace: Option<&str>, specs: &[OverridePolicySpec]) -> bool {
    let resource = &binding.spec.resource;
    let kind = |selector: &ResourceSelector| {
        selector.kind == resource.kind && selector.api_version == resource.api_version
    };
    let about = |spec: &OverridePolicySpec| {
        spec.resource_selectors.is_empty() || spec.resource_selectors.iter().any(kind)
    };
    namespace.is_none_or(|namespace| namespace == resource.namespace) && specs.iter().any(about)
}

fn binding_of(work: &Work) -> Option<ObjectRef<ResourceBinding>> {
    let annotations = work.annotations();
    let name = annotations.get(ANNOTATION_BINDING_NAME)?;
    Some(ObjectRef::new(name).within(annotations.get(ANNOTATION_BINDING_NAMESPACE)?))
}

async fn reconcile(context: Arc<Context>, binding: Arc<ResourceBinding>) -> Result<Action, Error> {
    let works = works_of(&context, &binding);
    if binding.metadata.deletion_timestamp.is_some() {
        remove(&context, &binding, &works).await?;
        return Ok(Action::await_change());
    }
    delete_orphans(&context, &binding, &works).await?;
    // Without the template there is nothing to deliver; the garbage collector will take the binding.
    let Ok(Some((kind, template))) = context.templates.get(&binding.spec.resource) else {
        return Ok(Action::await_change());
    };
    ensure(&context, &binding, &works, &template).await?;
    let reports = report(&context, &binding, &works).await?;
    report_on_template(&context, &kind, &template, &reports).await?;
    Ok(Action::await_change())
}

/// Takes all Works down, and lets the binding go when the last is gone.
async fn remove(context: &Context, binding: &ResourceBinding, works: &[Arc<Work>]) -> Result<(), Error> {
    for work in works {
        super::works::delete(context, work).await?;
    }
    let rest: Vec<_> =
        binding.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER_BINDING).cloned().collect();
    if works.is_empty() && rest.len() < binding.finalizers().len() {
        let api = Api::<ResourceBinding>::namespaced(
            context.client.clone(),
            &binding.namespace().unwrap_or_default(),
        );
        patch(&api, binding, json!({ "metadata": { "finalizers": rest } })).await?;
    }
    Ok(())
}
