//! Evicts the workload of a binding from clusters on which it has been unhealthy for too long.
//!
//! The rules decide how long is too long. The times since which workloads are unhealthy are in memory only, as in the
//! real controller: a restart begins to count anew.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use kube::runtime::reflector::ObjectRef;
use serde_json::json;

use crate::api::{PRODUCER_APPLICATION_FAILOVER, PRODUCER_CLUSTER_APPLICATION_FAILOVER, ResourceBindingSpec};
use crate::machinery::{Action, Binding, Context, Error, PerObject, Queue, patch, run as run_queue};
use crate::rules::{ReportedAction, UnhealthySince};

/// The clusters on which the workload of each binding is unhealthy, and since when.
type Memory = PerObject<UnhealthySince>;

/// Reconciles every binding when it changes, and when its workload has been unhealthy for too long.
pub(crate) async fn run<B: Binding>(context: Arc<Context>) {
    let memory = Arc::new(Memory::default());
    let triggers = {
        let memory = Arc::clone(&memory);
        B::all(&context).changes().filter_map(move |change| {
            if change.after.is_none() {
                memory.forget(&**change.object());
            }
            std::future::ready(change.after.map(|binding| ObjectRef::from_obj(&*binding)))
        })
    };
    let queue = Queue {
        name: "application-failover",
        objects: B::all(&context).clone(),
        triggers: triggers.boxed(),
        unbounded: false,
    };
    run_queue(context, queue, move |context, binding| reconcile(context, binding, Arc::clone(&memory))).await;
}

async fn reconcile<B: Binding>(
    context: Arc<Context>,
    binding: Arc<B>,
    memory: Arc<Memory>,
) -> Result<Action, Error> {
    let spec = binding.spec();
    let has_health = context.rules.has_health(&spec.resource.api_version, &spec.resource.kind);
    let failover = context.rules.application_failover(spec, has_health);
    let Some(failover) = failover.filter(|_| binding.meta().deletion_timestamp.is_none()) else {
        memory.forget(&*binding);
        return Ok(Action::await_change());
    };
    let reports = binding.status().map(|status| status.aggregated_status.as_slice()).unwrap_or_default();
    // The steady clock is enough: these times are in memory only, and compared only with each other.
    let now = context.clock.steady();
    let since = context.rules.unhealthy_since(&memory.get(&*binding).unwrap_or_default(), spec, reports, now);
    if since.is_empty() {
        memory.forget(&*binding);
    } else {
        memory.set(&*binding, since.clone());
    }
    let producer =
        if B::NAMESPACED { PRODUCER_APPLICATION_FAILOVER } else { PRODUCER_CLUSTER_APPLICATION_FAILOVER };
    let mut after: ResourceBindingSpec = spec.clone();
    let mut next: Option<Timestamp> = None;
    let mut evicted = Vec::new();
    for (cluster, since) in &since {
        let end = context.rules.tolerated_until(failover, *since);
        if now <= end {
            next = Some(next.map_or(end, |next| next.min(end)));
            continue;
        }
        let report = reports.iter().find(|report| report.cluster_name == *cluster);
        let task = context.rules.application_task(failover, producer, spec, report);
        if context.rules.evict(&mut after, cluster, task.map_err(Error::NotYet)?) {
            evicted.push(cluster);
        }
    }
    if !evicted.is_empty() {
        let clusters = (!after.clusters.is_empty()).then_some(&after.clusters);
        let change = json!({ "spec": {
            "clusters": clusters, "gracefulEvictionTasks": after.graceful_eviction_tasks,
        } });
        let written = patch(&binding.own_api(&context), &*binding, change).await;
        for cluster in evicted.iter().filter(|_| written.is_err()) {
            context.publish(producer, &ReportedAction::NotEvicted(cluster), || binding.with_template());
        }
        written?;
    }
    // The toleration is over after `end`, not at `end`: reconcile a millisecond later.
    let wait = |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or_default();
    Ok(next.map_or_else(Action::await_change, |end| Action::requeue(wait(end) + Duration::from_millis(1))))
}
