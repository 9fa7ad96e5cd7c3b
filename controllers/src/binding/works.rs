//! Makes, changes and deletes the Works of a binding.

use std::sync::Arc;

use capsize_sorted::CollectSorted;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use serde_json::{Map, Value, json};

use super::overrides::Overrides;
use crate::api::{
    ANNOTATION_CONFLICT_RESOLUTION, FINALIZER_WORK, LABEL_BINDING_ID, LABEL_CLUSTER_BINDING_ID,
    LABEL_WORK_ID, Manifest, Work, WorkSpec, WorkloadTemplate, binding_annotations, cluster_of,
    execution_namespace, work_name,
};
use crate::machinery::{BY_BINDING, Binding, Context, Error, create, delete_named, patch};
use crate::rules::{BindingRef, Delivery};

/// The namespace, the name and the id by which the Works refer to their binding.
pub(super) struct BindingNames {
    namespace: String,
    name: String,
    pub(super) id: String,
}

impl BindingNames {
    /// Webhooks label a binding with its id; without the label, the uid serves as the id.
    pub(super) fn of<B: Binding>(binding: &B) -> Self {
        let label = if B::NAMESPACED { LABEL_BINDING_ID } else { LABEL_CLUSTER_BINDING_ID };
        let id = binding.labels().get(label).cloned().or_else(|| binding.uid());
        Self {
            namespace: binding.namespace().unwrap_or_default(),
            name: binding.name_any(),
            id: id.unwrap_or_default(),
        }
    }

    fn as_ref(&self) -> BindingRef<'_> {
        BindingRef { namespace: &self.namespace, name: &self.name, id: &self.id }
    }
}

/// The permanent id of a Work; empty where there is no Work, or the Work has no id.
pub(super) fn work_id(work: Option<&Work>) -> &str {
    work.and_then(|work| work.metadata.labels.as_ref()?.get(LABEL_WORK_ID)).map_or("", String::as_str)
}

fn in_namespace<'a>(works: &'a [Arc<Work>], namespace: &str) -> Option<&'a Arc<Work>> {
    works.iter().find(|work| work.metadata.namespace.as_deref() == Some(namespace))
}

/// The Work of a target: the binding's own one, or else one of the same name.
/// Such a Work was written for an earlier binding of this name, and belongs to the binding from the next write on.
fn present(context: &Context, works: &[Arc<Work>], namespace: &str, name: &str) -> Option<Arc<Work>> {
    in_namespace(works, namespace).cloned().or_else(|| context.works.get(namespace, name))
}

/// The Works of the binding, in all execution namespaces.
pub(crate) fn works_of(context: &Context, binding: &impl Binding) -> Vec<Arc<Work>> {
    let named = BindingNames::of(binding);
    let (label, key) = context.rules.binding_mark(named.as_ref());
    let annotations = binding_annotations(&named.namespace, &named.name);
    let is_its = |work: &Arc<Work>| {
        work.labels().get(label) == Some(&key)
            && annotations.iter().all(|(key, value)| work.annotations().get(*key) == Some(value))
    };
    context.works.by(BY_BINDING, &key).into_iter().filter(is_its).collect()
}

/// Deletes the Works in clusters that are neither targets nor clusters that the workload is leaving.
pub(super) async fn delete_orphans(
    context: &Context,
    binding: &impl Binding,
    works: &[Arc<Work>],
) -> Result<(), Error> {
    let clusters_with_work = context.rules.clusters_with_work(binding.spec());
    for work in works {
        let namespace = work.namespace().unwrap_or_default();
        if cluster_of(&namespace).is_none_or(|cluster| !clusters_with_work.contains(cluster)) {
            delete(context, work).await?;
        }
    }
    Ok(())
}

