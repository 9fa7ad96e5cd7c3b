//! Makes, changes and deletes the Works of a binding.

use std::sync::Arc;

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::overrides::Overrides;
use crate::api::{
    FINALIZER_WORK, Manifest, Work, binding_annotations, binding_label, cluster_of, execution_namespace,
    work_name,
};
use crate::machinery::{Binding, Context, Error, patch};

/// The Works of the binding, wherever they are.
pub(super) fn works_of(context: &Context, binding: &impl Binding) -> Vec<Arc<Work>> {
    let (namespace, name) = (binding.namespace().unwrap_or_default(), binding.name_any());
    let (label, key) = binding_label(&namespace, &name);
    let annotations = binding_annotations(&namespace, &name);
    let is_its = |work: &Arc<Work>| {
        work.labels().get(label) == Some(&key)
            && annotations.iter().all(|(key, value)| work.annotations().get(*key) == Some(value))
    };
    context.works.list().into_iter().filter(is_its).collect()
}

/// Deletes the Works in clusters that are neither targets nor being left.
pub(super) async fn delete_orphans(
    context: &Context,
    binding: &impl Binding,
    works: &[Arc<Work>],
) -> Result<(), Error> {
    let carriers = context.rules.carriers(binding.spec());
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
    binding: &impl Binding,
    works: &[Arc<Work>],
    template: &DynamicObject,
) -> Result<(), Error> {
    let template = serde_json::to_value(template)?;
    let (namespace, name) = (binding.namespace().unwrap_or_default(), binding.name_any());
    let resource = &binding.spec().resource;
    let work_name = work_name(&resource.kind, &resource.namespace, &resource.name);
    for target in &binding.spec().clusters {
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
                let lead_back = binding_annotations(&namespace, &name).into_iter();
                annotations.extend(lead_back.map(|(key, value)| (key.to_owned(), json!(value))));
                let (label, key) = binding_label(&namespace, &name);
                let work: Work = serde_json::from_value(json!({
                    "apiVersion": "work.karmada.io/v1alpha1",
                    "kind": "Work",
                    "metadata": {
                        "name": work_name,
                        "namespace": execution,
                        "labels": { label: key },
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
