//! Implements the controllers of the hub.
//! The controllers judge the health of clusters, make the decisions of placements, and write the works of replica sets.

use std::time::Duration;

use capsize_clock::Clock;
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::api::{
    DECISIONS, LEASES, MANAGED_CLUSTERS, NAMESPACES, PLACEMENTS, REPLICA_SETS, SET_BINDINGS, Server, WORKS,
    condition, list, text, with_condition,
};
use super::bugs::Bug;

pub(crate) const AVAILABLE: &str = "ManagedClusterConditionAvailable";
pub(crate) const LEASE: &str = "managed-cluster-lease";
const TAINTS: [(&str, &str); 2] = [
    ("Unknown", "cluster.open-cluster-management.io/unreachable"),
    ("False", "cluster.open-cluster-management.io/unavailable"),
];

/// The longest pause between two looks at everything.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// The hub.
pub(crate) struct Hub {
    pub(crate) server: Server,
    pub(crate) clock: Clock,
    pub(crate) bug: Option<Bug>,
}

/// The state of the hub at one time, and when it has to be looked at again.
pub(crate) struct HubView {
    pub(crate) now: Timestamp,
    pub(crate) clusters: Vec<Value>,
    pub(crate) works: Vec<Value>,
    next: Timestamp,
}

impl HubView {
    /// Looks again at this time at the latest.
    pub(crate) fn again_at(&mut self, at: Timestamp) {
        if at > self.now {
            self.next = self.next.min(at);
        }
    }

    pub(crate) fn cluster(&self, name: &str) -> Option<&Value> {
        self.clusters.iter().find(|cluster| text(cluster, "/metadata/name") == name)
    }

    /// Whether a cluster is available, and the hub has taken away the taints of its last outage.
    pub(crate) fn is_available(&self, name: &str) -> bool {
        self.cluster(name).is_some_and(|cluster| {
            let tainted = |taint: &Value| TAINTS.iter().any(|(_, key)| taint["key"] == *key);
            condition(cluster, AVAILABLE) == "True" && !list(cluster, "/spec/taints").iter().any(tainted)
        })
    }
}

impl Hub {
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Runs the controllers without end.
    pub(crate) async fn run(self) {
        let watched = [MANAGED_CLUSTERS, LEASES, PLACEMENTS, DECISIONS, SET_BINDINGS, REPLICA_SETS, WORKS];
        let mut changes = self.server.changes(&watched, "").ready_chunks(64);
        loop {
            let pause = match self.look().await {
                Ok(next) => Duration::try_from(next.duration_since(self.clock.now())).unwrap_or_default(),
                Err(_) => AFTER_FAILURE,
            };
            let _ = timeout(pause, changes.next()).await;
        }
    }

    /// Looks at everything once, and returns the time of the next look.
    async fn look(&self) -> kube::Result<Timestamp> {
        let now = self.clock.now();
        let next = now + SignedDuration::try_from(LONGEST_PAUSE).unwrap_or_default();
        let set = json!({"metadata": {"name": "default", "namespace": "default"}, "spec": {"clusterSet": "default"}});
        self.server.create(SET_BINDINGS, set).await?;
        for set in self.server.list(SET_BINDINGS, "").await? {
            let conditions = with_condition(&set, "Bound", "True", &stamp(now));
            self.server.set_status(SET_BINDINGS, &set, json!({"conditions": conditions})).await?;
        }
        let clusters = self.server.list(MANAGED_CLUSTERS, "").await?;
        let works = self.server.list(WORKS, "").await?;
        let mut look = HubView { now, clusters, works, next };
        for cluster in look.clusters.clone() {
            self.observe_cluster(&mut look, &cluster).await?;
        }
        look.clusters = self.server.list(MANAGED_CLUSTERS, "").await?;
        for placement in self.server.list(PLACEMENTS, "").await? {
            self.place(&mut look, &placement).await?;
        }
        self.distribute(&look).await?;
        Ok(look.next)
    }

    /// Sets the condition of a cluster whose lease has run out, and the taints for its condition.
    async fn observe_cluster(&self, look: &mut HubView, cluster: &Value) -> kube::Result<()> {
        let name = text(cluster, "/metadata/name");
        self.server.create(NAMESPACES, json!({"metadata": {"name": name}})).await?;
        let lease = self.server.get(LEASES, name, LEASE).await?.unwrap_or_default();
        let mut available = condition(cluster, AVAILABLE).to_owned();
        if let Ok(renewed) = text(&lease, "/spec/renewTime").parse::<Timestamp>() {
            let lasts = cluster.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(60);
            let times = if self.has(Bug::UnknownTooEarly) { 3 } else { 5 };
            let ends = renewed + SignedDuration::from_secs(times * lasts);
            look.again_at(ends);
            if look.now >= ends && !available.is_empty() && available != "Unknown" {
                available = "Unknown".to_owned();
                let conditions = with_condition(cluster, AVAILABLE, "Unknown", &stamp(look.now));
                self.server.set_status(MANAGED_CLUSTERS, cluster, json!({"conditions": conditions})).await?;
            }
        }
        let present = list(cluster, "/spec/taints");
        let mut taints: Vec<Value> = present.to_vec();
        taints
            .retain(|taint| TAINTS.iter().all(|(status, key)| taint["key"] != *key || available == *status));
        for (status, key) in TAINTS {
            if available == status && taints.iter().all(|taint| taint["key"] != key) {
                taints.push(json!({"key": key, "effect": "NoSelect"}));
            }
        }
        // A person does not say when the taint was added.
        for taint in taints.iter_mut().filter(|taint| taint["timeAdded"].is_null()) {
            let early = SignedDuration::from_secs(if self.has(Bug::StampsAnOldTime) { 30 } else { 0 });
            taint["timeAdded"] = json!(stamp(look.now - early));
        }
        if taints != present {
            let version = &cluster["metadata"]["resourceVersion"];
            let change = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}});
            self.server.patch(MANAGED_CLUSTERS, cluster, change).await?;
        }
        Ok(())
    }
}

/// A time as objects carry it.
pub(crate) fn stamp(at: Timestamp) -> String {
    capsize_clock::whole_seconds(at).to_string()
}
