//! Makes the Service on the control plane that stands for an imported one. The garbage collector takes it with the import.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::api::ServiceImport;
use crate::machinery::{Action, Context, Error, Informer, Queue, patch_status, refs, run as run_queue};

/// Reconciles every `ServiceImport`, when it changes.
pub(crate) async fn run(context: Arc<Context>) {
    let imports: Informer<ServiceImport> =
        Informer::start(Api::all(context.client.clone()), Config::default());
    let queue = Queue {
        name: "service-import",
        objects: imports.clone(),
        triggers: refs(imports.changes()),
        unbounded: false,
    };
    run_queue(context, queue, reconcile).await;
}

async fn reconcile(context: Arc<Context>, import: Arc<ServiceImport>) -> Result<Action, Error> {
    let Some(mut wanted) = context.rules.derived_service(&import) else {
        return Ok(Action::await_change());
    };
    wanted["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "name": import.name_any(),
        "uid": import.uid(), "controller": true, "blockOwnerDeletion": true,
    }]);
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    let api = Api::<Service>::namespaced(context.client.clone(), &import.namespace().unwrap_or_default());
    let service = match api.get_opt(name).await? {
        None => api.create(&PostParams::default(), &serde_json::from_value(wanted.clone())?).await?,
        Some(present) if context.rules.covers(&serde_json::to_value(&present)?, &wanted) => present,
        Some(_) => api.patch(name, &PatchParams::default(), &Patch::Merge(&wanted)).await?,
    };
    let addresses: Vec<_> = import.spec.ips.iter().map(|ip| json!({ "ip": ip })).collect();
    let status = json!({ "loadBalancer": { "ingress": addresses } });
    let said = serde_json::to_value(service.status.as_ref())?;
    if !import.spec.ips.is_empty() && !context.rules.covers(&said, &status) {
        patch_status(&api, &service, &status).await?;
    }
    Ok(Action::await_change())
}
