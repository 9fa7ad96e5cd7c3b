//! Counts the pods of one workload by node and state.

use std::fmt;

use capsize_history::facts::{Assignment, InstanceHealth, WorkloadKey, World};

/// How many pods of a workload each node has, by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodCounts {
    /// Pods that are bound to the node, have not ended, and are not being deleted.
    pub(super) staying: Assignment,
    /// Those of `staying` that are ready.
    pub(super) ready: Assignment,
    /// Pods that are being deleted.
    pub(super) leaving: Assignment,
    /// How many pods are bound to no node.
    pub(super) unbound: u64,
}

impl PodCounts {
    /// Counts the pods whose names begin with the name of the workload.
    pub(super) fn of(world: &World, name: &str) -> Self {
        let mut counts = Self::default();
        let prefix = format!("{name}-");
        let first = WorkloadKey::new("Pod", "default", &prefix);
        let pods = world.workloads.range(first..).take_while(|(key, _)| key.name().starts_with(&prefix));
        for (_, pod) in pods.filter(|(_, pod)| !pod.finished) {
            for task in &pod.evictions {
                *counts.leaving.entry(task.member.clone()).or_default() += 1;
            }
            let Some(node) = pod.assignment.keys().next() else {
                counts.unbound += u64::from(pod.evictions.is_empty());
                continue;
            };
            *counts.staying.entry(node.clone()).or_default() += 1;
            if pod.instances.get(node).is_some_and(|instance| instance.health == InstanceHealth::Healthy) {
                *counts.ready.entry(node.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Returns true if exactly `wanted` pods are bound, all of them are ready, and none is being deleted.
    pub(super) fn is_settled(&self, wanted: u64) -> bool {
        let all = capsize_history::facts::sum(&self.staying) == wanted && self.unbound == 0;
        all && self.ready == self.staying && self.leaving.is_empty()
    }
}

impl fmt::Display for PodCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |on: &Assignment| {
            on.iter().map(|(node, pods)| format!("{node} ({pods})")).collect::<Vec<_>>().join(", ")
        };
        let parts = [("on", &self.staying), ("ready on", &self.ready), ("leaving", &self.leaving)];
        for (place, (what, on)) in parts.into_iter().filter(|(_, on)| !on.is_empty()).enumerate() {
            let between = if place > 0 { "; " } else { "" };
            write!(f, "{between}{what} {}", list(on))?;
        }
        match self.unbound {
            0 if self.staying.is_empty() && self.leaving.is_empty() => f.write_str("nowhere"),
            0 => Ok(()),
            count => write!(f, "; {count} on no node"),
        }
    }
}
