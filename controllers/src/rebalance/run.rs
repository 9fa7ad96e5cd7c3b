//! Triggers the bindings of the workloads that a `WorkloadRebalancer` names.
//!
//! The binding gets the time at which the object was made, and the scheduler does the rest. The rules decide about the
//! status and the end of the object.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::DeleteParams;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::api::{
    ClusterResourceBinding, ResourceBinding, WorkloadRebalancer, WorkloadRebalancerStatus, WorkloadReference,
    binding_name,
};
use crate::machinery::{
    Action, Binding, Context, Error, Informer, Queue, patch, patch_status, refs, run as run_queue,
};

/// Reconciles every `WorkloadRebalancer`.
/// A rebalancer is reconciled when the rebalancer is new, when its spec changes, and when its lifetime is over.
pub(crate) async fn run(context: Arc<Context>) {
    let rebalancers: Informer<WorkloadRebalancer> =
        Informer::start(Api::all(context.client.clone()), Config::default());
    let changed =
        rebalancers.changes().filter(|change| std::future::ready(change.differs(|it| it.spec.clone())));
    let queue = Queue {
        name: "workload-rebalancer",
        objects: rebalancers.clone(),
        triggers: refs(changed),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

async fn reconcile(context: Arc<Context>, rebalancer: Arc<WorkloadRebalancer>) -> Result<Action, Error> {
    if rebalancer.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let api = Api::<WorkloadRebalancer>::all(context.client.clone());
    let before = rebalancer.status.clone().unwrap_or_default();
    let mut status = WorkloadRebalancerStatus {
        observed_workloads: context.rules.observed_workloads(&rebalancer.spec, rebalancer.status.as_ref()),
        observed_generation: rebalancer.metadata.generation,
        finish_time: before.finish_time.clone(),
    };
    let made = rebalancer.creation_timestamp().unwrap_or_else(|| Time(context.clock.now_in_seconds()));
    for seen in status.observed_workloads.iter_mut().filter(|seen| seen.result.is_empty()) {
        let triggered = if seen.workload.namespace.is_empty() {
            trigger::<ClusterResourceBinding>(&context, &seen.workload, &made).await?
        } else {
            trigger::<ResourceBinding>(&context, &seen.workload, &made).await?
        };
        seen.result = if triggered { "Successful" } else { "Failed" }.into();
        seen.reason = if triggered { "" } else { "ReferencedBindingNotFound" }.into();
    }
    if status != before {
        status.finish_time = Some(Time(context.clock.now_in_seconds()));
        patch_status(&api, &*rebalancer, &status).await?;
    }
    let Some(end) = context.rules.rebalance_expires(&rebalancer.spec, &status) else {
        return Ok(Action::await_change());
    };
    let left = Duration::try_from(end.duration_since(context.clock.now())).unwrap_or_default();
    if !left.is_zero() {
        return Ok(Action::requeue(left));
    }
    match api.delete(&rebalancer.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        outcome => drop(outcome?),
    }
    Ok(Action::await_change())
}

/// Triggers the binding of a workload. Returns false where there is no binding.
async fn trigger<B: Binding>(
    context: &Context,
    workload: &WorkloadReference,
    made: &Time,
) -> Result<bool, Error> {
    let name = binding_name(&workload.kind, &workload.name);
    let Some(binding) = B::all(context).get(&workload.namespace, &name) else { return Ok(false) };
    let triggered = binding.spec().reschedule_triggered_at.as_ref().map(|triggered| triggered.0);
    if context.rules.is_new_request(made.0, triggered) {
        let change = json!({ "spec": { "rescheduleTriggeredAt": made } });
        patch(&binding.own_api(context), &*binding, change).await?;
    }
    Ok(true)
}
