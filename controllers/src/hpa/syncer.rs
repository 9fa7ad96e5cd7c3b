//! Sets the replicas of a template that autoscalers scale to those in the members.

use std::sync::Arc;

use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use serde_json::json;

use crate::api::{LABEL_RETAIN_REPLICAS, ResourceBinding};
use crate::machinery::{Action, Context, Error, Queue, dynamic_api, patch, refs, run as run_queue};

/// Reconciles the template of every namespaced binding when the template changes.
/// A scaled template is also reconciled when the binding changes.
pub(crate) async fn run(context: Arc<Context>) {
    let by_itself = {
        let context = Arc::clone(&context);
        context.clone().bindings.changes().filter(move |change| {
            let template = context.templates.get(&change.object().spec.resource).ok().flatten();
            let scaled = template.is_some_and(|(_, one)| one.labels().contains_key(LABEL_RETAIN_REPLICAS));
            std::future::ready(scaled)
        })
    };
    let by_template = context
        .templates
        .changed_bindings()
        .map(|(namespace, name)| ObjectRef::<ResourceBinding>::new(&name).within(&namespace));
    let queue = Queue {
        name: "deployment-replicas-syncer",
        objects: context.bindings.clone(),
        triggers: stream::select(refs(by_itself), by_template.boxed()).boxed(),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

async fn reconcile(context: Arc<Context>, binding: Arc<ResourceBinding>) -> Result<Action, Error> {
    let resource = &binding.spec.resource;
    let Ok(Some((kind, template))) = context.templates.get(resource) else {
        return Ok(Action::await_change());
    };
    let generation = binding.metadata.generation.unwrap_or_default();
    let status = binding.status.clone().unwrap_or_default();
    let object = template.tree()?;
    if let Some(replicas) = context.rules.replicas_to_sync(&object, generation, &binding.spec, &status) {
        let api = dynamic_api(context.client.clone(), &resource.namespace, &kind);
        patch(&api, &*template, json!({ "spec": { "replicas": replicas } })).await?;
    }
    Ok(Action::await_change())
}
