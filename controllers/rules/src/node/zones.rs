//! The state of a zone, and how fast its nodes may be tainted in that state.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`ComputeZoneState`,
//! `handleDisruption`, `setLimiterInZone`).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use super::names::EXCLUDE_DISRUPTION;

/// The state of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneState {
    /// The zone was not checked yet.
    #[default]
    Initial,
    /// Most nodes are ready.
    Normal,
    /// Many nodes are not ready: the network may have failed rather than the nodes.
    Partial,
    /// No node is ready.
    Full,
}

/// Numbers of the nodes of a zone that count, by readiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Nodes that are ready.
    pub ready: usize,
    /// All others.
    pub not_ready: usize,
}

impl NodeCounts {
    /// Counts a node by the status of its condition `Ready`.
    pub fn count(&mut self, ready: Option<&str>) {
        *if ready == Some("True") { &mut self.ready } else { &mut self.not_ready } += 1;
    }

    /// The number of nodes that count.
    #[must_use]
    pub fn size(self) -> usize {
        self.ready + self.not_ready
    }
}

/// How fast nodes may be tainted, in nodes a second (`--node-eviction-rate` and the flags beside it).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The rate in a zone in the state `Normal` or `Full`.
    pub normal: f64,
    /// The rate in a large zone in the state `Partial`.
    pub secondary: f64,
    /// A zone with more nodes than this is large.
    pub large: usize,
    /// A zone is `Partial` from this fraction of nodes on that are not ready.
    pub unhealthy: f32,
}

/// Whether a node counts for the state of its zone. All other rules apply to it as to any node.
#[must_use]
pub fn counts(node: &Node, by_label: bool) -> bool {
    // Scripts of that time named masters `…master`, or `…master-` and three characters.
    let is_master = || {
        let name = node.name_any();
        let shortened =
            name.len().checked_sub(3).and_then(|end| name.get(..end)).filter(|_| name.len() >= 10);
        name.ends_with("master") || shortened.is_some_and(|name| name.ends_with("master-"))
    };
    if by_label { !node.labels().contains_key(EXCLUDE_DISRUPTION) } else { !is_master() }
}

/// Returns the state of a zone. At least three nodes must be not ready for the state `Partial`.
#[must_use]
pub fn zone_state(counts: NodeCounts, rates: Rates) -> ZoneState {
    let NodeCounts { ready, not_ready } = counts;
    // Both are counts of nodes, and exact as such; the threshold is compared as the flag's own type compares it.
    #[expect(clippy::cast_precision_loss, reason = "a cluster has fewer than 2^24 nodes")]
    let part = not_ready as f32 / counts.size().max(1) as f32;
    match (ready, not_ready) {
        (0, 1..) => ZoneState::Full,
        (_, 3..) if part >= rates.unhealthy => ZoneState::Partial,
        _ => ZoneState::Normal,
    }
}

/// Returns the rate at which nodes of a zone may be tainted; 0 means never.
#[must_use]
pub fn zone_rate(state: ZoneState, size: usize, rates: Rates) -> f64 {
    match state {
        ZoneState::Partial if size > rates.large => rates.secondary,
        ZoneState::Partial => 0.0,
        ZoneState::Initial | ZoneState::Normal | ZoneState::Full => rates.normal,
    }
}

/// The change for all zones together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// From now on no zone has a ready node.
    /// The controller itself is probably cut off, so all taints are removed and no more are set.
    Begins,
    /// Still no zone has a ready node.
    Lasts,
    /// A zone has a ready node again: all periods restart.
    Ends,
    /// Some zone has a ready node: the state of each zone decides.
    None,
}

/// Returns what changes for all zones together.
/// A zone that was not checked yet does not count as `Full`.
#[must_use]
pub fn disruption(before: &BTreeMap<String, ZoneState>, now: &BTreeMap<String, ZoneState>) -> Disruption {
    let all_gone =
        |zones: &BTreeMap<String, ZoneState>| zones.values().all(|state| *state == ZoneState::Full);
    match (all_gone(before), all_gone(now)) {
        (false, true) => Disruption::Begins,
        (true, true) => Disruption::Lasts,
        (true, false) => Disruption::Ends,
        (false, false) => Disruption::None,
    }
}

