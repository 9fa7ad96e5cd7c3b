//! Joins the reference's controllers of nodes to the framework: neither knows the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_controllers::rules::UnknownBug;
use capsize_controllers::rules::node::{NodeBehaviour, NodeRelease, NodeRules, Rates};
use capsize_controllers::{NodeControllerSet, NodeControllers, NodeMetrics, NodeSettings};
use capsize_judge::profile::{Profile, Timings, Zones};
use capsize_runner::run::{Environment, Implementation, RunningImplementation, StartFuture};
use capsize_sorted::CollectSorted;
use futures::future::ready;
use serde_json::Value;

const LIFECYCLE: &str = "node-lifecycle-controller";
const TAINT_EVICTION: &str = "taint-eviction-controller";

/// The reference's controllers of nodes, deciding by these rules.
pub struct NodeReference {
    rules: Arc<dyn NodeRules>,
    controllers: NodeControllerSet,
}

impl NodeReference {
    /// The controllers of nodes with `rules` in the place of their own.
    #[must_use]
    pub fn deciding_by(rules: Arc<dyn NodeRules>) -> Self {
        Self { rules, controllers: NodeSettings::default().controllers }
    }

    /// The controllers of nodes as a profile wants them: like a release, with bugs.
    ///
    /// # Errors
    /// When it names a bug that is not known.
    pub fn of(profile: &Profile) -> Result<Self, UnknownBug> {
        let behaviour = match profile.behaviour.as_deref() {
            Some("1.16") => NodeBehaviour::V1_16,
            Some("1.16-drains") => NodeBehaviour::V1_16_DRAINS,
            _ => NodeBehaviour::V1_36,
        };
        let bugs = profile.bugs.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
        Ok(Self::deciding_by(Arc::new(NodeRelease { behaviour, bugs })))
    }

    /// The arguments of [`NodeReference::without`].
    #[must_use]
    pub fn parts() -> BTreeSet<&'static str> {
        [LIFECYCLE, TAINT_EVICTION].collect_sorted()
    }

    /// The controllers of nodes without one of its [`NodeReference::parts`].
    #[must_use]
    pub fn without(part: &str) -> Self {
        let controllers =
            NodeControllerSet { lifecycle: part != LIFECYCLE, taint_eviction: part != TAINT_EVICTION };
        Self { controllers, ..Self::default() }
    }
}

impl Default for NodeReference {
    fn default() -> Self {
        Self::deciding_by(Arc::new(NodeRelease::default()))
    }
}

impl Implementation for NodeReference {
    fn definitions(&self) -> Vec<Value> {
        Vec::new()
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        let controllers = NodeControllers {
            client: environment.fleet.controllers_client(),
            clock: environment.clock,
            settings: NodeSettings {
                controllers: self.controllers,
                ..settings(environment.timings, environment.zones)
            },
            rules: Arc::clone(&self.rules),
            metrics: NodeMetrics::default(),
        };
        Box::pin(ready(Ok(Box::new(controllers.start()) as RunningImplementation)))
    }
}

/// The times and rates of a profile as the controllers take them.
fn settings(timings: &Timings, zones: Option<&Zones>) -> NodeSettings {
    let default = NodeSettings::default();
    let rates = zones.map_or(default.rates, |zones| Rates {
        normal: zones.rate(),
        secondary: zones.secondary_rate(),
        large: usize::try_from(zones.large).unwrap_or(usize::MAX),
        unhealthy: zones.unhealthy_percent as f32 / 100.0,
    });
    NodeSettings {
        monitor_period: timings.monitor_period,
        monitor_grace_period: timings.monitor_grace_period,
        startup_grace_period: timings.startup_grace_period.unwrap_or(default.startup_grace_period),
        pod_eviction_timeout: timings.failover_eviction_timeout,
        rates,
        ..default
    }
}
