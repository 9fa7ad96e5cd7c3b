//! Makes a cluster of booted nodes, with the steps of kind in their order.

use std::time::Duration;

use capsize_clusters::ProviderError;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::api::ListParams;
use kube::{Api, Client};

use super::kubeadm::{self, Address, Form};
use super::node::{ADMIN, Node};

/// The time limit until nodes are ready, and the pause between two looks.
const TIMEOUT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(100);

/// The manifests in the image for the pod network and for volumes.
/// The first is a template with one field.
const MANIFESTS: [&str; 2] = ["/kind/manifests/default-cni.yaml", "/kind/manifests/default-storage.yaml"];

/// The taint of a node that is new or not ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The script that fills in a manifest and creates its objects.
const CREATE: &str =
    r#"sed "s#{{ *\.PodSubnet *}}#$PODS#g" "$MANIFEST" | kubectl --kubeconfig="$ADMIN" create -f -"#;

/// The script that writes the configuration of kubeadm.
const WRITE: &str = r#"mkdir -p "$(dirname "$FILE")" && printf %s "$TEXT" > "$FILE""#;

/// Makes a cluster: the first of `nodes` initializes it, and the others join.
pub(super) async fn boot(cluster: &str, nodes: &[Node]) -> Result<(), ProviderError> {
    let [first, workers @ ..] = nodes else { return Ok(()) };
    let version = first.run(&["cat", "/kind/version"], &[]).await?;
    let form = Form::of(&version).map_err(ProviderError)?;
    init(form, &version, cluster, first).await?;
    for manifest in MANIFESTS {
        let environment = [("PODS", kubeadm::PODS), ("MANIFEST", manifest), ("ADMIN", ADMIN)];
        first.run(&["sh", "-c", CREATE], &environment).await?;
    }
    // The control plane node runs workloads too, and takes part in load balancing.
    let all = ["kubectl", "--kubeconfig", ADMIN];
    let taint = ["taint", "nodes", "--all", "node-role.kubernetes.io/control-plane-"];
    let label = ["label", "nodes", "--all", "node.kubernetes.io/exclude-from-external-load-balancers-"];
    first.run(&[&all[..], &taint].concat(), &[]).await?;
    first.run(&[&all[..], &label].concat(), &[]).await?;
    try_join_all(workers.iter().map(|worker| join(form, cluster, first, worker))).await.map(drop)
}

async fn init(form: Form, version: &str, cluster: &str, node: &Node) -> Result<(), ProviderError> {
    let address = node.address.to_string();
    let address = Address { cluster, name: &node.name, address: &address };
    kubeadm_in(node, "init", &kubeadm::init(form, version, address), &["--skip-token-print"]).await
}

async fn join(form: Form, cluster: &str, first: &Node, node: &Node) -> Result<(), ProviderError> {
    let address = node.address.to_string();
    let address = Address { cluster, name: &node.name, address: &address };
    kubeadm_in(node, "join", &kubeadm::join(form, &first.name, address), &[]).await
}

async fn kubeadm_in(node: &Node, phase: &str, text: &str, more: &[&str]) -> Result<(), ProviderError> {
    node.run(&["sh", "-c", WRITE], &[("FILE", kubeadm::FILE), ("TEXT", text)]).await?;
    let config = format!("--config={}", kubeadm::FILE);
    let command = ["kubeadm", phase, &config, "--skip-phases=preflight", "--v=6"];
    let ran = node.run(&[&command[..], more].concat(), &[]).await;
    match ran {
        Ok(_) => Ok(()),
        Err(error) => Err(ProviderError(format!("{error}\nits journal:\n{}", node.journal().await))),
    }
}

/// Waits until all nodes are in the cluster and ready.
pub(super) async fn ready(nodes: &[Node], client: &Client) -> Result<(), ProviderError> {
    let Some(first) = nodes.first() else { return Ok(()) };
    let (api, clock) = (Api::<NodeObject>::all(client.clone()), first.clock());
    let since = clock.elapsed();
    loop {
        let listed = api.list(&ListParams::default()).await;
        let waiting = match &listed {
            Ok(listed) => listed.items.iter().filter(|node| !is_ready(node)).count(),
            Err(_) => nodes.len(),
        };
        let there = listed.as_ref().map_or(0, |listed| listed.items.len());
        if there == nodes.len() && waiting == 0 {
            return Ok(());
        }
        if clock.elapsed().saturating_sub(since) > TIMEOUT {
            let (count, seconds) = (nodes.len(), TIMEOUT.as_secs());
            let error = listed.err().map(|error| format!(" ({error})")).unwrap_or_default();
            return Err(ProviderError(format!(
                "after {seconds} s, {there} of {count} nodes of {} are there, and {waiting} are not ready{error}; \
                 its journal:\n{}",
                first.name,
                first.journal().await
            )));
        }
        clock.sleep(PAUSE).await;
    }
}

/// Whether the node is ready and free of the taint of new nodes, which is removed a moment later.
fn is_ready(node: &NodeObject) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
        && !taints.into_iter().flatten().any(|taint| taint.key == NOT_READY)
}
