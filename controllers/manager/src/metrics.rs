//! Writes the answer of `/metrics`: the gauges about members, and the metrics of the controllers.
//!
//! The gauges have the names of the real controller manager, and are read from the Cluster objects at each request.
//! Source: karmada-io/karmada `pkg/metrics/cluster.go`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use capsize_controllers::Metrics;
use capsize_controllers::api::Cluster;
use capsize_controllers::rules::milli;
use kube::ResourceExt;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Labels = Vec<(String, String)>;
type Value = Gauge<f64, AtomicU64>;

/// The metrics in the text format of Prometheus.
pub(crate) fn text(clusters: &[Arc<Cluster>], leads: bool, counted: &Metrics) -> String {
    let mut registry = Registry::default();
    let lead = Family::<Labels, Value>::default();
    lead.get_or_create(&vec![("name".into(), crate::leader::LEASE.into())]).set(f64::from(u8::from(leads)));
    registry.register("leader_election_master_status", "Whether this process leads.", lead);
    for (name, help, value) in GAUGES {
        let family = Family::<Labels, Value>::default();
        for cluster in clusters {
            if let Some(value) = value(cluster) {
                let labels = ["member_cluster", "cluster_name"];
                let labels = labels.map(|label| (label.to_owned(), cluster.name_any()));
                family.get_or_create(&labels.to_vec()).set(value);
            }
        }
        registry.register(*name, *help, family);
    }
    let mut text = String::new();
    counted.write_to(&mut text);
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

type ReadValue = fn(&Cluster) -> Option<f64>;

const GAUGES: &[(&str, &str, ReadValue)] = &[
    ("cluster_ready_state", "State of the cluster (1 if ready, 0 otherwise).", |cluster| {
        let status = cluster.status.as_ref();
        let ready = status.is_some_and(|status| {
            status.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
        });
        Some(f64::from(u8::from(ready)))
    }),
    ("cluster_node_number", "Number of nodes in the cluster.", |cluster| {
        Some(f64::from(cluster.status.as_ref()?.node_summary.as_ref()?.total_num))
    }),
    ("cluster_ready_node_number", "Number of ready nodes in the cluster.", |cluster| {
        Some(f64::from(cluster.status.as_ref()?.node_summary.as_ref()?.ready_num))
    }),
    ("cluster_cpu_allocatable_number", "Number of allocatable CPUs in the cluster.", |cluster| {
        resource(cluster, false, "cpu")
    }),
    ("cluster_memory_allocatable_bytes", "Allocatable memory in the cluster, in bytes.", |cluster| {
        resource(cluster, false, "memory")
    }),
    ("cluster_pod_allocatable_number", "Number of allocatable pods in the cluster.", |cluster| {
        resource(cluster, false, "pods")
    }),
    ("cluster_cpu_allocated_number", "Number of allocated CPUs in the cluster.", |cluster| {
        resource(cluster, true, "cpu")
    }),
    ("cluster_memory_allocated_bytes", "Allocated memory in the cluster, in bytes.", |cluster| {
        resource(cluster, true, "memory")
    }),
    ("cluster_pod_allocated_number", "Number of allocated pods in the cluster.", |cluster| {
        resource(cluster, true, "pods")
    }),
];

fn resource(cluster: &Cluster, allocated: bool, name: &str) -> Option<f64> {
    let summary = cluster.status.as_ref()?.resource_summary.as_ref()?;
    let resources = if allocated { &summary.allocated } else { &summary.allocatable };
    Some(milli(resources.get(name)?)? as f64 / 1000.0)
}
