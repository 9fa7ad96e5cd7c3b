//! Copies the slices in Works from members to the derived Services on the control plane.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ApiResource, DeleteParams, Patch};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::api::{FINALIZER_ENDPOINT_SLICE, Work, cluster_of};
use crate::machinery::{
    Action, Context, Error, Queue, create_dynamic, delete_named, dynamic_api, patch, refs, run as run_queue,
    send,
};

/// Reconciles every Work that carries a slice, when the Work changes.
pub(crate) async fn run(context: Arc<Context>) {
    let collected = {
        let context = Arc::clone(&context);
        context.clone().works.changes().filter(move |change| {
            std::future::ready(context.rules.collected_service(change.object()).is_some())
        })
    };
    let queue = Queue {
        name: "endpoint-slice",
        objects: context.works.clone(),
        triggers: refs(collected),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

async fn reconcile(context: Arc<Context>, work: Arc<Work>) -> Result<Action, Error> {
    let namespace = work.namespace().unwrap_or_default();
    let imported = cluster_of(&namespace).and_then(|member| context.rules.imported_slice(&work, member));
    let Some(imported) = imported else { return Ok(Action::await_change()) };
    let text = |path: &str| imported.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let api = dynamic_api(
        context.client.clone(),
        text("/metadata/namespace"),
        &ApiResource::erase::<EndpointSlice>(&()),
    );
    let name = text("/metadata/name");
    if work.metadata.deletion_timestamp.is_some() {
        match delete_named(&api, name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            outcome => outcome?,
        }
        return remove_finalizer(&context, &work).await;
    }
    match api.get_opt(name).await? {
        None => drop(create_dynamic(&api, &imported).await?),
        Some(present) if context.rules.covers(&present.tree()?, &imported) => {}
        Some(_) => send(&api, name, None, &Patch::Merge(&imported)).await?,
    }
    Ok(Action::await_change())
}

async fn remove_finalizer(context: &Context, work: &Work) -> Result<Action, Error> {
    let rest: Vec<_> = work
        .finalizers()
        .iter()
        .filter(|finalizer| *finalizer != FINALIZER_ENDPOINT_SLICE)
        .cloned()
        .collect();
    if rest.len() < work.finalizers().len() {
        let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
        patch(&api, work, json!({ "metadata": { "finalizers": rest } })).await?;
    }
    Ok(Action::await_change())
}
