//! The metrics of the controllers, with the names and the buckets of the real ones.
//!
//! karmada-io/karmada v1.18.2 `pkg/metrics/{cluster,resource}.go`, `pkg/scheduler/metrics/metrics.go`. Both labels of a
//! member are given: `member_cluster`, as from 1.16, and its predecessor `cluster_name`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

type Labels<const N: usize> = [(&'static str, String); N];
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// The metrics of one process. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<MetricSet>);

struct MetricSet {
    registry: Registry,
    status_syncs: Histograms<2>,
    matches: Histogram,
    applications: Histograms<1>,
    attempts: Family<Labels<1>, Counter>,
    preemptions: Family<Labels<1>, Counter>,
    work_syncs: Histograms<1>,
    workload_syncs: Histograms<1>,
    schedules: Histograms<2>,
    schedule_attempts: Family<Labels<2>, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let by_cluster: fn() -> Histogram =
            || Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);
        let by_result: fn() -> Histogram = resource_histogram;
        let mut set = MetricSet {
            registry: Registry::default(),
            status_syncs: Histograms::new_with_constructor(by_cluster),
            matches: resource_histogram(),
            applications: Histograms::new_with_constructor(by_result),
            attempts: Family::default(),
            preemptions: Family::default(),
            work_syncs: Histograms::new_with_constructor(by_result),
            workload_syncs: Histograms::new_with_constructor(by_result),
            schedules: Histograms::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 2.0, 15))
            }),
            schedule_attempts: Family::default(),
        };
        set.register();
        Self(Arc::new(set))
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Metrics").finish_non_exhaustive()
    }
}

fn resource_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 12))
}

impl MetricSet {
    /// The registry appends `_total` to the names of counters, and a full stop to the help texts.
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "cluster_sync_status_duration_seconds",
            "Time to probe a member and to write its status",
            self.status_syncs.clone(),
        );
        registry.register(
            "resource_match_policy_duration_seconds",
            "Time to find the policy that a template belongs to",
            self.matches.clone(),
        );
        registry.register(
            "resource_apply_policy_duration_seconds",
            "Time to do to a template what its policy says",
            self.applications.clone(),
        );
        registry.register(
            "policy_apply_attempts",
            "How often that was done to a template which its policy says",
            self.attempts.clone(),
        );
        registry.register(
            "policy_preemption",
            "How often a policy took a template from another",
            self.preemptions.clone(),
        );
        registry.register(
            "binding_sync_work_duration_seconds",
            "Time to bring the Works of a binding in line with it",
            self.work_syncs.clone(),
        );
        registry.register(
            "work_sync_workload_duration_seconds",
            "Time to write to a member what a Work says",
            self.workload_syncs.clone(),
        );
        registry.register(
            "karmada_scheduler_e2e_scheduling_duration_seconds",
            "Time to work out where a binding goes, and to write it",
            self.schedules.clone(),
        );
        registry.register(
            "karmada_scheduler_schedule_attempts",
            "How often it was worked out where a binding goes",
            self.schedule_attempts.clone(),
        );
    }
}

fn result_label(succeeded: bool) -> Labels<1> {
    [("result", if succeeded { "success" } else { "error" }.to_owned())]
}

fn cluster_labels(cluster: &str) -> Labels<2> {
    ["member_cluster", "cluster_name"].map(|label| (label, cluster.to_owned()))
}

impl Metrics {
    /// Appends all metrics to a text in the format of Prometheus, without its end marker.
    pub fn write_to(&self, text: &mut String) {
        // Writing to a string does not fail.
        let _ = encode_registry(text, &self.0.registry);
    }

    /// Records how long a probe of a member, with the write of its result, took.
    pub(crate) fn status_synced(&self, cluster: &str, took: Duration) {
        self.0.status_syncs.get_or_create(&cluster_labels(cluster)).observe(took.as_secs_f64());
    }

