//! The triggers of the scheduler, and the writes of its result. The rules choose the clusters.

use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::Instant;

use crate::api::{
    ANNOTATION_APPLIED_PLACEMENT, BindingStatus, CONDITION_SCHEDULED, Cluster, Placement,
    ResourceBindingSpec, TargetCluster, set_condition,
};
use crate::machinery::{
    Action, Binding, Change, Context, Error, Queue, patch_guarded, patch_status, refs, run as run_queue,
    run_by_priority,
};
use crate::rules::{
    AffinityClusters, BACK_OFF_BY_PRIORITY, LostTargets, ReportedAction, Retries, Retry, Schedule,
    ScheduleError, SchedulingInput, Write, affinity_clusters, begins_to_serve, is_reschedule_requested,
    look_after, scales_only,
};

/// Reconciles every binding: when it changes, and when a cluster that may concern it changes.
pub(crate) async fn run<B: Binding>(context: Arc<Context>) {
    let by_cluster = {
        let context = Arc::clone(&context);
        let changes = context.clusters.changes();
        let changes =
            changes.filter(|change| std::future::ready(matters_to_all(change) || serves_other_kinds(change)));
        changes.flat_map(move |change| {
            let (rules, any) = (Arc::clone(&context.rules), matters_to_all(&change));
            let concerns = |binding: &&Arc<B>| {
                let (spec, before, after) =
                    (binding.spec(), change.before.as_deref(), change.after.as_deref());
                (any || begins_to_serve(&spec.resource, before, after)) && rules.concerns(spec, before, after)
            };
            let all = B::all(&context).all();
            let bindings = all.iter().filter(concerns).map(|binding| ObjectRef::from_obj(&**binding));
            stream::iter(bindings.collect::<Vec<_>>())
        })
    };
    let retries = context.rules.behaviour().retries;
    let itself = B::all(&context).changes();
    // A status, which other controllers write too, must not wake a binding that waits for room.
    let itself = itself.filter(move |change| {
        let wakes = change.differs(|binding| binding.meta().generation);
        std::future::ready(wakes || retries == Retries::RateLimited)
    });
    let queue = Queue {
        name: "scheduler",
        objects: B::all(&context).clone(),
        triggers: stream::select(refs(itself), by_cluster).boxed(),
        unbounded: false,
    };
    let start = Instant::now();
    match retries {
        Retries::RateLimited => {
            run_queue(context, queue, move |context, binding| reconcile::<B>(context, binding, start)).await;
        }
        Retries::ByPriority => {
            let rules = Arc::clone(&context.rules);
            let priority = move |binding: &B| rules.queue_priority(binding.spec());
            let reconcile =
                move |context, binding| reconcile_again_after_conflicts::<B>(context, binding, start);
            run_by_priority(context, queue, BACK_OFF_BY_PRIORITY, priority, reconcile).await;
        }
    }
}

/// Whether a cluster serves other kinds than before.
fn serves_other_kinds(change: &Change<Cluster>) -> bool {
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    match (before.and_then(|it| it.status.as_ref()), after.and_then(|it| it.status.as_ref())) {
        (Some(before), Some(after)) => before.api_enablements != after.api_enablements,
        (before, after) => before.is_some() != after.is_some(),
    }
}

/// Returns true if a change of a cluster matters to all bindings.
/// The change matters if the cluster is new or gone, or if the labels or the spec of the cluster change. A change of
/// the status does not matter.
fn matters_to_all(change: &Change<Cluster>) -> bool {
    change.differs(|cluster| {
        let metadata = &cluster.metadata;
        (metadata.generation, metadata.labels.clone(), metadata.deletion_timestamp.clone())
    })
}

/// Like [`reconcile`], but repeats a write that was refused because the binding has changed.
///
/// The real scheduler does not guard its writes, so a conflict never costs it the back-off of this queue, which is long.
async fn reconcile_again_after_conflicts<B: Binding>(
    context: Arc<Context>,
    mut binding: Arc<B>,
    start: Instant,
) -> Result<Action, Error> {
    for _ in 1..Error::ATTEMPTS {
        match reconcile(Arc::clone(&context), Arc::clone(&binding), start).await {
            Err(error) if error.is_conflict() => {
                let Some(newer) = binding.own_api(&context).get_opt(&binding.name_any()).await? else {
                    return Ok(Action::await_change());
                };
                binding = Arc::new(newer);
            }
            outcome => return outcome,
        }
    }
    reconcile(context, binding, start).await
}

