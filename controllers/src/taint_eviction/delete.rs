//! Deletes one pod, after an event and a condition that give the reason.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::deletion_schedule::{Key, PendingDeletion};
use crate::machinery::{Error, delete_named, is_absent, patch_status};
use crate::node_lifecycle::{NodeContext, TrimmedObject};
use crate::rules::Event;

/// Deletes a pod, if it still is the same pod. Returns whether nothing is left to do.
pub(super) async fn delete(context: &NodeContext, deletion: &PendingDeletion) -> bool {
    if deletion.failures == 0 {
        publish(context, &deletion.key, "Marking for deletion Pod");
    }
    match try_to_delete(context, deletion).await {
        Ok(()) => true,
        Err(Error::Request(error)) if is_absent(&error) => true,
        Err(error) => {
            tracing::debug!(pod = deletion.key.1, %error, "a pod could not be deleted");
            false
        }
    }
}

async fn try_to_delete(context: &NodeContext, deletion: &PendingDeletion) -> Result<(), Error> {
    let (namespace, name) = &deletion.key;
    let api = Api::<TrimmedObject<Pod>>::namespaced(context.client.clone(), namespace);
    let pod = api.get(name).await?;
    let uid = Some(deletion.uid.clone()).filter(|uid| !uid.is_empty());
    if uid.is_some() && uid != pod.uid() {
        return Ok(());
    }
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let now = context.clock.now_in_seconds();
    if let Some(conditions) = context.rules.disruption_target(conditions, pod.metadata.generation, now) {
        patch_status(&api, &pod, &json!({ "conditions": conditions })).await?;
    }
    let preconditions = uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None });
    Ok(delete_named(&api, name, &DeleteParams { preconditions, ..DeleteParams::default() }).await?)
}

/// Publishes an event about the deletion of a pod.
pub(super) fn publish(context: &NodeContext, key: &Key, what: &str) {
    let (namespace, name) = key;
    let mut pod = Pod::default();
    (pod.metadata.namespace, pod.metadata.name) = (Some(namespace.clone()), Some(name.clone()));
    let message = format!("{what} {namespace}/{name}");
    let event = Event { warns: false, reason: "TaintManagerEviction", message };
    context.publish("taint-eviction-controller", &pod, event);
}
