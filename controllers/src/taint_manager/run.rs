//! Decides for one binding which of its clusters it has to leave, and when.
//!
//! The tolerations are those of the placement that the scheduler applied last, not those of a newer placement. The
//! removal of a taint takes no eviction back.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use serde_json::json;

use crate::api::{ANNOTATION_APPLIED_PLACEMENT, Placement, ResourceBindingSpec};
use crate::machinery::{Action, BY_TARGET, Binding, Context, Error, Queue, patch, refs, run_with};
use crate::rules::{EvictionTime, ReportedAction};

/// How many bindings of each kind the real taint manager handles at once.
const WORKERS: usize = 3;

/// Reconciles every binding: when it changes, and when the taints of one of its clusters change.
pub(crate) async fn run<B: Binding>(context: Arc<Context>) {
    let by_cluster = {
        let context = Arc::clone(&context);
        let tainted = context.clusters.changes();
        let tainted = tainted
            .filter(|change| std::future::ready(change.differs(|cluster| cluster.spec.taints.clone())));
        tainted.flat_map(move |change| {
            let there = B::all(&context).by(BY_TARGET, &change.object().name_any());
            stream::iter(there.into_iter().map(|binding| ObjectRef::from_obj(&*binding)))
        })
    };
    // A change of the status is no reason for an eviction.
    let by_itself = B::all(&context).changes().filter(|change| {
        std::future::ready(change.differs(|binding| {
            let applied = binding.annotations().get(ANNOTATION_APPLIED_PLACEMENT).cloned();
            (binding.meta().generation, applied, binding.meta().deletion_timestamp.clone())
        }))
    });
    let queue = Queue {
        name: "taint-manager",
        objects: B::all(&context).clone(),
        triggers: stream::select(refs(by_itself), by_cluster).boxed(),
        unbounded: false,
    };
    run_with(context, queue, WORKERS, reconcile::<B>).await;
}

async fn reconcile<B: Binding>(context: Arc<Context>, binding: Arc<B>) -> Result<Action, Error> {
    let placement = binding.annotations().get(ANNOTATION_APPLIED_PLACEMENT);
    let gates = context.settings.gates;
    let is_concerned = binding.meta().deletion_timestamp.is_none() && context.rules.evicts_for_taints(gates);
    let Some(placement) = placement.filter(|_| is_concerned) else {
        return Ok(Action::await_change());
    };
    let placement: Placement = serde_json::from_str::<Option<_>>(placement)?.unwrap_or_default();
    let now = context.clock.now();
    let flag = context.settings.no_execute_taint_eviction_purge_mode;
    let reports = binding.status().map(|status| status.aggregated_status.as_slice()).unwrap_or_default();
    let mut spec = binding.spec().clone();
    let mut next: Option<Timestamp> = None;
    let (mut evicted, mut looked_at, mut held_up) = (Vec::new(), false, None);
    for target in &binding.spec().clusters {
        let Some(cluster) = context.clusters.get("", &target.name) else { continue };
        let due = context.rules.eviction_due(&cluster.spec.taints, &placement.cluster_tolerations);
        looked_at |= context.rules.counts_against_eviction_rate(&cluster.spec.taints, due);
        match due {
            EvictionTime::Never => {}
            EvictionTime::At(end) if end > now => next = Some(next.map_or(end, |next| next.min(end))),
            EvictionTime::AtOnce | EvictionTime::At(_) => {
                let report = reports.iter().find(|report| report.cluster_name == target.name);
                match context.rules.taint_task(binding.spec(), due, flag, report) {
                    Ok(task) => {
                        if context.rules.evict_or_drop(gates, &mut spec, &target.name, task) {
                            evicted.push(target.name.as_str());
                        }
                    }
                    Err(reason) => held_up = Some(Error::NotYet(reason)),
                }
            }
        }
    }
    if !evicted.is_empty() {
        let clusters = (!spec.clusters.is_empty()).then_some(&spec.clusters);
        let change = json!({ "spec": { "clusters": clusters, "gracefulEvictionTasks": spec.graceful_eviction_tasks } });
        let written = patch(&binding.own_api(&context), &*binding, change).await;
        publish(&context, &*binding, &spec, &evicted, written.is_ok());
        written?;
    }
    if let Some(error) = held_up {
        return Err(error);
    }
    let pause = context.rules.eviction_pause(context.settings.resource_eviction_rate);
    if looked_at && !pause.is_zero() {
        context.clock.sleep(pause).await;
    }
    let now = context.clock.now();
    let wait = |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or_default();
    Ok(next.map_or_else(Action::await_change, |end| Action::requeue(wait(end))))
}

/// Publishes evictions that failed, and evictions without a task.
/// The end of an eviction task is published by another controller.
fn publish<B: Binding>(
    context: &Context,
    binding: &B,
    after: &ResourceBindingSpec,
    evicted: &[&str],
    written: bool,
) {
    for cluster in evicted {
        let goes_on = after.graceful_eviction_tasks.iter().any(|task| task.from_cluster == **cluster);
        let action =
            if written { ReportedAction::Evicted(cluster) } else { ReportedAction::NotEvicted(cluster) };
        if !(written && goes_on) {
            context.publish("taint-manager", &action, || binding.with_template());
        }
    }
}
