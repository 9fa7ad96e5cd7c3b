//! Renews the Lease of a Pull member, which shows the control plane that the agent is alive.
//!
//! client-go's lease controller (`k8s.io/component-helpers/apimachinery/lease`) without its jitter.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Patch;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::api::{Cluster, NAMESPACE_CLUSTER_LEASES};
use crate::machinery::{Context, Error, create, send};

/// The delay after a first failure; each further failure doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// The longest delay after a failure.
const LAST_RETRY: Duration = Duration::from_secs(7);

/// Renews the Lease of the cluster called `name`, for ever.
/// The Lease is deleted with its Cluster, and made again for a Cluster that is made again.
pub(super) async fn keep_renewed(context: Arc<Context>, name: String) {
    let settings = &context.settings;
    let interval = settings.cluster_lease_duration.mul_f64(settings.cluster_lease_renew_interval_fraction);
    let mut retry = FIRST_RETRY;
    loop {
        let pause = match renew(&context, &name).await {
            Ok(()) => {
                retry = FIRST_RETRY;
                interval
            }
            Err(error) => {
                tracing::debug!(cluster = name, %error, "a lease was not renewed");
                let pause = retry;
                retry = LAST_RETRY.min(retry * 2);
                pause
            }
        };
        context.clock.sleep(pause).await;
    }
}

async fn renew(context: &Context, name: &str) -> Result<(), Error> {
    let leases = Api::<Lease>::namespaced(context.client.clone(), NAMESPACE_CLUSTER_LEASES);
    // `metav1.MicroTime`: six decimals, always.
    let now = format!("{:.6}", context.clock.now());
    let renewal = json!({ "spec": { "renewTime": now } });
    match send(&leases, name, None, &Patch::Merge(&renewal)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        outcome => return Ok(outcome?),
    }
    let Some(cluster) = context.clusters.get("", name) else { return Ok(()) };
    ensure_namespace(context).await?;
    let seconds = context.settings.cluster_lease_duration.as_secs();
    Ok(create(&leases, lease(&cluster, seconds, &now)).await?)
}

/// The owner reference makes the garbage collector delete the Lease with its Cluster.
fn lease(cluster: &Cluster, seconds: u64, now: &str) -> Value {
    let name = cluster.name_any();
    json!({
        "metadata": { "name": name, "ownerReferences": Vec::from_iter(cluster.owner_ref(&())) },
        "spec": { "holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": now },
    })
}

async fn ensure_namespace(context: &Context) -> Result<(), Error> {
    let namespaces = Api::<Namespace>::all(context.client.clone());
    match create(&namespaces, json!({ "metadata": { "name": NAMESPACE_CLUSTER_LEASES } })).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        outcome => Ok(outcome?),
    }
}