/// Deletes a Work, unless the Work is being deleted already.
pub(crate) async fn delete(context: &Context, work: &Work) -> Result<(), Error> {
    if work.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let api = Api::<Work>::namespaced(context.client.clone(), &work.namespace().unwrap_or_default());
    match delete_named(&api, &work.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// Writes the Work of each target where it differs.
/// The Work of a cluster that the workload is leaving stays as it is. A Work that is being deleted is not touched,
/// because the write would be lost with it. A target for which the write fails does not hold up the others. Returns
/// whether all Works were up to date already.
pub(super) async fn ensure(
    context: &Context,
    binding: &impl Binding,
    works: &[Arc<Work>],
    template: &Value,
) -> Result<bool, Error> {
    let holders = works.iter().filter_map(|work| work.metadata.namespace.as_deref()).filter_map(cluster_of);
    if context.rules.awaits_purge(binding.spec(), &holders.collect_sorted()) {
        // The deletion of the old Work triggers another reconciliation.
        return Ok(true);
    }
    let targets = context.rules.work_targets(binding.spec());
    let completions = context.rules.completions(binding.spec(), template);
    let mut outcome = Ok(true);
    for target in &targets {
        let share = Share {
            cluster: &target.name,
            replicas: context.rules.copy_replicas(binding.spec(), target),
            completions: completions.as_ref().and_then(|shares| shares.get(&target.name).copied()),
        };
        let written = match desired_work(context, binding, works, template, &share) {
            Ok(desired) => write(context, binding, works, desired).await,
            Err(error) => Err(error),
        };
        outcome = outcome.and_then(|right| written.map(|wrote| right && !wrote));
    }
    outcome
}

/// The part of the workload that one cluster gets.
struct Share<'a> {
    cluster: &'a str,
    replicas: Option<i32>,
    completions: Option<i32>,
}

/// The desired content of a Work; a `null` annotation is one that the Work must not have.
struct DesiredWork {
    namespace: String,
    name: String,
    annotations: Map<String, Value>,
    spec: WorkSpec,
}

fn desired_work(
    context: &Context,
    binding: &impl Binding,
    works: &[Arc<Work>],
    template: &Value,
    share: &Share<'_>,
) -> Result<DesiredWork, Error> {
    let (named, namespace) = (BindingNames::of(binding), execution_namespace(share.cluster));
    let spec = binding.spec();
    let resource = &spec.resource;
    let name = work_name(&resource.kind, &resource.namespace, &resource.name);
    let cluster = context.clusters.get("", share.cluster);
    let overrides = cluster.map(|cluster| Overrides::of(context, template, &cluster)).unwrap_or_default();
    let manifest = context.rules.manifest(&Delivery {
        template,
        binding: Some(named.as_ref()),
        work_id: work_id(present(context, works, &namespace, &name).as_deref()),
        cluster: share.cluster,
        replicas: share.replicas,
        completions: share.completions,
        overriders: &overrides.overriders(),
        state: &context.rules.injected_state(spec, share.cluster),
        conflicts: spec.conflict_resolution,
    });
    let manifest = manifest.map_err(Error::NotYet)?;
    let annotations = overrides.annotations()?.map(|(key, value)| (key.to_owned(), value));
    let mut annotations: Map<_, _> = annotations.collect_sorted();
    if context.rules.behaviour().resolves_conflicts {
        let word = manifest["metadata"]["annotations"][ANNOTATION_CONFLICT_RESOLUTION].clone();
        annotations.insert(ANNOTATION_CONFLICT_RESOLUTION.into(), word);
    }
    Ok(DesiredWork {
        namespace,
        name,
        annotations,
        spec: WorkSpec {
            workload: WorkloadTemplate { manifests: vec![Manifest::of(&manifest)?] },
            suspend_dispatching: context.rules.is_dispatch_suspended(spec.suspension.as_ref(), share.cluster),
            preserve_resources_on_deletion: spec.preserve_resources_on_deletion == Some(true),
        },
    })
}

/// Returns whether a write was needed.
async fn write(
    context: &Context,
    binding: &impl Binding,
    works: &[Arc<Work>],
    desired: DesiredWork,
) -> Result<bool, Error> {
    let DesiredWork { namespace, name, mut annotations, spec } = desired;
    let api = Api::<Work>::namespaced(context.client.clone(), &namespace);
    let present = present(context, works, &namespace, &name);
    let is_own = in_namespace(works, &namespace).is_some();
    match &present {
        Some(work) if work.metadata.deletion_timestamp.is_some() => {
            let of_another = || Error::NotYet("the Work of an earlier binding is being deleted".into());
            return is_own.then_some(false).ok_or_else(of_another);
        }
        Some(work) if is_own && work.spec == spec && has_annotations(work, &annotations) => return Ok(false),
        _ => {}
    }
    let named = BindingNames::of(binding);
    let (label, key) = context.rules.binding_mark(named.as_ref());
    let back_references = binding_annotations(&named.namespace, &named.name).into_iter();
    annotations.extend(back_references.map(|(key, value)| (key.to_owned(), json!(value))));
    match present {
        None => {
            annotations.retain(|_, value| !value.is_null());
            let metadata = json!({
                "name": name,
                "namespace": namespace,
                "labels": { label: key },
                "annotations": annotations,
                "finalizers": [FINALIZER_WORK],
            });
            create(&api, json!({ "metadata": metadata, "spec": spec })).await?;
        }
        Some(work) => {
            let metadata = json!({ "labels": { label: key }, "annotations": annotations });
            let change = json!({
                "workload": spec.workload,
                "suspendDispatching": spec.suspend_dispatching.then_some(true),
                "preserveResourcesOnDeletion": spec.preserve_resources_on_deletion.then_some(true),
            });
            patch(&api, &*work, json!({ "metadata": metadata, "spec": change })).await?;
        }
    }
    Ok(true)
}

/// Whether the Work has exactly these annotations, among those that are named.
fn has_annotations(work: &Work, annotations: &Map<String, Value>) -> bool {
    annotations.iter().all(|(key, value)| work.annotations().get(key).map(String::as_str) == value.as_str())
}