/// Returns the zones that are remembered: those with nodes, whether or not any of them count.
#[must_use]
pub fn remembered_zones(of_nodes: &BTreeSet<String>, _of_counted: &BTreeSet<String>) -> BTreeSet<String> {
    of_nodes.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { normal: 0.1, secondary: 0.01, large: 50, unhealthy: 0.55 };

    #[test]
    fn a_zone_is_partly_gone_from_three_nodes_and_the_threshold_on() {
        let cases = [
            (0, 0, ZoneState::Normal),
            (1, 0, ZoneState::Normal),
            (0, 1, ZoneState::Full),
            (0, 2, ZoneState::Full),
            (0, 9, ZoneState::Full),
            (1, 2, ZoneState::Normal),
            (1, 3, ZoneState::Partial),
            (2, 3, ZoneState::Partial),
            (3, 3, ZoneState::Normal),
            (3, 4, ZoneState::Partial),
            (4, 4, ZoneState::Normal),
            (4, 5, ZoneState::Partial),
            (5, 6, ZoneState::Normal),
            (9, 11, ZoneState::Partial),
        ];
        for (ready, not_ready, expected) in cases {
            assert_eq!(zone_state(NodeCounts { ready, not_ready }, RATES), expected, "{ready} {not_ready}");
        }
    }

    #[test]
    fn only_who_says_so_is_ready() {
        let mut counts = NodeCounts::default();
        for ready in [Some("True"), Some("False"), Some("Unknown"), None] {
            counts.count(ready);
        }
        assert_eq!((counts, counts.size()), (NodeCounts { ready: 1, not_ready: 3 }, 4));
    }

    #[test]
    fn only_a_zone_that_is_partly_gone_is_slowed_down_and_a_small_one_stopped() {
        let cases = [
            (ZoneState::Normal, 4, 0.1),
            (ZoneState::Full, 4, 0.1),
            (ZoneState::Full, 51, 0.1),
            (ZoneState::Partial, 50, 0.0),
            (ZoneState::Partial, 51, 0.01),
        ];
        for (state, size, expected) in cases {
            assert!((zone_rate(state, size, RATES) - expected).abs() < f64::EPSILON, "{state:?} {size}");
        }
    }

    #[test]
    fn a_disruption_of_everything_begins_lasts_and_ends() {
        use ZoneState::{Full, Initial, Normal, Partial};
        let zones = |states: &[ZoneState]| {
            let named = |(place, state): (usize, &ZoneState)| (place.to_string(), *state);
            states.iter().enumerate().map(named).collect::<BTreeMap<_, _>>()
        };
        let cases: [(&[ZoneState], &[ZoneState], Disruption); 8] = [
            (&[Initial], &[Full], Disruption::Begins),
            (&[Normal, Full], &[Full, Full], Disruption::Begins),
            (&[Full, Full], &[Full, Full], Disruption::Lasts),
            (&[Full, Full], &[Full, Partial], Disruption::Ends),
            (&[Full], &[Normal], Disruption::Ends),
            (&[Normal, Normal], &[Full, Partial], Disruption::None),
            (&[Initial], &[Normal], Disruption::None),
            (&[], &[], Disruption::Lasts),
        ];
        for (before, now, expected) in cases {
            assert_eq!(disruption(&zones(before), &zones(now)), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_node_does_not_count_by_its_label_and_in_1_16_by_its_name() {
        let cases = [
            ("n1", false, true, true),
            ("n1", true, false, true),
            ("kubernetes-master", false, true, false),
            ("kubernetes-master-abc", false, true, false),
            ("kubernetes-master-abcd", false, true, true),
            ("master-abc", false, true, false),
            ("é-abc", false, true, true),
        ];
        for (name, labelled, by_label, by_name) in cases {
            let mut node = Node::default();
            node.metadata.name = Some(name.into());
            if labelled {
                node.labels_mut().insert(EXCLUDE_DISRUPTION.into(), String::new());
            }
            assert_eq!((counts(&node, true), counts(&node, false)), (by_label, by_name), "{name}");
        }
    }
}
