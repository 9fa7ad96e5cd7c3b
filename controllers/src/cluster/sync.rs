//! Keeps a Cluster's execution namespace, NoSchedule taints and finalizer, and removes a Cluster.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::taint::set_taints;
use crate::api::{Cluster, FINALIZER_CLUSTER, FINALIZER_WORK, Work, execution_namespace};
use crate::machinery::{
    Action, BY_NAMESPACE, Context, Error, InvolvedObject, Queue, create, patch, refs, run as run_queue,
};
use crate::rules::ReportedAction;

/// Reconciles every Cluster.
pub(crate) async fn run(context: Arc<Context>) {
    let clusters = &context.clusters;
    let queue = Queue {
        name: "cluster",
        objects: clusters.clone(),
        triggers: refs(clusters.changes()),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

async fn reconcile(context: Arc<Context>, cluster: Arc<Cluster>) -> Result<Action, Error> {
    if cluster.metadata.deletion_timestamp.is_some() {
        return remove(&context, &cluster).await;
    }
    let created = ensure_namespace(&context, &cluster.name_any()).await;
    let namespace = execution_namespace(&cluster.name_any());
    match &created {
        Ok(false) => {}
        Ok(true) => {
            publish(&context, &cluster, &ReportedAction::NamespaceCreated(&namespace, &cluster.name_any()));
        }
        Err(error) => publish(&context, &cluster, &ReportedAction::NamespaceNotCreated(&error.to_string())),
    }
    created?;
    if !cluster.finalizers().iter().any(|finalizer| finalizer == FINALIZER_CLUSTER) {
        let mut finalizers = cluster.finalizers().to_vec();
        finalizers.push(FINALIZER_CLUSTER.into());
        set_finalizers(&context, &cluster, &finalizers).await?;
        // The write triggers another reconciliation.
        return Ok(Action::await_change());
    }
    let ready = cluster.ready_condition().map(|condition| condition.status.as_str());
    let now = context.clock.now_in_seconds();
    let taints = context.rules.no_schedule_taints(ready, &cluster.spec.taints, now);
    set_taints(&context, &cluster, &taints).await?;
    Ok(Action::await_change())
}

fn publish(context: &Context, cluster: &Cluster, action: &ReportedAction<'_>) {
    context.publish("cluster-controller", action, || [InvolvedObject::object(cluster)]);
}

/// Returns whether the namespace was created.
async fn ensure_namespace(context: &Context, cluster: &str) -> Result<bool, Error> {
    let api = Api::<Namespace>::all(context.client.clone());
    let name = execution_namespace(cluster);
    if api.get_opt(&name).await?.is_some() {
        return Ok(false);
    }
    match create(&api, json!({ "metadata": { "name": name } })).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(false),
        outcome => Ok(outcome.map(|()| true)?),
    }
}

/// Evicts the workloads, waits until the evictions have ended, and only then deletes the Works.
async fn remove(context: &Context, cluster: &Cluster) -> Result<Action, Error> {
    let again = Action::requeue(context.settings.cluster_removal_check);
    let taints = context.rules.terminating_taints(&cluster.spec.taints, context.clock.now_in_seconds());
    if set_taints(context, cluster, &taints).await? {
        return Ok(Action::await_change());
    }
    let name = cluster.name_any();
    let waits = context.rules.awaits_workloads(context.settings.gates);
    if waits && context.binding_specs().iter().any(|spec| context.rules.holds_up_removal(spec, &name)) {
        return Ok(again);
    }
    let namespaces = Api::<Namespace>::all(context.client.clone());
    if let Some(namespace) = namespaces.get_opt(&execution_namespace(&name)).await? {
        if namespace.metadata.deletion_timestamp.is_none() {
            let deleted = namespaces.delete(&namespace.name_any(), &DeleteParams::default()).await;
            match &deleted {
                Ok(_) => publish(context, cluster, &ReportedAction::NamespaceRemoved(&name)),
                Err(error) => {
                    publish(context, cluster, &ReportedAction::NamespaceNotRemoved(&error.to_string()));
                }
            }
            deleted?;
        }
        if context.rules.abandons_works(cluster) {
            abandon_works(context, &name).await?;
        }
        return Ok(again);
    }
    let rest: Vec<_> =
        cluster.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER_CLUSTER).cloned().collect();
    if rest.len() < cluster.finalizers().len() {
        set_finalizers(context, cluster, &rest).await?;
    }
    Ok(Action::await_change())
}

/// Removes the finalizers of the Works that are being deleted, whatever copies stay in the member.
async fn abandon_works(context: &Context, cluster: &str) -> Result<(), Error> {
    let namespace = execution_namespace(cluster);
    let api = Api::<Work>::namespaced(context.client.clone(), &namespace);
    for work in context.works.by(BY_NAMESPACE, &namespace) {
        let rest: Vec<_> =
            work.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER_WORK).collect();
        if work.metadata.deletion_timestamp.is_some() && rest.len() < work.finalizers().len() {
            patch(&api, &*work, json!({ "metadata": { "finalizers": rest } })).await?;
        }
    }
    Ok(())
}

async fn set_finalizers(context: &Context, cluster: &Cluster, finalizers: &[String]) -> Result<(), Error> {
    let api = Api::<Cluster>::all(context.client.clone());
    patch(&api, cluster, json!({ "metadata": { "finalizers": finalizers } })).await?;
    Ok(())
}
