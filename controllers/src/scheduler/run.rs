//! What wakes the scheduler, and how its result is written. How it chooses is in `rules::schedule`.

use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::api::{
    ANNOTATION_APPLIED_PLACEMENT, CONDITION_SCHEDULED, Cluster, Placement, ResourceBinding, TargetCluster,
    set_condition,
};
use crate::machinery::{Change, Context, Error, Queue, patch, patch_status, refs, run as run_queue};
use crate::rules::ScheduleError;

/// Reconciles every binding: when it changes, and when a cluster that it may mean does.
pub(crate) async fn run(context: Arc<Context>) {
    let by_cluster = {
        let context = Arc::clone(&context);
        context.clone().clusters.changes().filter(|change| std::future::ready(matters(change))).flat_map(
            move |change| {
                let bindings =
                    context.bindings.list().into_iter().filter(move |binding| may_mean(binding, &change));
                stream::iter(bindings.map(|binding| ObjectRef::from_obj(&*binding)))
            },
        )
    };
    let queue = Queue {
        name: "scheduler",
        store: context.bindings.store(),
        triggers: stream::select(refs(context.bindings.changes()), by_cluster).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

/// Labels and spec matter, and that a cluster comes or goes; its status does not.
fn matters(change: &Change<Cluster>) -> bool {
    change.differs(|cluster| {
        let metadata = &cluster.metadata;
        (metadata.generation, metadata.labels.clone(), metadata.deletion_timestamp.clone())
    })
}

/// Whether the binding's affinity means the cluster as it was or as it is (#2912).
fn may_mean(binding: &ResourceBinding, change: &Change<Cluster>) -> bool {
    let affinity = binding.spec.placement.as_ref().and_then(|placement| placement.cluster_affinity.as_ref());
    let mut sides = change.before.iter().chain(&change.after);
    affinity.is_none_or(|affinity| sides.any(|cluster| crate::rules::affinity_matches(affinity, cluster)))
}

async fn reconcile(context: Arc<Context>, binding: Arc<ResourceBinding>) -> Result<Action, Error> {
    if binding.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let applied = applied_placement(&binding);
    if !context.rules.needs_scheduling(&binding.spec, applied.as_ref()) {
        observe(&context, &binding, None).await?;
        return Ok(Action::await_change());
    }
    match context.rules.schedule(&binding.spec, &context.clusters.list(), context.clock.now()) {
        Ok(targets) => {
            let placed = place(&context, &binding, &targets, applied.as_ref()).await?;
            let binding = placed.as_ref().unwrap_or(&binding);
            observe(&context, binding, Some(("BindingScheduled", "Binding has been scheduled"))).await?;
            Ok(Action::await_change())
        }
        Err(ScheduleError::Fit(message)) => {
            let placed = place(&context, &binding, &[], applied.as_ref()).await?;
            fail(&context, placed.as_ref().unwrap_or(&binding), &message).await?;
            Ok(Action::await_change())
        }
        Err(ScheduleError::Unschedulable(message)) => {
            fail(&context, &binding, &message).await?;
            Err(Error::NotYet(message))
        }
    }
}

fn applied_placement(binding: &ResourceBinding) -> Option<Placement> {
    serde_json::from_str(binding.annotations().get(ANNOTATION_APPLIED_PLACEMENT)?).ok()
}

/// Writes targets and the placement that they follow, if either is new. Returns the binding as written.
async fn place(
    context: &Context,
    binding: &ResourceBinding,
    targets: &[TargetCluster],
    applied: Option<&Placement>,
) -> Result<Option<ResourceBinding>, Error> {
    let set = |targets: &[TargetCluster]| {
        let mut sorted = targets.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        sorted
    };
    if set(targets) == set(&binding.spec.clusters) && applied == binding.spec.placement.as_ref() {
        return Ok(None);
    }
    let placement = serde_json::to_string(&binding.spec.placement)?;
    let change = json!({
        "metadata": { "annotations": { ANNOTATION_APPLIED_PLACEMENT: placement } },
        "spec": { "clusters": (!targets.is_empty()).then_some(targets) },
    });
    patch(&api(context, binding), binding, change).await.map(Some)
}

/// Says that this generation has been dealt with, and how if it was scheduled.
async fn observe(
    context: &Context,
    binding: &ResourceBinding,
    success: Option<(&str, &str)>,
) -> Result<(), Error> {
    let before = binding.status.clone().unwrap_or_default();
    let mut conditions = before.conditions.clone();
    if let Some((reason, message)) = success {
        let now = context.clock.now_in_seconds();
        set_condition(&mut conditions, CONDITION_SCHEDULED, true, reason, message, now);
    }
    let generation = binding.metadata.generation.unwrap_or_default();
    write(context, binding, generation, conditions).await
}

/// Says why it could not be scheduled. The generation counts as not dealt with.
async fn fail(context: &Context, binding: &ResourceBinding, message: &str) -> Result<(), Error> {
    let before = binding.status.clone().unwrap_or_default();
    let mut conditions = before.conditions;
    let now = context.clock.now_in_seconds();
    set_condition(&mut conditions, CONDITION_SCHEDULED, false, "BindingFailedScheduling", message, now);
    write(context, binding, before.scheduler_observed_generation, conditions).await
}

async fn write(
    context: &Context,
    binding: &ResourceBinding,
    observed: i64,
    conditions: Vec<Condition>,
) -> Result<(), Error> {
    let before = binding.status.clone().unwrap_or_default();
    if before.scheduler_observed_generation == observed && before.conditions == conditions {
        return Ok(());
    }
    let change = json!({ "schedulerObservedGeneration": observed, "conditions": conditions });
    patch_status(&api(context, binding), binding, &change).await?;
    Ok(())
}

fn api(context: &Context, binding: &ResourceBinding) -> Api<ResourceBinding> {
    Api::namespaced(context.client.clone(), &binding.namespace().unwrap_or_default())
}
