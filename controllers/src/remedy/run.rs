//! Reconciles a cluster when its conditions change, and all clusters when a Remedy changes.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::api::{Cluster, Remedy};
use crate::machinery::{Action, Context, Error, Informer, Queue, run as run_queue};

/// Reconciles every Cluster.
pub(crate) async fn run(context: Arc<Context>) {
    let remedies: Informer<Remedy> = Informer::start(Api::all(context.client.clone()), Config::default());
    remedies.ready().await;
    let conditions = |cluster: &Cluster| cluster.status.clone().unwrap_or_default().conditions;
    let by_condition = context.clusters.changes().filter_map(move |change| {
        let changed = change.differs(conditions);
        std::future::ready(change.after.filter(|_| changed).map(|cluster| ObjectRef::from_obj(&*cluster)))
    });
    let by_remedy = {
        let context = Arc::clone(&context);
        let changed = remedies.changes().filter(|change| {
            std::future::ready(change.after.is_none() || change.differs(|remedy| remedy.spec.clone()))
        });
        changed.flat_map(move |_| {
            stream::iter(context.clusters.list().into_iter().map(|cluster| ObjectRef::from_obj(&*cluster)))
        })
    };
    let queue = Queue {
        name: "remedy",
        objects: context.clusters.clone(),
        triggers: stream::select(by_condition, by_remedy).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, move |context, cluster| reconcile(context, cluster, remedies.clone())).await;
}

async fn reconcile(
    context: Arc<Context>,
    cluster: Arc<Cluster>,
    remedies: Informer<Remedy>,
) -> Result<Action, Error> {
    let remedies = remedies.list();
    let remedies: Vec<_> = remedies.iter().map(AsRef::as_ref).collect();
    let actions = context.rules.remedy_actions(&remedies, &cluster);
    let present = cluster.status.as_ref().map(|status| status.remedy_actions.as_slice()).unwrap_or_default();
    if actions != present {
        // The patch is about one field, which has no other writer.
        let change = Patch::Merge(json!({"status": {"remedyActions": actions}}));
        let api = Api::<Cluster>::all(context.client.clone());
        api.patch_status(&cluster.name_any(), &PatchParams::default(), &change).await?;
    }
    Ok(Action::await_change())
}
