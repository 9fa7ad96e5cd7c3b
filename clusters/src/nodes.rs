//! The Nodes of a member: capacity, a Ready condition, and a Lease that their kubelet renews.

use std::time::Duration;

use capsize_clock::{Clock, whole_seconds};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How often a kubelet renews its Lease: a quarter of the 40 s that it lasts (`nodeLeaseDurationSeconds`).
const RENEWED_EVERY: Duration = Duration::from_secs(10);
const LEASE_SECONDS: u32 = 40;
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Makes the Nodes called `names` and keeps them alive. Never ends.
pub(crate) async fn run_nodes(client: Client, clock: Clock, names: Vec<String>) {
    let nodes: Api<Node> = Api::all(client.clone());
    let leases: Api<Lease> = Api::namespaced(client, LEASE_NAMESPACE);
    for name in &names {
        create(&nodes, &node(name, clock.now())).await;
        // Admission taints a new Node; the node lifecycle controller takes that away from one that is ready.
        let untaint = json!({ "spec": { "taints": null } });
        let _ = nodes.patch(name, &PatchParams::default(), &Patch::Merge(untaint)).await;
        create(&leases, &lease(name, clock.now())).await;
    }
    loop {
        clock.sleep(RENEWED_EVERY).await;
        for name in &names {
            let renewal = json!({ "spec": { "renewTime": micro_time(clock.now()) } });
            // An API server that is away now is asked again at the next renewal, as a kubelet does.
            let _ = leases.patch(name, &PatchParams::default(), &Patch::Merge(renewal)).await;
        }
    }
}

/// Creates what is not there yet.
async fn create<K>(api: &Api<K>, object: &Value)
where
    K: kube::Resource + Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    let object: K = serde_json::from_value(object.clone()).expect("written below in the kind's own shape");
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => {}
        Err(Error::Api(status)) if status.is_already_exists() => {}
        // The runtime is stopping, and the client with it.
        Err(Error::Service(_)) => {}
        // The objects are ours and so is the server: no input of a user leads here.
        Err(error) => panic!("an embedded API server refuses a Node or its Lease: {error}"),
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

/// `metav1.MicroTime`: six decimals, always.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}
