//! The Nodes of a member: capacity, a Ready condition, and a Lease that a kubelet renews.

use std::time::Duration;

use capsize_clock::{Clock, whole_seconds};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams, PostParams, Request};
use kube::{Client, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::deployments::AGAIN_AFTER;

/// The period at which a kubelet renews its Lease.
/// The period is a quarter of the 40 s duration (`nodeLeaseDurationSeconds`).
const RENEWED_EVERY: Duration = Duration::from_secs(10);

const LEASE_SECONDS: u32 = 40;
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Creates the Nodes called `names`, and renews their Leases. Never returns.
pub(crate) async fn run_nodes(client: Client, clock: Clock, names: Vec<String>) {
    let nodes: Api<Node> = Api::all(client.clone());
    let leases: Api<Lease> = Api::namespaced(client, LEASE_NAMESPACE);
    for name in &names {
        register(&nodes, &leases, clock, name).await;
    }
    loop {
        clock.sleep(RENEWED_EVERY).await;
        for name in &names {
            match renew(&leases, name, clock.now()).await {
                // An API server outside this process can lose all objects.
                Err(Error::Api(status)) if status.is_not_found() => {
                    register(&nodes, &leases, clock, name).await;
                }
                // A failed request is repeated at the next renewal, as in a kubelet.
                _ => {}
            }
        }
    }
}

/// Renews a Lease.
/// The response is not parsed, because renewals are more frequent than all other writes together.
async fn renew(leases: &Api<Lease>, name: &str, now: Timestamp) -> Result<(), Error> {
    let renewal = Patch::Merge(json!({ "spec": { "renewTime": micro_time(now) } }));
    let request = Request::new(leases.resource_url()).patch(name, &PatchParams::default(), &renewal);
    let request = request.map_err(Error::BuildRequest)?;
    leases.clone().into_client().request_text(request).await.map(drop)
}

/// Creates a ready Node, and its Lease.
async fn register(nodes: &Api<Node>, leases: &Api<Lease>, clock: Clock, name: &str) {
    create(nodes, clock, || node(name, clock.now())).await;
    // Admission taints a new Node; the node lifecycle controller removes the taint from one that is ready.
    let untaint = json!({ "spec": { "taints": null } });
    while let Err(error) = nodes.patch(name, &PatchParams::default(), &Patch::Merge(&untaint)).await {
        // The Node was deleted in the meantime.
        if matches!(&error, Error::Api(status) if status.is_not_found()) {
            return;
        }
        clock.sleep(AGAIN_AFTER).await;
    }
    create(leases, clock, || lease(name, clock.now())).await;
}

/// Creates an object unless it exists.
async fn create<K>(api: &Api<K>, clock: Clock, object: impl Fn() -> Value)
where
    K: kube::Resource + Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    loop {
        let object: K = serde_json::from_value(object()).expect("written below in the kind's own shape");
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => return,
            Err(Error::Api(status)) if status.is_already_exists() => return,
            // An API server that has just started has no namespaces yet, or does not answer yet.
            Err(_) => clock.sleep(AGAIN_AFTER).await,
        }
    }
}

fn node(name: &str, now: Timestamp) -> Value {
    let resources = json!({ "cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi" });
    let now = whole_seconds(now);
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }],
        },
    })
}

fn lease(name: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": name, "namespace": LEASE_NAMESPACE },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time(now),
        },
    })
}

/// Formats a `metav1.MicroTime`, which always has six decimals.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use capsize_apiserver::ApiServer;
    use capsize_clock::{Seed, simulate};
    use kube::api::DeleteParams;

    use super::*;

    #[test]
    fn a_node_is_there_again_when_the_api_server_has_forgotten_it() {
        simulate(Seed(1), |run| async move {
            let api = ApiServer::builder(run.clock, run.seed.stream("api")).build();
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(run_nodes(api.client(), run.clock, vec!["n1".into()]));
            run.clock.sleep(AGAIN_AFTER).await;
            let (nodes, leases) =
                (Api::<Node>::all(api.client()), Api::<Lease>::namespaced(api.client(), LEASE_NAMESPACE));
            nodes.delete("n1", &DeleteParams::default()).await.unwrap();
            leases.delete("n1", &DeleteParams::default()).await.unwrap();
            run.clock.sleep(RENEWED_EVERY + AGAIN_AFTER).await;
            let node = nodes.get("n1").await.unwrap();
            assert!(node.spec.and_then(|spec| spec.taints).unwrap_or_default().is_empty());
            leases.get("n1").await.unwrap();
        });
    }
}
