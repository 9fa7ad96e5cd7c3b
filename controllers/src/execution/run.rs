//! What wakes the execution controller, and what it says on the Work.
//!
//! A Work waits for its member without a back-off of its own: the member's recovery wakes it at once, where the
//! real controller may sleep on for as long as the outage was.

use std::sync::Arc;

use futures::channel::mpsc::UnboundedReceiver;
use futures::{StreamExt, stream};
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::member::{apply, delete, manifest_kind};
use crate::api::{
    CONDITION_APPLIED, Cluster, FINALIZER_WORK, Work, cluster_of, execution_namespace, set_condition,
};
use crate::machinery::{Context, Error, Queue, patch, put_status, run as run_queue};

/// Reconciles every Work: when what it says changes, when its member becomes ready or goes, and when the work status
/// controller finds the member different from what the Work says (`astray`).
pub(crate) async fn run(context: Arc<Context>, astray: UnboundedReceiver<ObjectRef<Work>>) {
    let by_itself = context.works.changes().filter_map(|change| {
        let matters =
            change.differs(|work| (work.metadata.generation, work.metadata.deletion_timestamp.clone()));
        std::future::ready(change.after.filter(|_| matters).map(|work| ObjectRef::from_obj(&*work)))
    });
    let by_cluster = {
        let context = Arc::clone(&context);
        let changed = context.clusters.changes().filter(|change| {
            std::future::ready(
                change.differs(|cluster| (cluster.is_ready(), cluster.metadata.deletion_timestamp.clone())),
            )
        });
        changed.flat_map(move |change| {
            let namespace = Some(execution_namespace(&change.object().name_any()));
            let works = context.works.list().into_iter().filter(move |work| work.namespace() == namespace);
            stream::iter(works.map(|work| ObjectRef::from_obj(&*work)))
        })
    };
    let queue = Queue {
        name: "execution",
        store: context.works.store(),
        triggers: stream::select_all([by_itself.boxed(), by_cluster.boxed(), astray.boxed()]).boxed(),
        unbounded: true,
    };
    run_queue(context, queue, reconcile).await;
}

async fn reconcile(context: Arc<Context>, work: Arc<Work>) -> Result<Action, Error> {
    let namespace = work.namespace().unwrap_or_default();
    let cluster = cluster_of(&namespace).and_then(|name| context.clusters.get("", name));
    if work.metadata.deletion_timestamp.is_some() {
        return remove(&context, &work, cluster.as_deref()).await;
    }
    let Some(cluster) = cluster.filter(|cluster| cluster.is_ready()) else {
        return Ok(Action::await_change());
    };
    let outcome = write(&context, &work, &cluster).await;
    say(&context, &work, outcome.as_ref().err()).await?;
    outcome.map(|()| Action::await_change())
}

async fn write(context: &Context, work: &Work, cluster: &Cluster) -> Result<(), Error> {
    let client = context
        .member(cluster)
        .ok_or_else(|| Error::NotYet("there are no credentials for the member".into()))?;
    let (manifest, kind) = manifest_kind(work, cluster)
        .ok_or_else(|| Error::NotYet("the member does not serve the kind".into()))?;
    apply(context, client, work, &manifest, &kind).await
}

/// Says on the Work whether it was applied.
async fn say(context: &Context, work: &Work, failure: Option<&Error>) -> Result<(), Error> {
    let before = work.status.clone().unwrap_or_default().conditions;
    let mut conditions = before.clone();
    let now = context.clock.now_in_seconds();
    let (reason, message) = match failure {
        None => ("AppliedSuccessful", "Manifest has been successfully applied".to_owned()),
        Some(error) => ("AppliedFailed", format!("Failed to apply all manifests (0/1): {error}")),
    };
    set_condition(&mut conditions, CONDITION_APPLIED, failure.is_none(), reason, &message, now);
    if conditions != before {
        let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
        put_status(&api, &work.name_any(), &json!({ "conditions": conditions })).await?;
    }
    Ok(())
}

/// Takes the manifest out of the member and lets the Work go. It waits for a member that is not ready, unless that
/// is being removed or is gone: then the copy in it is left behind.
async fn remove(context: &Context, work: &Work, cluster: Option<&Cluster>) -> Result<Action, Error> {
    let rest: Vec<_> =
        work.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER_WORK).cloned().collect();
    if rest.len() == work.finalizers().len() {
        return Ok(Action::await_change());
    }
    if let Some(cluster) = cluster {
        if cluster.is_ready() {
            let client = context
                .member(cluster)
                .ok_or_else(|| Error::NotYet("there are no credentials for the member".into()))?;
            if let Some((manifest, kind)) = manifest_kind(work, cluster) {
                delete(context, client, work, &manifest, &kind).await?;
            }
        } else if cluster.metadata.deletion_timestamp.is_none() {
            return Ok(Action::await_change());
        }
    }
    let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
    patch(&api, work, json!({ "metadata": { "finalizers": rest } })).await?;
    Ok(Action::await_change())
}
