//! Writes the taints of a Cluster, and publishes the outcome.

use k8s_openapi::api::core::v1::Taint;
use kube::Api;
use serde_json::json;

use crate::api::Cluster;
use crate::machinery::{Context, Error, Involved, patch_guarded};
use crate::rules::Happening;

/// Writes the taints, if they have changed. Returns whether they were written.
pub(crate) async fn set_taints(
    context: &Context,
    cluster: &Cluster,
    taints: &[Taint],
) -> Result<bool, Error> {
    put_taints(context, "cluster-controller", cluster, taints, true).await
}

/// Like [`set_taints`], in the name of `component`.
/// An unguarded write overwrites later changes by others.
pub(crate) async fn put_taints(
    context: &Context,
    component: &'static str,
    cluster: &Cluster,
    taints: &[Taint],
    guarded: bool,
) -> Result<bool, Error> {
    if taints == cluster.spec.taints {
        return Ok(false);
    }
    let api = Api::<Cluster>::all(context.client.clone());
    let change = json!({ "spec": { "taints": taints } });
    let written = patch_guarded(&api, cluster, change, guarded).await.map(drop);
    let failure = written.as_ref().err().map(ToString::to_string);
    let is_leaving = cluster.metadata.deletion_timestamp.is_some();
    let happening = match &failure {
        None => Happening::Tainted(taints),
        Some(error) if is_leaving => Happening::RemovalNotTainted(error),
        Some(error) => Happening::NotTainted(error),
    };
    context.publish(component, &happening, || [Involved::object(cluster)]);
    written.map(|()| true)
}
