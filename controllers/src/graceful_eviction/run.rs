//! Stamps and ends the eviction tasks of every binding. The rules decide when a task ends.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use crate::api::GracefulEvictionTask;
use crate::binding::works_of;
use crate::machinery::{Action, Binding, Context, Error, Queue, patch_guarded, refs, run as run_queue};
use crate::rules::{ReportedAction, TaskOutcome, Write};

/// The time after which a binding is reconciled again that has a report on an earlier Work.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// Reconciles every binding when it changes, and when one of its tasks gets too old.
pub(crate) async fn run<B: Binding>(context: Arc<Context>) {
    let with_tasks = {
        let rules = Arc::clone(&context.rules);
        B::all(&context).changes().filter(move |change| {
            let (before, after) =
                (change.before.as_deref().map(B::spec), change.after.as_deref().map(B::spec));
            std::future::ready(after.is_some_and(|after| rules.wakes_for_tasks(before, after)))
        })
    };
    let queue = Queue {
        name: "graceful-eviction",
        objects: B::all(&context).clone(),
        triggers: refs(with_tasks),
        unbounded: false,
    };
    run_queue(context, queue, reconcile::<B>).await;
}

async fn reconcile<B: Binding>(context: Arc<Context>, binding: Arc<B>) -> Result<Action, Error> {
    let spec = binding.spec();
    if spec.graceful_eviction_tasks.is_empty() || binding.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let status = binding.status().cloned().unwrap_or_default();
    let scheduled = Some(status.scheduler_observed_generation) == binding.meta().generation;
    if !context.rules.processes_tasks(scheduled) {
        return Ok(Action::await_change());
    }
    let is_replaced = |reports: &[_]| context.rules.is_replaced(scheduled, &spec.clusters, reports);
    let reports = context.rules.reports_on_works(&status.aggregated_status, &works_of(&context, &*binding));
    let replaced = is_replaced(&reports);
    let now = context.clock.now();
    let timeouts = context
        .rules
        .task_timeouts(&spec.graceful_eviction_tasks, context.settings.graceful_eviction_timeout);
    // The report on a new Work may equal the earlier report, and does not change the binding then.
    let awaits_report = !replaced && is_replaced(&status.aggregated_status);
    let mut next = awaits_report.then(|| now + REPORT_PERIOD);
    let (mut tasks, mut ended): (Vec<GracefulEvictionTask>, _) = (Vec::new(), Vec::new());
    for (task, timeout) in spec.graceful_eviction_tasks.iter().zip(timeouts) {
        match context.rules.task_outcome(task, replaced, timeout, now) {
            TaskOutcome::End => ended.push(&task.from_cluster),
            TaskOutcome::Keep => tasks.push(task.clone()),
            TaskOutcome::Stamp => tasks.push(GracefulEvictionTask {
                creation_timestamp: Some(Time(context.clock.now_in_seconds())),
                ..task.clone()
            }),
            TaskOutcome::KeepUntil(end) => {
                next = Some(next.map_or(end, |next| next.min(end)));
                tasks.push(task.clone());
            }
        }
    }
    if tasks != spec.graceful_eviction_tasks {
        let tasks = (!tasks.is_empty()).then_some(tasks);
        let change = json!({ "spec": { "gracefulEvictionTasks": tasks } });
        let guarded = context.guards(Write::Tasks).await;
        patch_guarded(&binding.own_api(&context), &*binding, change, guarded).await?;
        for cluster in ended {
            let action = ReportedAction::Evicted(cluster);
            context.publish(B::GRACEFUL_EVICTION, &action, || binding.with_template());
        }
        // The write triggers another reconciliation.
        return Ok(Action::await_change());
    }
    // A task ends when it is older than the timeout, not when it is as old: reconcile a millisecond later.
    let wait = |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or_default();
    Ok(next.map_or_else(Action::await_change, |end| Action::requeue(wait(end) + Duration::from_millis(1))))
}