/// Schedules a binding where that is needed.
/// The queue looks at waiting bindings at fixed times after `start`.
async fn reconcile<B: Binding>(
    context: Arc<Context>,
    binding: Arc<B>,
    start: Instant,
) -> Result<Action, Error> {
    let rules = &context.rules;
    let (spec, mut status) = (binding.spec(), binding.status().cloned().unwrap_or_default());
    if binding.meta().deletion_timestamp.is_some()
        || !rules.is_for_scheduler(spec, &context.settings.scheduler_name)
    {
        return Ok(Action::await_change());
    }
    let applied = applied_placement(&*binding);
    if !rules.needs_scheduling(spec, &status, applied.as_ref(), lost_clusters(&context, spec).await?) {
        if !spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling) {
            let found = binding.meta().generation.unwrap_or_default();
            let observed = status.scheduler_observed_generation;
            status.scheduler_observed_generation = rules.observed_generation(observed, found, None);
            write_status(&context, &*binding, status).await?;
        }
        return Ok(Action::await_change());
    }
    let began = context.clock.elapsed();
    let error = schedule_and_write(&context, &*binding, &status, applied.as_ref()).await;
    let (good, took) = (matches!(error, Ok(None)), context.clock.elapsed().saturating_sub(began));
    context.metrics.scheduled(good, scales_only(spec, applied.as_ref()), took);
    let Some(error) = error? else { return Ok(Action::await_change()) };
    match rules.retry(&error) {
        Retry::OnEvent => Ok(Action::await_change()),
        Retry::BackOff => Err(Error::NotYet(error.to_string())),
        Retry::AtLook => Ok(Action::requeue_at(start + look_after(start.elapsed()))),
    }
}

/// Schedules a binding, and writes the result. Returns the error that prevents it.
async fn schedule_and_write<B: Binding>(
    context: &Context,
    binding: &B,
    status: &BindingStatus,
    applied: Option<&Placement>,
) -> Result<Option<ScheduleError>, Error> {
    let (rules, spec) = (&context.rules, binding.spec());
    let clusters = context.clusters.all();
    let scene = SchedulingInput {
        clusters: &clusters,
        affinity_clusters: neighbours_of::<B>(context, spec),
        now: context.clock.now(),
    };
    let outcome = rules.schedule(spec, status, &scene);
    let (targets, error) = match outcome {
        Ok(schedule) => (Some(schedule), None),
        Err(error @ ScheduleError::Fit(_)) => (Some(Schedule::default()), Some(error)),
        Err(error) => (None, Some(error)),
    };
    let placed = match &targets {
        Some(schedule) => write_targets(context, binding, &schedule.targets, applied).await,
        None => Ok(None),
    };
    publish(context, binding, targets.as_ref(), error.as_ref(), &placed);
    let placed = placed?;
    let found = binding.meta().generation.unwrap_or_default();
    let binding = placed.as_ref().unwrap_or(binding);
    let mut after = binding.status().cloned().unwrap_or_default();
    let now = context.clock.now_in_seconds();
    let (reason, message) = rules.scheduled_condition(error.as_ref());
    set_condition(&mut after.conditions, CONDITION_SCHEDULED, error.is_none(), reason, &message, now);
    if let (Some(schedule), None) = (targets, &error) {
        let (observed, written) = (status.scheduler_observed_generation, binding.meta().generation);
        after.scheduler_observed_generation = rules.observed_generation(observed, found, written);
        after.scheduler_observed_affinity_name = schedule.affinity;
        // The real scheduler stamps every success; here a success that changes nothing writes nothing.
        if placed.is_some() || is_reschedule_requested(spec, status) || status.last_scheduled_time.is_none() {
            after.last_scheduled_time = Some(Time(now));
        }
    }
    write_status(context, binding, after).await?;
    Ok(error)
}

