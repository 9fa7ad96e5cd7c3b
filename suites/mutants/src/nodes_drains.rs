//! Wrong rules about nodes whose pods are deleted after a timeout, without a taint that evicts them.

use std::sync::Arc;
use std::time::Duration;

use capsize_rules::node::{
    DrainAction, NodeBehaviour, NodeCounts, NodeHealth, NodeRules, Rates, ZoneState, drained, draining,
    zone_rate, zone_state,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

/// All mutants behave as release 1.16 without its feature gate for taints.
macro_rules! as_1_16_drains {
    () => {
        fn node_behaviour(&self) -> NodeBehaviour {
            NodeBehaviour::V1_16_DRAINS
        }
    };
}

mutants! { NodeRules, of_drains, as_1_16_drains:
    half_the_pod_eviction_timeout_is_enough("nodes/drained-after-a-timeout", "NODE-16") {
        fn draining(
            &self,
            ready: Option<&str>,
            health: &NodeHealth,
            timeout: Duration,
            now: Timestamp,
        ) -> Option<DrainAction> {
            draining(ready, health, timeout / 2, now)
        }
    }

    a_node_that_says_that_it_is_ill_is_not_drained("nodes/drained-when-it-reports-not-ready", "NODE-15") {
        fn draining(
            &self,
            ready: Option<&str>,
            health: &NodeHealth,
            timeout: Duration,
            now: Timestamp,
        ) -> Option<DrainAction> {
            draining(ready, health, timeout, now).filter(|_| ready != Some("False"))
        }
    }

    a_node_that_was_drained_once_is_not_drained_again("nodes/drained-when-it-reports-not-ready", "NODE-15") {
        fn draining(
            &self,
            ready: Option<&str>,
            health: &NodeHealth,
            timeout: Duration,
            now: Timestamp,
        ) -> Option<DrainAction> {
            draining(ready, health, timeout, now).filter(|draining| *draining == DrainAction::Due)
        }
    }

    some_pods_of_a_drained_node_are_left_out("nodes/drained-after-a-timeout", "NODE-15") {
        fn drained(&self, pod: &Pod) -> bool {
            let is_left_out = |name: &String| name.bytes().map(u32::from).sum::<u32>() % 2 == 1;
            drained(pod) && !pod.metadata.name.as_ref().is_some_and(is_left_out)
        }
    }

    daemons_are_drained_as_well("nodes/drained-after-a-timeout", "NODE-16") {
        fn drained(&self, pod: &Pod) -> bool {
            pod.metadata.deletion_timestamp.is_none()
        }
    }

    nodes_are_drained_at_twice_the_rate("nodes/drained-in-turn", "NODE-16") {
        fn zone_rate(&self, state: ZoneState, size: usize, rates: Rates) -> f64 {
            2.0 * zone_rate(state, size, rates)
        }
    }

    a_small_zone_is_drained_however_ill("nodes/drained-not-in-a-small-zone", "NODE-16") {
        fn zone_state(&self, counts: NodeCounts, rates: Rates) -> ZoneState {
            match zone_state(counts, rates) {
                ZoneState::Partial => ZoneState::Normal,
                state => state,
            }
        }
    }
}
