//! The metrics of the node controllers, with the names and the buckets of the real ones.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/metrics.go`, `pkg/controller/tainteviction/metrics/metrics.go`.
//! The duration of a deletion is in seconds; 1.36 reports it in a wrong unit (#141311).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::rules::node::NodeCounts;

type Labels = [(&'static str, String); 1];
type ZoneGauges = Family<Labels, Gauge<f64, AtomicU64>>;

/// The metrics of one process. Clones share them.
#[derive(Clone)]
pub struct NodeMetrics(Arc<Metrics>);

struct Metrics {
    registry: Registry,
    health: ZoneGauges,
    size: ZoneGauges,
    unhealthy: ZoneGauges,
    evictions: Family<Labels, Counter>,
    check: Histogram,
    check_all: Histogram,
    deletions: Counter,
    deletion: Histogram,
}

impl Default for NodeMetrics {
    fn default() -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            health: ZoneGauges::default(),
            size: ZoneGauges::default(),
            unhealthy: ZoneGauges::default(),
            evictions: Family::default(),
            check: Histogram::new(exponential_buckets(0.001, 4.0, 8)),
            check_all: Histogram::new(exponential_buckets(0.01, 4.0, 8)),
            deletions: Counter::default(),
            deletion: Histogram::new([
                0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0,
            ]),
        };
        metrics.register();
        Self(Arc::new(metrics))
    }
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeMetrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// The registry appends `_total` to the names of counters, and a full stop to the help texts.
    fn register(&mut self) {
        let nodes = self.registry.sub_registry_with_prefix("node_collector");
        nodes.register("zone_health", "Percentage of healthy nodes per zone", self.health.clone());
        nodes.register("zone_size", "Number of registered nodes per zone", self.size.clone());
        nodes.register(
            "unhealthy_nodes_in_zone",
            "Number of not ready nodes per zone",
            self.unhealthy.clone(),
        );
        nodes.register("evictions", "Number of node evictions since the start", self.evictions.clone());
        nodes.register(
            "update_node_health_duration_seconds",
            "Time to update the health of a single node",
            self.check.clone(),
        );
        nodes.register(
            "update_all_nodes_health_duration_seconds",
            "Time to update the health of all nodes",
            self.check_all.clone(),
        );
        let pods = self.registry.sub_registry_with_prefix("taint_eviction_controller");
        pods.register("pod_deletions", "Number of pods deleted since the start", self.deletions.clone());
        pods.register(
            "pod_deletion_duration_seconds",
            "Time from when a taint takes effect on a pod to its deletion",
            self.deletion.clone(),
        );
    }
}

fn zone_label(zone: &str) -> Labels {
    [("zone", zone.to_owned())]
}

impl NodeMetrics {
    /// All metrics as text, in the format of Prometheus.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    /// Creates the counter of a new zone.
    pub(super) fn add_zone(&self, zone: &str) {
        drop(self.0.evictions.get_or_create(&zone_label(zone)));
    }

    /// Records the numbers of nodes of a zone. A zone in which no node counts is healthy.
    pub(super) fn set_counts(&self, zone: &str, counts: NodeCounts) {
        let (size, ready) = (counts.size() as f64, counts.ready as f64);
        let health = if counts.size() == 0 { 100.0 } else { 100.0 * ready / size };
        self.0.health.get_or_create(&zone_label(zone)).set(health);
        self.0.size.get_or_create(&zone_label(zone)).set(size);
        self.0.unhealthy.get_or_create(&zone_label(zone)).set(counts.not_ready as f64);
    }

    /// Counts a node of the zone that was tainted or drained.
    pub(super) fn count_eviction(&self, zone: &str) {
        self.0.evictions.get_or_create(&zone_label(zone)).inc();
    }

    /// Records how long a check of one node took.
    pub(super) fn record_check(&self, took: Duration) {
        self.0.check.observe(took.as_secs_f64());
    }

    /// Records how long a check of all nodes took.
    pub(super) fn record_check_of_all(&self, took: Duration) {
        self.0.check_all.observe(took.as_secs_f64());
    }

    /// Counts the deletion of a pod, and records how long after its due time it was deleted.
    pub(crate) fn record_deletion(&self, after: Duration) {
        self.0.deletions.inc();
        self.0.deletion.observe(after.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_names_labels_and_values_of_the_real_controllers() {
        let metrics = NodeMetrics::default();
        metrics.add_zone("r:\0:a");
        metrics.set_counts("r:\0:a", NodeCounts { ready: 3, not_ready: 1 });
        metrics.set_counts("", NodeCounts::default());
        metrics.count_eviction("r:\0:a");
        metrics.record_check(Duration::from_millis(2));
        metrics.record_check_of_all(Duration::from_millis(20));
        metrics.record_deletion(Duration::from_millis(30));
        let text = metrics.text();
        for line in [
            "node_collector_zone_health{zone=\"r:\0:a\"} 75.0",
            "node_collector_zone_health{zone=\"\"} 100.0",
            "node_collector_zone_size{zone=\"r:\0:a\"} 4.0",
            "node_collector_unhealthy_nodes_in_zone{zone=\"r:\0:a\"} 1.0",
            "node_collector_evictions_total{zone=\"r:\0:a\"} 1",
            "node_collector_update_node_health_duration_seconds_bucket{le=\"0.004\"} 1",
            "node_collector_update_all_nodes_health_duration_seconds_bucket{le=\"0.01\"} 0",
            "taint_eviction_controller_pod_deletions_total 1",
            "taint_eviction_controller_pod_deletion_duration_seconds_bucket{le=\"0.025\"} 0",
            "taint_eviction_controller_pod_deletion_duration_seconds_bucket{le=\"0.1\"} 1",
            "taint_eviction_controller_pod_deletion_duration_seconds_sum 0.03",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
