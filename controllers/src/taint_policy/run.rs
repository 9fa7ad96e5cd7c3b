//! Reconciles a cluster when its conditions change, and all clusters when a policy changes.
//!
//! A policy that is deleted leaves its taints behind, as with the real controller.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::Api;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;

use crate::api::{Cluster, ClusterTaintPolicy};
use crate::cluster::put_taints;
use crate::machinery::{Action, Context, Error, Informer, Queue, run as run_queue};
use crate::rules::Write;

/// Reconciles every Cluster.
pub(crate) async fn run(context: Arc<Context>) {
    let policies: Informer<ClusterTaintPolicy> =
        Informer::start(Api::all(context.client.clone()), Config::default());
    policies.ready().await;
    let conditions = |cluster: &Cluster| cluster.status.clone().unwrap_or_default().conditions;
    let by_condition = context.clusters.changes().filter_map(move |change| {
        let changed = change.differs(conditions);
        std::future::ready(change.after.filter(|_| changed).map(|cluster| ObjectRef::from_obj(&*cluster)))
    });
    let by_policy = {
        let context = Arc::clone(&context);
        let changed = policies.changes().filter(|change| {
            std::future::ready(change.after.is_some() && change.differs(|policy| policy.spec.clone()))
        });
        changed.flat_map(move |_| {
            stream::iter(context.clusters.list().into_iter().map(|cluster| ObjectRef::from_obj(&*cluster)))
        })
    };
    let queue = Queue {
        name: "cluster-taint-policy",
        objects: context.clusters.clone(),
        triggers: stream::select(by_condition, by_policy).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, move |context, cluster| reconcile(context, cluster, policies.clone())).await;
}

async fn reconcile(
    context: Arc<Context>,
    cluster: Arc<Cluster>,
    policies: Informer<ClusterTaintPolicy>,
) -> Result<Action, Error> {
    let policies = policies.list();
    let policies: Vec<_> = policies.iter().map(AsRef::as_ref).collect();
    let taints = context.rules.taints_by_policies(&policies, &cluster, context.clock.now_in_seconds());
    if taints != cluster.spec.taints {
        let guarded = context.guards(Write::PolicyTaints).await;
        put_taints(&context, "cluster-taint-policy-controller", &cluster, &taints, guarded).await?;
    }
    Ok(Action::await_change())
}
