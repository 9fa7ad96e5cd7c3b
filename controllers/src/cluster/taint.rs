//! The one way in which taints are written.

use k8s_openapi::api::core::v1::Taint;
use kube::Api;
use serde_json::json;

use crate::api::Cluster;
use crate::machinery::{Context, Error, patch_guarded};

/// Writes the taints, if they are others than before. Returns whether it did.
pub(crate) async fn set_taints(
    context: &Context,
    cluster: &Cluster,
    taints: &[Taint],
) -> Result<bool, Error> {
    put_taints(context, cluster, taints, true).await
}

/// As [`set_taints`], but where it is not `guarded`, whoever has changed the Cluster since.
pub(crate) async fn put_taints(
    context: &Context,
    cluster: &Cluster,
    taints: &[Taint],
    guarded: bool,
) -> Result<bool, Error> {
    if taints == cluster.spec.taints {
        return Ok(false);
    }
    let api = Api::<Cluster>::all(context.client.clone());
    patch_guarded(&api, cluster, json!({ "spec": { "taints": taints } }), guarded).await?;
    Ok(true)
}
