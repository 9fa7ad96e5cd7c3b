//! Finds and removes the objects that an implementation has placed in a cluster of a kubeconfig.

use std::path::PathBuf;
use std::time::Duration;

use capsize_clock::Clock;
use capsize_clusters::ProviderError;
use kube::api::{DeleteParams, ListParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde::{Deserialize, Serialize};

use super::allowed::AllowedCluster;
use super::claim::Claim;
use super::cluster::Cluster;
use crate::run_id::RunId;

/// The kinds of objects that scenarios place in members, and of those that these need.
const KINDS: [(&str, &str, &str, &str); 7] = [
    ("apps", "v1", "Deployment", "deployments"),
    ("batch", "v1", "Job", "jobs"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "Service", "services"),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses"),
    ("", "v1", "Namespace", "namespaces"),
];

/// The time limit until removed objects are gone, and the pause between two looks.
const TIMEOUT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

/// The objects of a run in one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Copies {
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
    /// The cluster's context there.
    pub context: String,
    /// The UID of its kube-system namespace.
    pub uid: String,
    /// The label of the objects.
    pub selector: String,
}

/// Removes the objects of `run` from a cluster, and releases the cluster.
/// Nothing is removed unless the run has claimed it.
pub(crate) async fn undo(run: &RunId, copies: &Copies) -> Result<(), ProviderError> {
    let Copies { kubeconfig, context, uid, selector } = copies;
    let allowed = AllowedCluster { context: context.clone(), uid: uid.clone() };
    let cluster = Cluster::find(kubeconfig, &allowed).await?;
    let claim = match Claim::find(&cluster.client).await? {
        Some(claim) if claim.is_of(run, selector) => claim,
        // Another run can claim a cluster only after the objects of this run were removed.
        Some(claim) if claim.is_of_another_than(run) => return Ok(()),
        Some(_) => {
            return Err(ProviderError(format!(
                "the run has claimed {context} for objects with another label than {selector}: these are left alone"
            )));
        }
        // No object is placed before the cluster is claimed.
        None => match find(&cluster.client, selector).await?.as_slice() {
            [] => return Ok(()),
            objects => {
                return Err(ProviderError(format!(
                    "{} objects with the label {selector} are in {context}, which the run does not claim: they are left \
                     alone; `kubectl --context {context} get all --all-namespaces --selector {selector}` lists them",
                    objects.len()
                )));
            }
        },
    };
    remove(&cluster, selector).await?;
    claim.release(&cluster.client).await
}

/// Removes all objects with a label, and waits until they are gone.
async fn remove(cluster: &Cluster, selector: &str) -> Result<(), ProviderError> {
    let clock = Clock::real();
    loop {
        let copies = find(&cluster.client, selector).await?;
        let [(_, first), ..] = copies.as_slice() else { return Ok(()) };
        if clock.elapsed() > TIMEOUT {
            let (count, context) = (copies.len(), &cluster.allowed.context);
            let first = first.name_any();
            return Err(ProviderError(format!(
                "{count} objects of the run cannot be removed from {context}: {first}, …"
            )));
        }
        for (kind, copy) in &copies {
            let api = match copy.namespace() {
                Some(namespace) => {
                    Api::<DynamicObject>::namespaced_with(cluster.client.clone(), &namespace, kind)
                }
                None => Api::all_with(cluster.client.clone(), kind),
            };
            // It may be gone already.
            let _ = api.delete(&copy.name_any(), &DeleteParams::background()).await;
        }
        clock.sleep(PAUSE).await;
    }
}

/// The objects with the label.
pub(super) async fn find(
    client: &Client,
    selector: &str,
) -> Result<Vec<(ApiResource, DynamicObject)>, ProviderError> {
    let mut found = Vec::new();
    for (group, version, kind, plural) in KINDS {
        let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        let listed = api.list(&ListParams::default().labels(selector)).await;
        let listed = listed.map_err(|error| ProviderError(format!("{plural} cannot be listed: {error}")))?;
        found.extend(listed.items.into_iter().map(|object| (kind.clone(), object)));
    }
    Ok(found)
}
