//! The metrics of a recording, in the text format of Prometheus, and the server of `/metrics`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use capsize_history::{Entry, Kind};
use capsize_judge::guarantee::{Outcome, Verdict};
use capsize_manager::Answers;
use capsize_runner::record::RecordingNotice;
use http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

type Labels = [(&'static str, String); 1];
type PerLabel = Family<Labels, Gauge<f64, AtomicU64>>;

/// The metrics of one recording.
pub(super) struct Metrics {
    registry: Registry,
    events: Counter,
    observed: PerLabel,
    margin: PerLabel,
    held: PerLabel,
    violations: PerLabel,
    undecided: PerLabel,
}

impl Metrics {
    /// Metrics of a recording of these clusters, none of which has answered yet.
    pub(super) fn of(clusters: &[String]) -> Arc<Self> {
        let mut registry = Registry::with_prefix("capsize");
        let mut gauge = |name: &str, help: &str, unit: Option<Unit>| {
            let family = PerLabel::default();
            match unit {
                Some(unit) => registry.register_with_unit(name, help, unit, family.clone()),
                None => registry.register(name, help, family.clone()),
            }
            family
        };
        let observed =
            gauge("cluster_observed", "Whether the cluster answers the recorder (1) or not (0)", None);
        let help = "Smallest distance to the bound of the guarantee so far; negative after a violation";
        let margin = gauge("guarantee_margin", help, Some(Unit::Seconds));
        let held = gauge("guarantee_held", "How often the guarantee has held", None);
        let violations = gauge("guarantee_violations", "How often the guarantee was violated", None);
        let help = "How often the observation was too inexact to decide";
        let undecided = gauge("guarantee_undecided", help, None);
        let events = Counter::default();
        registry.register("recorded_events", "Recorded versions of objects", events.clone());
        for cluster in clusters {
            observed.get_or_create(&[("cluster", cluster.clone())]).set(0.0);
        }
        Arc::new(Self { registry, events, observed, margin, held, violations, undecided })
    }

    /// Counts an entry of the recording.
    pub(super) fn count(&self, entry: &Entry) {
        if let Kind::Event { .. } = entry.kind {
            self.events.inc();
        }
    }

    /// Takes note of which clusters answer.
    pub(super) fn record_notice(&self, notice: &RecordingNotice, clusters: &[String]) {
        let set = |cluster: &String, value| {
            self.observed.get_or_create(&[("cluster", cluster.clone())]).set(value);
        };
        match notice {
            RecordingNotice::Complete => clusters.iter().for_each(|cluster| set(cluster, 1.0)),
            RecordingNotice::Back(cluster) => set(cluster, 1.0),
            RecordingNotice::Unreachable(cluster, _) => set(cluster, 0.0),
        }
    }

    /// Shows a verdict on the recording so far.
    pub(super) fn set(&self, verdict: &Verdict) {
        let (held, violations, undecided) = match &verdict.outcome {
            Outcome::Held { times, .. } => (*times, 0, 0),
            Outcome::Undecided { held, times, .. } => (*held, 0, *times),
            Outcome::Violated { held, undecided, times, .. } => (*held, *times, *undecided),
            Outcome::NotExercised | Outcome::Skipped(_) => return,
        };
        let labels = [("guarantee", verdict.spec.id.to_owned())];
        let counts = [(&self.held, held), (&self.violations, violations), (&self.undecided, undecided)];
        for (gauge, count) in counts {
            gauge.get_or_create(&labels).set(count as f64);
        }
        match margin(&verdict.outcome) {
            Some(margin) => _ = self.margin.get_or_create(&labels).set(margin),
            None => _ = self.margin.remove(&labels),
        }
    }

    /// The answer to requests for `/metrics`.
    pub(super) fn answers(self: &Arc<Self>) -> Answers {
        let metrics = Arc::clone(self);
        Arc::new(move |path| {
            if path != "/metrics" {
                return None;
            }
            let mut text = String::new();
            // Writing to a string does not fail.
            let _ = encode(&mut text, &metrics.registry);
            Some((StatusCode::OK, text))
        })
    }
}

/// The smallest distance to the bound in seconds, if the guarantee has a bound in time.
fn margin(outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Held { margin, .. } | Outcome::Undecided { margin, .. } => {
            margin.map(|margin| margin.as_secs_f64())
        }
        Outcome::Violated { evidence, .. } => {
            let short = evidence.iter().filter_map(|evidence| evidence.short_by).max();
            short.map(|short| -short.as_secs_f64())
        }
        Outcome::NotExercised | Outcome::Skipped(_) => None,
    }
}