    /// Removes the metrics of a member that has left the fleet.
    pub(crate) fn forget(&self, cluster: &str) {
        self.0.status_syncs.remove(&cluster_labels(cluster));
    }

    /// Records how long it took to find the policy of a template.
    pub(crate) fn matched(&self, took: Duration) {
        self.0.matches.observe(took.as_secs_f64());
    }

    /// Records how long it took to apply a policy to a template, or to fail.
    pub(crate) fn applied(&self, succeeded: bool, took: Duration) {
        self.0.applications.get_or_create(&result_label(succeeded)).observe(took.as_secs_f64());
        self.0.attempts.get_or_create(&result_label(succeeded)).inc();
    }

    /// Counts a policy that took a template from another, or failed to.
    pub(crate) fn preempted(&self, succeeded: bool) {
        self.0.preemptions.get_or_create(&result_label(succeeded)).inc();
    }

    /// Records how long it took to write the Works of a binding, or to fail.
    pub(crate) fn works_synced(&self, succeeded: bool, took: Duration) {
        self.0.work_syncs.get_or_create(&result_label(succeeded)).observe(took.as_secs_f64());
    }

    /// Records how long it took to write a manifest to its member, or to fail.
    pub(crate) fn workload_synced(&self, succeeded: bool, took: Duration) {
        self.0.workload_syncs.get_or_create(&result_label(succeeded)).observe(took.as_secs_f64());
    }

    /// Records how long it took to schedule a binding, or to fail; `scales` if only the replicas changed.
    pub(crate) fn scheduled(&self, succeeded: bool, scales: bool, took: Duration) {
        let labels = [
            ("result", if succeeded { "scheduled" } else { "error" }.to_owned()),
            ("schedule_type", if scales { "ScaleSchedule" } else { "ReconcileSchedule" }.to_owned()),
        ];
        self.0.schedules.get_or_create(&labels).observe(took.as_secs_f64());
        self.0.schedule_attempts.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_names_labels_and_values_of_the_real_controllers() {
        let metrics = Metrics::default();
        metrics.status_synced("m1", Duration::from_millis(7));
        metrics.status_synced("m2", Duration::from_millis(7));
        metrics.forget("m2");
        metrics.matched(Duration::from_millis(3));
        metrics.applied(true, Duration::from_millis(3));
        metrics.applied(false, Duration::from_millis(3));
        metrics.works_synced(true, Duration::from_secs(5));
        metrics.workload_synced(false, Duration::from_millis(1));
        metrics.preempted(false);
        metrics.scheduled(true, true, Duration::from_secs(17));
        metrics.scheduled(false, false, Duration::ZERO);
        let mut text = "before\n".to_owned();
        metrics.write_to(&mut text);
        for line in [
            "before",
            "cluster_sync_status_duration_seconds_bucket{le=\"0.01\",member_cluster=\"m1\",cluster_name=\"m1\"} 1",
            "cluster_sync_status_duration_seconds_bucket{le=\"0.005\",member_cluster=\"m1\",cluster_name=\"m1\"} 0",
            "resource_match_policy_duration_seconds_bucket{le=\"0.004\"} 1",
            "resource_apply_policy_duration_seconds_count{result=\"success\"} 1",
            "policy_apply_attempts_total{result=\"error\"} 1",
            "binding_sync_work_duration_seconds_bucket{le=\"2.048\",result=\"success\"} 0",
            "work_sync_workload_duration_seconds_bucket{le=\"0.001\",result=\"error\"} 1",
            "policy_preemption_total{result=\"error\"} 1",
            "karmada_scheduler_e2e_scheduling_duration_seconds_bucket{le=\"16.384\",result=\"scheduled\",schedule_type=\"ScaleSchedule\"} 0",
            "karmada_scheduler_schedule_attempts_total{result=\"error\",schedule_type=\"ReconcileSchedule\"} 1",
        ] {
            assert!(text.lines().any(|there| there == line), "{line}\n{text}");
        }
        assert!(!text.contains("m2") && !text.contains("# EOF"), "{text}");
    }
}
