//! What wakes the binding controller, and the order in which it does its work.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use serde_json::json;

use super::settled::Settled;
use super::status::{report, report_on_template};
use super::works::{delete_orphans, ensure, works_of};
use crate::api::{
    ANNOTATION_BINDING_NAME, ANNOTATION_BINDING_NAMESPACE, ANNOTATION_CLUSTER_BINDING_NAME,
    ClusterOverridePolicy, OverridePolicy, OverridePolicySpec, ResourceBindingSpec, ResourceSelector, Work,
};
use crate::machinery::{Action, Binding, Context, Error, Notes, Queue, patch, refs, run as run_queue};

/// Reconciles every binding: when it changes, when a Work of it does, and when its template does.
pub(crate) async fn run<B: Binding>(context: Arc<Context>) {
    let by_work =
        context.works.changes().filter_map(|change| std::future::ready(binding_of::<B>(change.object())));
    let by_template = context.templates.changed_bindings().filter_map(|(namespace, name)| {
        let reference = (namespace.is_empty() != B::NAMESPACED).then(|| reference::<B>(&namespace, &name));
        std::future::ready(reference)
    });
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
            let bindings = B::all(&context).list().into_iter();
            let about =
                bindings.filter(move |binding| may_be_about(binding.spec(), namespace.as_deref(), &specs));
            stream::iter(about.map(|binding| ObjectRef::from_obj(&*binding)))
        })
    };
    let triggers = stream::select_all([
        refs(B::all(&context).changes()),
        by_work.boxed(),
        by_template.boxed(),
        by_override.boxed(),
    ]);
    let queue = Queue {
        name: "binding",
        objects: B::all(&context).clone(),
        triggers: triggers.boxed(),
        unbounded: false,
    };
    let settled = Arc::new(Notes::default());
    run_queue(context, queue, move |context, binding| reconcile::<B>(context, binding, Arc::clone(&settled)))
        .await;
}

/// Whether override policies of this namespace, or of none, may be about the binding's template.
fn may_be_about(
    binding: &ResourceBindingSpec,
    namespace: Option<&str>,
    specs: &[OverridePolicySpec],
) -> bool {
    let resource = &binding.resource;
    let kind = |selector: &ResourceSelector| {
        selector.kind == resource.kind && selector.api_version == resource.api_version
    };
    let about = |spec: &OverridePolicySpec| {
        spec.resource_selectors.is_empty() || spec.resource_selectors.iter().any(kind)
    };
    namespace.is_none_or(|namespace| namespace == resource.namespace) && specs.iter().any(about)
}

/// The namespace is empty for cluster-scoped ones.
fn reference<B: Binding>(namespace: &str, name: &str) -> ObjectRef<B> {
    let reference = ObjectRef::new(name);
    if namespace.is_empty() { reference } else { reference.within(namespace) }
}

fn binding_of<B: Binding>(work: &Work) -> Option<ObjectRef<B>> {
    let annotations = work.annotations();
    if B::NAMESPACED {
        let name = annotations.get(ANNOTATION_BINDING_NAME)?;
        Some(reference(annotations.get(ANNOTATION_BINDING_NAMESPACE)?, name))
    } else {
        Some(reference("", annotations.get(ANNOTATION_CLUSTER_BINDING_NAME)?))
    }
}

async fn reconcile<B: Binding>(
    context: Arc<Context>,
    binding: Arc<B>,
    settled: Arc<Notes<Settled>>,
) -> Result<Action, Error> {
    let works = works_of(&context, &*binding);
    if binding.meta().deletion_timestamp.is_some() {
        settled.forget(&*binding);
        remove(&context, &*binding, &works).await?;
        return Ok(Action::await_change());
    }
    delete_orphans(&context, &*binding, &works).await?;
    // Without the template there is nothing to deliver; the garbage collector will take the binding.
    let Ok(Some((kind, template))) = context.templates.get(&binding.spec().resource) else {
        return Ok(Action::await_change());
    };
    let now = Settled::of(&context, &*binding, &template, &works);
    let is_settled = now.as_ref().is_some_and(|now| settled.says(&*binding, now));
    // Whatever fails from here on begins anew.
    settled.forget(&*binding);
    let start = context.clock.elapsed();
    let ensured = if is_settled {
        Ok(true)
    } else {
        ensure(&context, &*binding, &works, &template.tree()?).await
    };
    context.metrics.works_synced(ensured.is_ok(), context.clock.elapsed().saturating_sub(start));
    let ensured = ensured?;
    let (reports, news) = report(&context, &*binding, &works).await?;
    let is_told = is_settled && !news;
    let is_told = is_told || report_on_template(&context, &kind, &template.tree()?, &reports).await?;
    if let Some(now) = now.filter(|_| ensured && !news && is_told) {
        settled.set(&*binding, now);
    }
    Ok(Action::await_change())
}

/// Takes all Works down, and lets the binding go when the last is gone.
async fn remove<B: Binding>(context: &Context, binding: &B, works: &[Arc<Work>]) -> Result<(), Error> {
    for work in works {
        super::works::delete(context, work).await?;
    }
    let rest: Vec<_> =
        binding.finalizers().iter().filter(|finalizer| *finalizer != B::FINALIZER).cloned().collect();
    if works.is_empty() && rest.len() < binding.finalizers().len() {
        patch(&binding.own_api(context), binding, json!({ "metadata": { "finalizers": rest } })).await?;
    }
    Ok(())
}
