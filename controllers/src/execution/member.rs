//! Writes the manifest of a Work to its member, deletes the copy, or releases it.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;
use kube::api::{ApiResource, DeleteParams, GroupVersionKind, PostParams, Preconditions};
use kube::core::gvk::GroupVersion;
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};

use crate::api::{ANNOTATION_CONFLICT_RESOLUTION, Cluster, Identity, Manifest, RawObject, Work, is_mark};
use crate::machinery::{Context, Error, dynamic_api, is_absent, patch};
use crate::rules::WriteOutcome;

/// The manifest of a Work, with its resource in the member.
/// `None` where the Work has no manifest, or the member does not serve the kind.
pub(crate) fn manifest_kind<'a>(work: &'a Work, cluster: &Cluster) -> Option<(&'a Manifest, ApiResource)> {
    let manifest = work.spec.workload.manifests.first()?;
    let (api_version, kind) = (&manifest.identity().api_version, &manifest.identity().kind);
    let version: GroupVersion = api_version.parse().ok()?;
    let enablements = cluster.status.iter().flat_map(|status| &status.api_enablements);
    let mut resources = enablements
        .filter(|enablement| enablement.group_version == *api_version)
        .flat_map(|enablement| &enablement.resources);
    let plural = &resources.find(|resource| resource.kind == *kind)?.name;
    let wanted = GroupVersionKind::gvk(&version.group, &version.version, kind);
    let kind = ApiResource::from_gvk_with_plural(&wanted, plural);
    Some((manifest, kind))
}

/// Writes the manifest to the member where the copy differs.
/// The function also records the observed version of the copy. A `new` manifest is written even if the copy matches,
/// because the manifest before may have had more fields.
pub(super) async fn apply(
    context: &Context,
    client: Client,
    work: &Work,
    (manifest, kind): &(&Manifest, ApiResource),
    new: bool,
) -> Result<WriteOutcome, Error> {
    let Identity { namespace, name, .. } = manifest.identity();
    let api = dynamic_api(client, namespace, kind);
    let Some(present) = api.get_opt(name).await? else {
        let created = api.create(&PostParams::default(), &manifest.object()?).await?;
        context.observed_versions.record(work, created.resource_version().as_deref());
        return Ok(WriteOutcome::Created);
    };
    let version = present.resource_version();
    let present = present.tree()?;
    let mut wanted = Value::Object(context.rules.retained(&manifest.tree()?, &present));
    let may_write = context.rules.may_write_copy(
        &present,
        work.metadata.namespace.as_deref().unwrap_or_default(),
        work.metadata.name.as_deref().unwrap_or_default(),
    );
    let word = wanted["metadata"]["annotations"].get(ANNOTATION_CONFLICT_RESOLUTION);
    if !may_write && word.is_none_or(|word| word != "overwrite") {
        return Err(Error::NotYet(
            "resource(s) already exist in the member and are not managed by the Work".into(),
        ));
    }
    if !new && context.rules.matches_manifest(&present, &wanted) {
        context.observed_versions.record(work, version.as_deref());
        return Ok(WriteOutcome::Nothing);
    }
    wanted["metadata"]["resourceVersion"] = json!(version);
    let written = api.replace(name, &PostParams::default(), &RawObject::of(&wanted)?).await?;
    context.observed_versions.record(work, written.resource_version().as_deref());
    Ok(WriteOutcome::Updated)
}

/// The treatment of the copy in the member when its Work is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// The copy is deleted.
    Delete,
    /// The copy stays, without the marks of the control plane.
    Release,
}

/// Deletes the copy in the member, or releases it, if the Work may do so.
pub(super) async fn remove_copy(
    context: &Context,
    client: Client,
    work: &Work,
    (manifest, kind): &(&Manifest, ApiResource),
    removal: Removal,
) -> Result<(), Error> {
    let Identity { namespace, name, .. } = manifest.identity();
    let api = dynamic_api(client, namespace, kind);
    let present = match api.get(name).await {
        // The member may no longer serve the kind.
        Err(error) if is_absent(&error) => return Ok(()),
        present => present?,
    };
    let object = present.tree()?;
    if !context.rules.may_write_copy(&object, &work.namespace().unwrap_or_default(), &work.name_any()) {
        return Ok(());
    }
    if removal == Removal::Release {
        let without = |keys: &BTreeMap<String, String>| -> Map<String, Value> {
            keys.keys().filter(|key| is_mark(key)).map(|key| (key.clone(), Value::Null)).collect_sorted()
        };
        let (labels, annotations) = (without(present.labels()), without(present.annotations()));
        let change = json!({ "metadata": { "labels": labels, "annotations": annotations } });
        return patch(&api, &present, change).await;
    }
    let same = Preconditions { uid: present.uid(), resource_version: None };
    match api.delete(name, &DeleteParams::background().preconditions(same)).await {
        Err(error) if is_absent(&error) => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}
