//! The triggers of the binding controller, and its reconciliation of one binding.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use serde_json::{Value, json};

use super::status::{Report, report_on_template};
use super::work_inputs::WorkInputs;
use super::works::{delete_orphans, ensure, works_of};
use crate::api::{
    ANNOTATION_BINDING_NAME, ANNOTATION_BINDING_NAMESPACE, ANNOTATION_CLUSTER_BINDING_NAME, AggregatedStatus,
    ClusterOverridePolicy, OverridePolicy, OverridePolicySpec, ResourceBindingSpec, ResourceSelector, Work,
};
use crate::machinery::{
    Action, Binding, Context, Error, InvolvedObject, PerObject, Queue, patch, patch_status, refs,
    run as run_queue,
};
use crate::rules::ReportedAction;

/// Reconciles every binding after a change of an object that the binding depends on.
/// The triggers are changes of the binding, of one of its Works, of its template, and of an override policy.
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
                bindings.filter(move |binding| may_apply_to(binding.spec(), namespace.as_deref(), &specs));
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
    let synced = Arc::new(SyncedState::default());
    run_queue(context, queue, move |context, binding| reconcile::<B>(context, binding, Arc::clone(&synced)))
        .await;
}

/// Whether override policies with these specs may apply to the binding's template.
/// `namespace` is that of the policies, `None` for cluster-scoped ones.
fn may_apply_to(
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

/// A reference to a binding. The namespace is empty for a cluster-scoped binding.
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

/// The state in which each binding was last up to date.
/// With this state, a status change of a Work does not repeat the work.
#[derive(Default)]
struct SyncedState {
    works: PerObject<WorkInputs>,
    /// The version of the template, and the statuses that were aggregated into it.
    aggregated: PerObject<(Option<String>, Vec<AggregatedStatus>)>,
}

async fn reconcile<B: Binding>(
    context: Arc<Context>,
    binding: Arc<B>,
    synced: Arc<SyncedState>,
) -> Result<Action, Error> {
    let works = works_of(&context, &*binding);
    if binding.meta().deletion_timestamp.is_some() {
        synced.works.forget(&*binding);
        synced.aggregated.forget(&*binding);
        remove(&context, &*binding, &works).await?;
        return Ok(Action::await_change());
    }
    let deleted = delete_orphans(&context, &*binding, &works).await;
    if let Err(error) = &deleted {
        let action = ReportedAction::WorksNotDeleted(&error.to_string());
        context.publish(B::CONTROLLER, &action, || [InvolvedObject::object(&*binding)]);
    }
    deleted?;
    // Without the template there is nothing to deliver; the garbage collector will take the binding.
    let Ok(Some((kind, template))) = context.templates.get(&binding.spec().resource) else {
        return Ok(Action::await_change());
    };
    let (inputs, version) =
        (WorkInputs::of(&context, &*binding, &template, &works), template.resource_version());
    let Report { by_cluster, change } = Report::of(&context, &*binding, &works);
    let is_unchanged = inputs.as_ref().is_some_and(|inputs| synced.works.equals(&*binding, inputs));
    let aggregated = (version, by_cluster);
    let is_reported = synced.aggregated.equals(&*binding, &aggregated);
    if is_unchanged && is_reported && change.is_none() {
        context.metrics.works_synced(true, Duration::ZERO);
        return Ok(Action::await_change());
    }
    let tree = if is_unchanged && is_reported { Value::Null } else { template.tree()? };
    let start = context.clock.elapsed();
    let ensured = if is_unchanged { Ok(true) } else { ensure(&context, &*binding, &works, &tree).await };
    context.metrics.works_synced(ensured.is_ok(), context.clock.elapsed().saturating_sub(start));
    publish_works(&context, &*binding, &ensured);
    if let (Ok(true), Some(inputs)) = (&ensured, inputs) {
        synced.works.set(&*binding, inputs);
    }
    // The statuses of Works are reported even if another Work cannot be written, as in a namespace that is being deleted.
    if let Some(change) = &change {
        let written = patch_status(&binding.own_api(&context), &*binding, change).await;
        publish_status(&context, &*binding, &written);
        written?;
    }
    if !is_reported {
        // A failure leaves no entry, so that the next reconciliation repeats the write.
        synced.aggregated.forget(&*binding);
        let reported = report_on_template(&context, &kind, &tree, &aggregated.1).await;
        publish_template_status(&context, &*binding, &reported);
        if reported? {
            synced.aggregated.set(&*binding, aggregated);
        }
    }
    ensured.map(|_| Action::await_change())
}

/// Publishes that Works were written, or could not be.
fn publish_works<B: Binding>(context: &Context, binding: &B, ensured: &Result<bool, Error>) {
    let failure = match ensured {
        Ok(true) => return,
        Ok(false) => None,
        Err(error) => Some(error.to_string()),
    };
    let kind = B::kind(&());
    let written = ReportedAction::WorksWritten(binding.named(&kind));
    let action = failure.as_deref().map_or(written, ReportedAction::WorksNotWritten);
    context.publish(B::CONTROLLER, &action, || binding.with_template());
}

/// Publishes that the status of a binding was written, or could not be.
fn publish_status<B: Binding>(context: &Context, binding: &B, written: &Result<(), Error>) {
    let failure = written.as_ref().err().map(ToString::to_string);
    let kind = B::kind(&());
    let added = ReportedAction::StatusAdded(binding.named(&kind));
    let action = failure.as_deref().map_or(added, ReportedAction::StatusNotAdded);
    context.publish(B::STATUS_CONTROLLER, &action, || [InvolvedObject::object(binding)]);
}

/// Publishes that the status of a template was written, or could not be.
fn publish_template_status<B: Binding>(context: &Context, binding: &B, reported: &Result<bool, Error>) {
    let failure = match reported {
        Ok(true) => return,
        Ok(false) => None,
        Err(error) => Some(error.to_string()),
    };
    let action =
        failure.as_deref().map_or(ReportedAction::TemplateStatusAdded, ReportedAction::StatusNotAdded);
    context.publish(B::STATUS_CONTROLLER, &action, || [InvolvedObject::from(&binding.spec().resource)]);
}

/// Deletes all Works, and removes the finalizer of the binding when no Work is left.
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
