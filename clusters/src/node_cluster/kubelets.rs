//! All kubelets in one task: registration of Nodes, renewal of Leases, and status updates.

use std::collections::BTreeMap;
use std::sync::Arc;

use capsize_clock::{Clock, Stream, whole_seconds};
use capsize_sorted::CollectSorted;
use futures::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams, Request};
use kube::client::Body;
use kube::{Api, Client};
use rand::RngExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::cluster::{Machine, NodeSpec, Nodes};
use super::stage::Stages;

/// The number of different heartbeat times in a period, so that thousands of kubelets share few timers.
const PARTS: u32 = 100;
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// The state of one kubelet.
struct KubeletState {
    spec: NodeSpec,
    /// True if the heartbeat time has been drawn.
    spread: bool,
    /// The last posted conditions, and the time of the post; `None` until the kubelet is registered.
    posted: Option<([(&'static str, bool); 4], Instant)>,
    /// The time at which each condition last changed.
    since: BTreeMap<&'static str, Timestamp>,
    leases: bool,
}

/// The clients and settings with which kubelets write to the API server.
pub(super) struct LeaseWriter {
    client: Client,
    nodes: Api<Node>,
    leases: Api<Lease>,
    clock: Clock,
    stages: Stages,
    kubelets: Nodes,
}

/// The patch that renews a Lease.
#[derive(Debug, Serialize)]
struct LeasePatch<'a> {
    spec: LeaseSpecPatch<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LeaseSpecPatch<'a> {
    holder_identity: &'a str,
    lease_duration_seconds: u64,
    renew_time: String,
}

/// Runs the kubelets of all nodes. Never returns.
/// `shuts_down` is notified when a node begins to shut down.
pub(super) async fn run(writer: LeaseWriter, shuts_down: Arc<Notify>, mut chance: Stream) {
    let fresh = |(name, node): (&String, &Machine)| {
        let spec = node.spec.clone();
        (
            name.clone(),
            KubeletState { spec, spread: false, posted: None, since: BTreeMap::new(), leases: false },
        )
    };
    let all = writer.kubelets.iter().map(fresh).collect();
    let mut due: BTreeMap<Instant, Vec<(String, KubeletState)>> = [(Instant::now(), all)].collect_sorted();
    while let Some(at) = due.keys().next().copied() {
        tokio::select! {
            biased;
            () = sleep_until(at) => {}
            () = shuts_down.notified() => {
                // Such a node does not wait for its next heartbeat (`pkg/kubelet/nodeshutdown`).
                for (name, own) in due.values_mut().flatten() {
                    writer.report_shutdown(name, own).await;
                }
                continue;
            }
        }
        let mut kubelets = due.remove(&at).unwrap_or_default();
        let is_connected =
            |name: &str| writer.kubelets.get(name).is_some_and(|node| node.kubelet.is_connected());
        let connected = kubelets.iter_mut().filter(|(name, _)| is_connected(name));
        join_all(connected.map(|(name, own)| writer.beat(name, own))).await;
        for (name, mut own) in kubelets {
            let heartbeat = writer.stages.heartbeat;
            let pause = match std::mem::replace(&mut own.spread, true) {
                true => heartbeat,
                // The first heartbeat is immediate; later ones are spread over the period.
                false => heartbeat * chance.random_range(0..PARTS) / PARTS,
            };
            due.entry(at + pause).or_default().push((name, own));
        }
    }
}

impl LeaseWriter {
    pub(super) fn new(client: Client, clock: Clock, stages: Stages, kubelets: Nodes) -> Self {
        let leases = Api::namespaced(client.clone(), LEASE_NAMESPACE);
        Self { nodes: Api::all(client.clone()), client, leases, clock, stages, kubelets }
    }

    /// Posts the status of a registered node that has begun to shut down.
    async fn report_shutdown(&self, name: &str, own: &mut KubeletState) {
        let Some(kubelet) = self.kubelets.get(name).map(|node| &node.kubelet) else { return };
        let conditions = kubelet.conditions();
        if kubelet.is_shutting_down() && own.posted.is_some_and(|(posted, _)| posted != conditions) {
            self.post(name, own, conditions, kubelet.clock(self.clock.now())).await;
        }
    }

    /// Registers the node, renews its Lease, and posts its status if it is due.
    /// A failed request is repeated at the next heartbeat, as in a kubelet.
    async fn beat(&self, name: &str, own: &mut KubeletState) {
        if own.posted.is_none() {
            create(&self.nodes, &node(name, &own.spec)).await;
        }
        let Some(kubelet) = self.kubelets.get(name).map(|node| &node.kubelet) else { return };
        let time = kubelet.clock(self.clock.now());
        let lasts = (self.stages.heartbeat * 4).as_secs();
        let renewed = LeaseSpecPatch {
            holder_identity: name,
            lease_duration_seconds: lasts,
            renew_time: micro_time(time),
        };
        if own.leases {
            own.leases = self.renew(name, renewed).await;
        } else {
            let metadata = json!({ "name": name, "namespace": LEASE_NAMESPACE });
            own.leases = create(&self.leases, &json!({ "metadata": metadata, "spec": renewed })).await;
        }
        let conditions = kubelet.conditions();
        let due =
            own.posted.is_none_or(|(posted, at)| posted != conditions || at.elapsed() >= self.stages.report);
        if due || self.contradicted(name, conditions) {
            self.post(name, own, conditions, time).await;
        }
    }

    /// Renews an existing Lease.
    async fn renew(&self, name: &str, renewed: LeaseSpecPatch<'_>) -> bool {
        let patch = Patch::Merge(LeasePatch { spec: renewed });
        let request = Request::new(self.leases.resource_url());
        self.send(request.patch(name, &PatchParams::default(), &patch)).await
    }

    /// Sends a request, and returns true on success.
    /// The response is not parsed, because renewals are more frequent than all other writes together.
    async fn send(&self, request: Result<http::Request<Vec<u8>>, kube::core::request::Error>) -> bool {
        let Ok(request) = request else { return false };
        let answer = self.client.send(request.map(Body::from)).await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// Returns true if the Ready condition in the Node differs from that of the kubelet.
    /// The conditions differ after a controller has set them to Unknown, or after the Node was created again.
    fn contradicted(&self, name: &str, conditions: [(&'static str, bool); 4]) -> bool {
        let says = if conditions[0].1 { "True" } else { "False" };
        self.kubelets.get(name).is_none_or(|node| !node.has_ready_status(says))
    }

    async fn post(
        &self,
        name: &str,
        own: &mut KubeletState,
        conditions: [(&'static str, bool); 4],
        time: Timestamp,
    ) {
        let time = whole_seconds(time);
        let before = own.posted.map(|(conditions, _)| conditions);
        for (place, (kind, holds)) in conditions.iter().enumerate() {
            if before.is_none_or(|before| before[place].1 != *holds) {
                own.since.insert(kind, time);
            }
        }
        let written: Vec<Value> =
            conditions.iter().map(|reported| condition(*reported, time, own.since[reported.0])).collect();
        let room = &own.spec.room;
        let status = json!({ "status": { "conditions": written, "capacity": room, "allocatable": room } });
        let (request, patch) = (Request::new(self.nodes.resource_url()), Patch::Strategic(status));
        if self.send(request.patch_subresource("status", name, &PatchParams::default(), &patch)).await {
            own.posted = Some((conditions, Instant::now()));
        }
    }
}

fn condition((kind, holds): (&'static str, bool), time: Timestamp, since: Timestamp) -> Value {
    let (reason, message) = match (kind, holds) {
        ("Ready", true) => ("KubeletReady", "kubelet is posting ready status"),
        ("Ready", false) => ("KubeletNotReady", "container runtime is down"),
        (_, true) => ("KubeletHasPressure", "kubelet is short of it"),
        (_, false) => ("KubeletHasNoPressure", "kubelet has enough of it"),
    };
    json!({
        "type": kind,
        "status": if holds { "True" } else { "False" },
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": time,
        "lastTransitionTime": since,
    })
}

fn node(name: &str, spec: &NodeSpec) -> Value {
    let mut labels = spec.labels.clone();
    let own = [("kubernetes.io/hostname", Some(name)), ("kubernetes.io/os", Some("linux"))];
    let place = [
        ("beta.kubernetes.io/os", Some("linux")),
        ("kubernetes.io/arch", Some("amd64")),
        ("beta.kubernetes.io/arch", Some("amd64")),
        ("topology.kubernetes.io/region", spec.region.as_deref()),
        ("topology.kubernetes.io/zone", spec.zone.as_deref()),
    ];
    for (key, value) in own.into_iter().chain(place) {
        if let Some(value) = value {
            labels.insert(key.to_owned(), value.to_owned());
        }
    }
    json!({ "metadata": { "name": name, "labels": labels } })
}

/// Creates an object. Returns true if it exists afterwards.
async fn create<K>(api: &Api<K>, object: &Value) -> bool
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Serialize + kube::Resource,
{
    let Ok(object) = serde_json::from_value::<K>(object.clone()) else { return false };
    match api.create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) => status.is_already_exists(),
        created => created.is_ok(),
    }
}

/// Formats a `metav1.MicroTime`, which always has six decimals.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}
