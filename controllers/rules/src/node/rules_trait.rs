//! The trait `NodeRules`: all rules of nodes as methods. Most call the function of the same name.
//!
//! The documentation of such a rule is that of its function.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, PodCondition, Taint, Toleration};

// The signatures use every type of the rules of nodes.
use super::*;
use crate::EvictionTime;

/// Methods that call the functions of the same names.
macro_rules! functions {
    ($(fn $name:ident ($($given:ident: $type:ty),* $(,)?) $(-> $answer:ty)?;)*) => {
        $(fn $name(&self, $($given: $type),*) $(-> $answer)? {
            super::$name($($given),*)
        })*
    };
}

/// All rules that the controllers of nodes use.
/// An implementation that overrides one shows what that rule is for.
#[expect(missing_docs, reason = "each method is the function of the same name, which says what it does")]
pub trait NodeRules: Send + Sync {
    /// The differences from other releases. This is not a rule: the rules depend on it.
    fn node_behaviour(&self) -> NodeBehaviour {
        NodeBehaviour::default()
    }

    // Health.

    fn node_health(
        &self,
        before: Option<&NodeHealth>,
        ready: Option<&NodeCondition>,
        renewed: Option<Timestamp>,
        created: Timestamp,
        now: Timestamp,
    ) -> NodeHealth {
        let renewed = renewed.filter(|_| self.node_behaviour().reads_leases);
        super::node_health(before, ready, renewed, created, now)
    }

    functions! {
        fn silent_conditions(
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            graces: (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>>;
        fn marks_pods(read: Option<&str>, written: Option<&str>) -> bool;
        fn marks_again(failed: bool, read: Option<&str>) -> bool;
        fn marked_conditions(conditions: &[PodCondition], now: Timestamp) -> Option<Vec<PodCondition>>;
    }

    fn marks_newcomer(&self, remembered: Option<Option<&str>>, reported: Option<&str>) -> bool {
        self.node_behaviour().marks_newcomers && super::marks_newcomer(remembered, reported)
    }

    // Taints and labels.

    fn condition_taints(
        &self,
        conditions: &[NodeCondition],
        unschedulable: bool,
        taints: &[Taint],
        now: Timestamp,
    ) -> Vec<Taint> {
        if !self.node_behaviour().taints_by_condition {
            return taints.to_vec();
        }
        super::condition_taints(conditions, unschedulable, taints, now)
    }

    /// Returns the readiness that the taint of effect NoExecute follows.
    fn decisive<'a>(&self, read: Option<&'a str>, written: Option<&'a str>) -> Option<&'a str> {
        if self.node_behaviour().taints_by_written { written } else { read }
    }

    functions! {
        fn tainting(ready: Option<&str>, taints: &[Taint]) -> Option<TaintAction>;
        fn evicting_taints(ready: &str, taints: &[Taint], now: Timestamp) -> Vec<Taint>;
        fn without_evicting_taints(taints: &[Taint]) -> Vec<Taint>;
    }

    fn mirrored_labels(&self, labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        super::mirrored_labels(labels, self.node_behaviour().stable_labels_lead)
    }

    /// Whether a write of taints is refused if they have changed since they were read.
    fn guards_taints(&self) -> bool {
        true
    }

    /// Whether a node that is observed for the first time loses its NoExecute taints of ill health.
    fn clears_newcomers(&self) -> bool {
        false
    }

    // Zones and the rates in them.

    functions! {
        fn zone_of(labels: &BTreeMap<String, String>) -> String;
        fn zone_state(counts: NodeCounts, rates: Rates) -> ZoneState;
        fn zone_rate(state: ZoneState, size: usize, rates: Rates) -> f64;
        fn disruption(
            before: &BTreeMap<String, ZoneState>, now: &BTreeMap<String, ZoneState>,
        ) -> Disruption;
        fn remembered_zones(of_nodes: &BTreeSet<String>, of_counted: &BTreeSet<String>) -> BTreeSet<String>;
    }

    fn counts(&self, node: &Node) -> bool {
        super::counts(node, self.node_behaviour().excludes_by_label)
    }

    /// The position in the queue of a node that has to wait for its taint.
    fn place(&self) -> QueuePosition {
        QueuePosition::Own
    }

    /// Returns the limiter of a zone whose nodes may now be tainted at `rate`.
    fn limiter(&self, old: &Limiter, rate: f64, now: Timestamp) -> Limiter {
        old.swapped(rate, now)
    }

    // Evictions from a node.

    functions! {
        fn draining(
            ready: Option<&str>, health: &NodeHealth, timeout: Duration, now: Timestamp,
        ) -> Option<DrainAction>;
        fn drained(pod: &Pod) -> bool;
        fn lost(pod: &Pod, node: &str) -> Option<(&'static str, String)>;
    }

    functions! {
        fn pod_due(
            taints: &[Taint], tolerations: &[Toleration], created: Timestamp, now: Timestamp,
        ) -> EvictionTime;
        fn timer(is_set: bool, due: EvictionTime) -> Timer;
        fn deletion_pause(failures: u32) -> Option<Duration>;
    }

    fn disruption_target(
        &self,
        conditions: &[PodCondition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Option<Vec<PodCondition>> {
        let reports = self.node_behaviour().reports_disruption;
        reports.then(|| super::disruption_target(conditions, generation, now)).flatten()
    }

    /// Returns true if the deletion applies only to the pod with the observed uid.
    /// The deletion then does not apply to a new pod of the same name.
    fn deletes_by_uid(&self) -> bool {
        true
    }
}
