//! The manifest of a Work in its member: write it, delete it.

use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams, Preconditions};
use kube::core::gvk::GroupVersion;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::api::{ANNOTATION_CONFLICT_RESOLUTION, Cluster, Work};
use crate::machinery::{Context, Error};

/// The manifest of a Work, and what its kind is called in the member's paths. `None` where the Work has no manifest,
/// or the member does not serve the kind.
pub(crate) fn manifest_kind(work: &Work, cluster: &Cluster) -> Option<(Value, ApiResource)> {
    let manifest = Value::Object(work.spec.workload.manifests.first()?.0.clone());
    let version: GroupVersion = manifest["apiVersion"].as_str()?.parse().ok()?;
    let kind = manifest["kind"].as_str()?;
    let enablements = cluster.status.iter().flat_map(|status| &status.api_enablements);
    let mut resources = enablements
        .filter(|enablement| manifest["apiVersion"] == enablement.group_version)
        .flat_map(|enablement| &enablement.resources);
    let plural = &resources.find(|resource| resource.kind == kind)?.name;
    let wanted = GroupVersionKind::gvk(&version.group, &version.version, kind);
    Some((manifest, ApiResource::from_gvk_with_plural(&wanted, plural)))
}

fn api(client: Client, manifest: &Value, kind: &ApiResource) -> Api<DynamicObject> {
    match manifest["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client, namespace, kind),
        None => Api::all_with(client, kind),
    }
}

/// Makes the member have what the manifest says.
pub(super) async fn apply(
    context: &Context,
    client: Client,
    work: &Work,
    manifest: &Value,
    kind: &ApiResource,
) -> Result<(), Error> {
    let api = api(client, manifest, kind);
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
    let mut wanted: DynamicObject = serde_json::from_value(manifest.clone())?;
    let Some(present) = api.get_opt(name).await? else {
        api.create(&PostParams::default(), &wanted).await?;
        return Ok(());
    };
    let object = serde_json::to_value(&present)?;
    let overwrite =
        || wanted.annotations().get(ANNOTATION_CONFLICT_RESOLUTION).is_some_and(|way| way == "overwrite");
    if !context.rules.belongs_to_work(&object, &work.namespace().unwrap_or_default(), &work.name_any())
        && !overwrite()
    {
        return Err(Error::NotYet(
            "resource(s) already exist in the member and are not managed by the Work".into(),
        ));
    }
    if context.rules.covers(&object, manifest) {
        return Ok(());
    }
    wanted.metadata.resource_version = present.resource_version();
    api.replace(name, &PostParams::default(), &wanted).await?;
    Ok(())
}

/// Takes the manifest out of the member, if the Work put it there.
pub(super) async fn delete(
    context: &Context,
    client: Client,
    work: &Work,
    manifest: &Value,
    kind: &ApiResource,
) -> Result<(), Error> {
    let api = api(client, manifest, kind);
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
    let Some(present) = api.get_opt(name).await? else { return Ok(()) };
    let object = serde_json::to_value(&present)?;
    if !context.rules.belongs_to_work(&object, &work.namespace().unwrap_or_default(), &work.name_any()) {
        return Ok(());
    }
    let same = Preconditions { uid: present.uid(), resource_version: None };
    let params = DeleteParams::background().preconditions(same);
    match api.delete(name, &params).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}
