//! Writes the taints of a Cluster, and publishes the outcome.

use k8s_openapi::api::core::v1::Taint;
use kube::Api;
use serde_json::json;

use crate::api::Cluster;
use crate::machinery::{Context, Error, InvolvedObject, patch_guarded};
use crate::rules::ReportedAction;

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
    let action = match &failure {
        None => ReportedAction::Tainted(taints),
        Some(error) if is_leaving => ReportedAction::RemovalNotTainted(error),
        Some(error) => ReportedAction::NotTainted(error),
    };
    context.publish(component, &action, || [InvolvedObject::object(cluster)]);
    written.map(|()| true)
}
