//! Makes the Service on the control plane that stands for an imported Service.
//!
//! The garbage collector deletes it with the import.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use kube::api::{ApiResource, Patch, PatchParams};
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::api::ServiceImport;
use crate::machinery::{
    Action, Context, Error, Informer, InvolvedObject, Queue, create_dynamic, dynamic_api, patch_status, refs,
    run as run_queue,
};
use crate::rules::ReportedAction;

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
    let Some(wanted) = context.rules.derived_service(&import) else {
        return Ok(Action::await_change());
    };
    let derived = derive(&context, &import, wanted).await;
    let failure = derived.as_ref().err().map(ToString::to_string);
    let name = import.name_any();
    let action =
        failure.as_deref().map_or(ReportedAction::ServiceDerived(&name), ReportedAction::ServiceNotDerived);
    if !matches!(derived, Ok(false)) {
        context.publish("service-import-controller", &action, || [InvolvedObject::object(&*import)]);
    }
    derived.map(|_| Action::await_change())
}

/// Writes the Service. Returns whether a write was needed.
async fn derive(context: &Context, import: &ServiceImport, mut wanted: Value) -> Result<bool, Error> {
    wanted["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "name": import.name_any(),
        "uid": import.uid(), "controller": true, "blockOwnerDeletion": true,
    }]);
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = import.namespace().unwrap_or_default();
    let api = dynamic_api(context.client.clone(), &namespace, &ApiResource::erase::<Service>(&()));
    let (service, wrote) = match api.get_opt(name).await? {
        None => (create_dynamic(&api, &wanted).await?, true),
        Some(present) if context.rules.covers(&present.tree()?, &wanted) => (present, false),
        Some(_) => (api.patch(name, &PatchParams::default(), &Patch::Merge(&wanted)).await?, true),
    };
    let addresses: Vec<_> = import.spec.ips.iter().map(|ip| json!({ "ip": ip })).collect();
    let status = json!({ "loadBalancer": { "ingress": addresses } });
    if !import.spec.ips.is_empty() && !context.rules.covers(&service.tree()?["status"], &status) {
        patch_status(&api, &service, &status).await?;
    }
    Ok(wrote)
}
