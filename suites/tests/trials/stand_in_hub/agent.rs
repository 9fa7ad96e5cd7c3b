//! The agent in a member: it renews the lease of its cluster, and applies the works of the hub.

use std::time::Duration;

use capsize_clock::Clock;
use capsize_clusters::AgentSwitch;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::api::{
    APPLIED_WORKS, DEFINITIONS, Kind, LEASES, MANAGED_CLUSTERS, Server, WORKS, condition, is_leaving, list,
    text, with_condition,
};
use super::bugs::Bug;
use super::hub::{AVAILABLE, LEASE, stamp};

/// How often the agent renews the lease and checks the health of its cluster.
const PERIOD: Duration = Duration::from_secs(60);

/// How long the agent waits for the hub.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

const FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";

const DEPLOYMENTS: Kind =
    Kind { group: "apps", version: "v1", name: "Deployment", plural: "deployments", namespaced: true };

/// The agent of one member.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) cluster: String,
    /// The hub, as it is reached from the member.
    pub(crate) hub: Server,
    pub(crate) member: Server,
    pub(crate) clock: Clock,
    pub(crate) bug: Option<Bug>,
}

impl Agent {
    /// Runs the agent, except while the switch of its member keeps it dead.
    pub(crate) async fn run_while_allowed(self, switch: AgentSwitch) {
        loop {
            tokio::select! {
                () = switch.turns(true) => {}
                () = self.clone().run() => {}
            }
            switch.turns(false).await;
        }
    }

    /// Runs the agent without end.
    async fn run(self) {
        let hub = self.hub.changes(&[WORKS], &self.cluster);
        let mut changes = stream::select(hub, self.member.changes(&[DEPLOYMENTS], "")).ready_chunks(64);
        let mut due = Instant::now();
        loop {
            let works = async {
                if Instant::now() >= due {
                    self.check().await?;
                    due = Instant::now() + PERIOD;
                }
                self.work().await
            };
            let worked = timeout(PATIENCE, works).await;
            let pause = match worked {
                Ok(Ok(())) => due.saturating_duration_since(Instant::now()),
                _ => AFTER_FAILURE,
            };
            let _ = timeout(pause, changes.next()).await;
        }
    }

    /// Renews the lease, and then reports the health of the cluster: the other order would end in a flap.
    async fn check(&self) -> kube::Result<()> {
        if self.bug == Some(Bug::ReportsBeforeItRenews) {
            self.report().await?;
            tokio::time::sleep(PATIENCE / 2).await;
        }
        self.renew().await?;
        self.report().await
    }

    async fn renew(&self) -> kube::Result<()> {
        let renewed =
            json!({"spec": {"renewTime": self.clock.now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()}});
        let metadata = json!({"name": LEASE, "namespace": self.cluster});
        match self.hub.get(LEASES, &self.cluster, LEASE).await? {
            Some(lease) => self.hub.patch(LEASES, &lease, renewed).await,
            None => self.hub.create(LEASES, json!({"metadata": metadata, "spec": renewed["spec"]})).await,
        }
    }

    async fn report(&self) -> kube::Result<()> {
        let Some(cluster) = self.hub.get(MANAGED_CLUSTERS, "", &self.cluster).await? else { return Ok(()) };
        let answers = self.member.list(DEPLOYMENTS, "").await.is_ok();
        let available = if answers { "True" } else { "False" };
        if condition(&cluster, AVAILABLE) == available {
            return Ok(());
        }
        let conditions = with_condition(&cluster, AVAILABLE, available, &stamp(self.clock.now()));
        self.hub.set_status(MANAGED_CLUSTERS, &cluster, json!({"conditions": conditions})).await
    }

    /// Applies all works.
    async fn work(&self) -> kube::Result<()> {
        for work in self.hub.list(WORKS, &self.cluster).await? {
            if is_leaving(&work) { self.remove(&work).await? } else { self.apply(&work).await? }
        }
        Ok(())
    }

    async fn remove(&self, work: &Value) -> kube::Result<()> {
        for manifest in list(work, "/spec/workload/manifests") {
            let (namespace, name) = (text(manifest, "/metadata/namespace"), text(manifest, "/metadata/name"));
            self.member.delete(DEPLOYMENTS, namespace, name).await?;
        }
        self.member.delete(APPLIED_WORKS, "", &applied_name(work)).await?;
        self.hub.patch(WORKS, work, json!({"metadata": {"finalizers": null}})).await
    }

    async fn apply(&self, work: &Value) -> kube::Result<()> {
        if list(work, "/metadata/finalizers").is_empty() {
            self.hub.patch(WORKS, work, json!({"metadata": {"finalizers": [FINALIZER]}})).await?;
        }
        let owner = self.applied_work(work).await?;
        let mut reports = Vec::new();
        for manifest in list(work, "/spec/workload/manifests") {
            let (namespace, name) = (text(manifest, "/metadata/namespace"), text(manifest, "/metadata/name"));
            let mut wanted = manifest.clone();
            wanted["metadata"]["ownerReferences"] = json!([owner]);
            let present = self.member.get(DEPLOYMENTS, namespace, name).await?;
            match &present {
                None => self.member.create(DEPLOYMENTS, wanted).await?,
                Some(present) if present["spec"]["replicas"] != wanted["spec"]["replicas"] => {
                    self.member.patch(DEPLOYMENTS, present, json!({"spec": wanted["spec"]})).await?;
                }
                Some(_) => {}
            }
            let ready = present.and_then(|it| it.pointer("/status/readyReplicas").and_then(Value::as_i64));
            let value = json!({"type": "Integer", "integer": ready.unwrap_or_default()});
            reports.push(json!({
                "resourceMeta": {"kind": manifest["kind"], "namespace": namespace, "name": name},
                "statusFeedback": {"values": [{"name": "ReadyReplicas", "fieldValue": value}]},
            }));
        }
        let conditions = with_condition(work, "Applied", "True", &stamp(self.clock.now()));
        let status = json!({"conditions": conditions, "resourceStatus": {"manifests": reports}});
        self.hub.set_status(WORKS, work, status).await
    }

    /// The object in the member that owns the copies of a work, as an owner reference.
    async fn applied_work(&self, work: &Value) -> kube::Result<Value> {
        let name = applied_name(work);
        if self.member.get(APPLIED_WORKS, "", &name).await.ok().flatten().is_none() {
            self.member.create(DEFINITIONS, APPLIED_WORKS.definition()).await?;
            self.member.create(APPLIED_WORKS, json!({"metadata": {"name": name}})).await?;
        }
        let applied = self.member.get(APPLIED_WORKS, "", &name).await?.unwrap_or_default();
        Ok(json!({
            "apiVersion": APPLIED_WORKS.resource().api_version, "kind": APPLIED_WORKS.name,
            "name": name, "uid": applied["metadata"]["uid"],
        }))
    }
}

/// The name of the object in the member: the hash of the hub, and the name of the work.
fn applied_name(work: &Value) -> String {
    format!("f4a1-{}", text(work, "/metadata/name"))
}
