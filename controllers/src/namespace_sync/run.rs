//! Writes a Work for each namespace and cluster, whatever the cluster's health.
//!
//! The namespace owns the Work, so that the garbage collector deletes the Work with the namespace.

use std::sync::Arc;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, Resource, ResourceExt};

use crate::api::{Cluster, FINALIZER_CLUSTER, work_name};
use crate::binding::{Overrides, WorkWithoutBinding};
use crate::machinery::{Action, Context, Error, Informer, Queue, refs, run as run_queue};

/// Reconciles every namespace.
/// A namespace is reconciled when the namespace changes, when a cluster joins, and when a cluster-scoped override
/// policy changes.
pub(crate) async fn run(context: Arc<Context>) {
    let namespaces: Informer<Namespace> =
        Informer::start(Api::all(context.client.clone()), Config::default());
    let all = {
        let namespaces = namespaces.clone();
        move || stream::iter(namespaces.list().into_iter().map(|namespace| ObjectRef::from_obj(&*namespace)))
    };
    let joined = context.clusters.changes().filter(|change| std::future::ready(change.differs(is_open)));
    let overridden = context.cluster_override_policies.changes().map(drop);
    let everything = stream::select(joined.map(drop), overridden).flat_map(move |()| all());
    let queue = Queue {
        name: "namespace-sync",
        objects: namespaces.clone(),
        triggers: stream::select(refs(namespaces.changes()), everything).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

/// Returns true if Works may be written for the cluster.
/// In this case the execution namespace of the cluster exists, and the namespace is not being removed.
fn is_open(cluster: &Cluster) -> bool {
    cluster.metadata.deletion_timestamp.is_none()
        && cluster.finalizers().iter().any(|finalizer| finalizer == FINALIZER_CLUSTER)
}

async fn reconcile(context: Arc<Context>, namespace: Arc<Namespace>) -> Result<Action, Error> {
    // A cluster for which the write fails does not hold up the others.
    let mut outcome = Ok(Action::await_change());
    if context.rules.is_synced(&namespace, &context.settings.skipped_propagating_namespaces) {
        for cluster in context.clusters.list().iter().filter(|cluster| is_open(cluster)) {
            let written = ensure(&context, &namespace, cluster).await;
            outcome = outcome.and_then(|action| written.map(|()| action));
        }
    }
    outcome
}

/// Writes the Work of the namespace for the cluster, where it differs.
async fn ensure(context: &Context, namespace: &Namespace, cluster: &Cluster) -> Result<(), Error> {
    let object = serde_json::to_value(namespace)?;
    let work = WorkWithoutBinding {
        name: work_name(&Namespace::kind(&()), "", &namespace.name_any()),
        cluster: &cluster.name_any(),
        overrides: Overrides::of(context, &object, cluster),
        object: &object,
        owner: namespace.controller_owner_ref(&()),
    };
    work.ensure(context).await
}