/// Publishes the outcome, if it is an error or something was written.
fn publish<B: Binding>(
    context: &Context,
    binding: &B,
    schedule: Option<&Schedule>,
    error: Option<&ScheduleError>,
    placed: &Result<Option<B>, Error>,
) {
    let failure = match (error, placed) {
        (Some(error), _) => Some(error.to_string()),
        (None, Err(error)) => Some(error.to_string()),
        (None, Ok(None)) => return,
        (None, Ok(Some(_))) => None,
    };
    let targets = schedule.map(|schedule| schedule.targets.as_slice()).unwrap_or_default();
    let action = failure.as_deref().map_or(ReportedAction::Scheduled(targets), ReportedAction::NotScheduled);
    context.publish(context.settings.scheduler_name.clone(), &action, || binding.with_template());
}

/// The clusters of the other workloads in the workload's groups.
fn neighbours_of<B: Binding>(context: &Context, spec: &ResourceBindingSpec) -> AffinityClusters {
    if spec.workload_affinity_groups.is_none() {
        return AffinityClusters::default();
    }
    let all = B::all(context).list();
    let mut others = affinity_clusters(spec, all.iter().map(|binding| binding.spec()));
    let tasks = &spec.graceful_eviction_tasks;
    others.together.retain(|clusters| context.rules.binds_group(tasks, clusters));
    others
}

/// The state of the clusters that the workload is placed on.
/// A cluster that has just joined may not be in the store yet.
async fn lost_clusters(context: &Context, spec: &ResourceBindingSpec) -> Result<LostTargets, Error> {
    let mut worst = LostTargets::Nothing;
    for TargetCluster { name, .. } in &spec.clusters {
        worst = worst.max(match context.clusters.get("", name) {
            Some(cluster) if cluster.metadata.deletion_timestamp.is_some() => LostTargets::Leaving,
            Some(_) => LostTargets::Nothing,
            None => match Api::<Cluster>::all(context.client.clone()).get_opt(name).await? {
                Some(_) => LostTargets::Nothing,
                None => LostTargets::Gone,
            },
        });
    }
    Ok(worst)
}

fn applied_placement(binding: &impl Binding) -> Option<Placement> {
    serde_json::from_str(binding.annotations().get(ANNOTATION_APPLIED_PLACEMENT)?).ok()
}

/// Writes targets and the placement that they follow, if either is new. Returns the binding as written.
async fn write_targets<B: Binding>(
    context: &Context,
    binding: &B,
    targets: &[TargetCluster],
    applied: Option<&Placement>,
) -> Result<Option<B>, Error> {
    let set = |targets: &[TargetCluster]| {
        let mut sorted = targets.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        sorted
    };
    if set(targets) == set(&binding.spec().clusters) && applied == binding.spec().placement.as_ref() {
        return Ok(None);
    }
    let placement = serde_json::to_string(&binding.spec().placement)?;
    let change = json!({
        "metadata": { "annotations": { ANNOTATION_APPLIED_PLACEMENT: placement } },
        "spec": { "clusters": (!targets.is_empty()).then_some(targets) },
    });
    let guarded = context.guards(Write::Placement).await;
    patch_guarded(&binding.own_api(context), binding, change, guarded).await.map(Some)
}

/// Writes the result to the status, if it is new.
/// Where scheduling failed, the generation does not count as processed.
async fn write_status(context: &Context, binding: &impl Binding, after: BindingStatus) -> Result<(), Error> {
    if binding.status() == Some(&after) || (binding.status().is_none() && after == BindingStatus::default()) {
        return Ok(());
    }
    let affinity = &after.scheduler_observed_affinity_name;
    let change = json!({
        "schedulerObservedGeneration": after.scheduler_observed_generation,
        "schedulerObservingAffinityName": (!affinity.is_empty()).then_some(affinity),
        "lastScheduledTime": after.last_scheduled_time,
        "conditions": after.conditions,
    });
    patch_status(&binding.own_api(context), binding, &change).await?;
    Ok(())
}
