//! Makes, changes and deletes the Works of a binding.

use std::sync::Arc;

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::overrides::Overrides;
use crate::api::{
    ANNOTATION_BINDING_NAME, ANNOTATION_BINDING_NAMESPACE, FINALIZER_WORK, LABEL_BINDING_KEY, Manifest,
    ResourceBinding, Work, binding_key, cluster_of, execution_namespace, work_name,
};
use crate::machinery::{Context, Error, patch};

/// The Works of the binding, wherever they are.
pub(super) fn works_of(context: &Context, binding: &ResourceBinding) -> Vec<Arc<Work>> {
    let (namespace, name) = (binding.namespace().unwrap_or_default(), binding.name_any());
    let key = binding_key(&namespace, &name);
    let is_its = |work: &Arc<Work>| {
        work.labels().get(LABEL_BINDING_KEY) == Some(&key)
            && work.annotations().get(ANNOTATION_BINDING_NAMESPACE) == Some(&namespace)
            && work.annotations().get(ANNOTATION_BINDING_NAME) == Some(&name)
    };
    context.works.list().into_iter().filter(is_its).collect()
}

/// Deletes the Works in clusters that are neither targets nor being left.
pub(super) async fn delete_orphans(
    context: &Context,
    binding: &ResourceBinding,
    works: &[Arc<Work>],
) -> Result<(), Error> {
    let carriers = context.rules.carriers(&binding.spec);
    for work in works {
        let namespace = work.namespace().unwrap_or_default();
        if cluster_of(&namespace).is_none_or(|cluster| !carriers.contains(cluster)) {
            delete(context, work).await?;
        }
    }
    Ok(())
}

/// Deletes a Work, unless that has begun.
pub(super) async fn delete(context: &Context, work: &Work) -> Result<(), Error> {
    if work.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
    match api.delete(&work.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}

/// Makes the Work of each target say what it should. The Work of a cluster that is being left stays as it is, and
/// one that is being deleted is not touched: what is written to it would go with it.
pub(super) async fn ensure(
    context: &Context,
    binding: &ResourceBinding,
    works: &[Arc<Work>],
    template: &DynamicObject,
) -> Result<(), Error> {
    let template = serde_json::to_value(template)?;
    let (namespace, name) = (binding.namespace().unwrap_or_default(), binding.name_any());
    let resource = &binding.spec.resource;
    let work_name = work_name(&resource.kind, &resource.namespace, &resource.name);
    for target in &binding.spec.clusters {
        let cluster = context.clusters.get("", &target.name);
        let overrides =
            cluster.map(|cluster| Overrides::of(context, &template, &cluster)).unwrap_or_default();
        let manifest =
            context.rules.manifest(&template, (&namespace, &name), target, &overrides.overriders());
        let manifest = manifest.map(Manifest).map_err(Error::NotYet)?;
        let execution = execution_namespace(&target.name);
        let api = Api::<Work>::namespaced(context.client.clone(), &execution);
        let mut annotations =
            serde_json::Map::from_iter(overrides.annotations()?.map(|(key, value)| (key.to_owned(), value)));
        let spec = json!({ "workload": { "manifests": [manifest] } });
        match works.iter().find(|work| work.namespace().as_deref() == Some(&execution)) {
            None => {
                annotations.retain(|_, value| !value.is_null());
                annotations.insert(ANNOTATION_BINDING_NAMESPACE.into(), json!(namespace));
                annotations.insert(ANNOTATION_BINDING_NAME.into(), json!(name));
                let work: Work = serde_json::from_value(json!({
                    "apiVersion": "work.karmada.io/v1alpha1",
                    "kind": "Work",
                    "metadata": {
                        "name": work_name,
                        "namespace": execution,
                        "labels": { LABEL_BINDING_KEY: binding_key(&namespace, &name) },
                        "annotations": annotations,
                        "finalizers": [FINALIZER_WORK],
                    },
                    "spec": spec,
                }))?;
                api.create(&PostParams::default(), &work).await?;
            }
            Some(work) if work.metadata.deletion_timestamp.is_some() => {}
            Some(work) if work.spec.workload.manifests == [manifest] && says(work, &annotations) => {}
            Some(work) => {
                patch(&api, &**work, json!({ "metadata": { "annotations": annotations }, "spec": spec }))
                    .await?;
            }
        }
    }
    Ok(())
}

/// Whether the Work has just these annotations, of those that are asked about.
fn says(work: &Work, annotations: &serde_json::Map<String, Value>) -> bool {
    annotations.iter().all(|(key, value)| work.annotations().get(key).map(String::as_str) == value.as_str())
}
