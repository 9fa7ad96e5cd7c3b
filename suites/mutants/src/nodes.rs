//! Wrong rules about nodes: signs of life, taints, zones, and when pods leave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_rules::EvictionTime;
use capsize_rules::node::{
    Disruption, NodeCounts, NodeHealth, NodeRules, Rates, TaintAction, Timer, ZoneState, condition_taints,
    disruption, evicting_taints, node_health, pod_due, silent_conditions, tainting, timer,
    without_evicting_taints, zone_rate, zone_state,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, PodCondition, Taint, Toleration};

mutants! { NodeRules, of_nodes:
    a_lease_that_is_there_is_a_sign_of_life("nodes/unreachable", "NODE-01") {
        fn node_health(
            &self,
            before: Option<&NodeHealth>,
            ready: Option<&NodeCondition>,
            renewed: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> NodeHealth {
            let health = node_health(before, ready, renewed, created, now);
            let probed = if renewed.is_some() { now } else { health.probed };
            NodeHealth { probed, ..health }
        }
    }

    leases_are_not_read("nodes/short-silences", "NODE-01") {
        fn node_health(
            &self,
            before: Option<&NodeHealth>,
            ready: Option<&NodeCondition>,
            _: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> NodeHealth {
            node_health(before, ready, None, created, now)
        }
    }

    the_time_of_a_lease_is_the_controllers_own("nodes/clock-ahead-of-a-silent-node", "NODE-01") {
        fn node_health(
            &self,
            before: Option<&NodeHealth>,
            ready: Option<&NodeCondition>,
            renewed: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> NodeHealth {
            let health = node_health(before, ready, renewed, created, now);
            let probed = renewed.map_or(health.probed, |renewed| renewed.max(health.probed));
            NodeHealth { probed, ..health }
        }
    }

    half_the_grace_period_is_enough("nodes/short-silences", "NODE-01") {
        fn silent_conditions(
            &self,
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            (grace, startup): (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>> {
            silent_conditions(health, conditions, created, (grace / 2, startup), now)
        }
    }

    twice_the_grace_period_is_waited("nodes/unreachable", "NODE-01") {
        fn silent_conditions(
            &self,
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            (grace, startup): (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>> {
            silent_conditions(health, conditions, created, (grace * 2, startup), now)
        }
    }

    a_new_node_has_no_time_to_start("nodes/never-reports", "NODE-09") {
        fn silent_conditions(
            &self,
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            (grace, _): (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>> {
            silent_conditions(health, conditions, created, (grace, Duration::ZERO), now)
        }
    }

    all_conditions_become_unknown("nodes/keeps-away-network-and-silent", "NODE-10") {
        fn silent_conditions(
            &self,
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            graces: (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>> {
            let mut silenced = silent_conditions(health, conditions, created, graces, now)?;
            silenced.iter_mut().for_each(|condition| condition.status = "Unknown".into());
            Some(silenced)
        }
    }

    only_readiness_becomes_unknown("nodes/unreachable", "NODE-10") {
        fn silent_conditions(
            &self,
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            graces: (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>> {
            let mut after = silent_conditions(health, conditions, created, graces, now)?;
            for each in after.iter_mut().filter(|each| each.type_ != "Ready") {
                if let Some(before) = conditions.iter().find(|before| before.type_ == each.type_) {
                    *each = before.clone();
                }
            }
            Some(after)
        }
    }

    silent_nodes_are_taken_for_new_ones("nodes/unreachable", "NODE-11") {
        fn silent_conditions(
            &self,
            health: &NodeHealth,
            conditions: &[NodeCondition],
            created: Timestamp,
            graces: (Duration, Duration),
            now: Timestamp,
        ) -> Option<Vec<NodeCondition>> {
            let mut silenced = silent_conditions(health, conditions, created, graces, now)?;
            let stopped = |condition: &&mut NodeCondition| condition.reason.as_deref() == Some("NodeStatusUnknown");
            silenced
                .iter_mut()
                .filter(stopped)
                .for_each(|condition| condition.reason = Some("NodeStatusNeverUpdated".into()));
            Some(silenced)
        }
    }

    pods_of_silent_nodes_stay_ready("nodes/unreachable", "NODE-08") {
        fn marks_pods(&self, _: Option<&str>, _: Option<&str>) -> bool {
            false
        }
    }

    disk_pressure_sets_no_taint("nodes/keeps-away-disk-pressure", "NODE-06") {
        fn condition_taints(
            &self,
            conditions: &[NodeCondition],
            unschedulable: bool,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut after = condition_taints(conditions, unschedulable, taints, now);
            after.retain(|taint| !taint.key.ends_with("disk-pressure"));
            after
        }
    }

    a_cordon_sets_no_taint("nodes/keeps-away-cordoned", "NODE-06") {
        fn condition_taints(
            &self,
            conditions: &[NodeCondition],
            _: bool,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            condition_taints(conditions, false, taints, now)
        }
    }

    pressure_taints_stay("nodes/pressure-goes-unknown", "NODE-06") {
        fn condition_taints(
            &self,
            conditions: &[NodeCondition],
            unschedulable: bool,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut after = condition_taints(conditions, unschedulable, taints, now);
            let gone: Vec<Taint> = taints.iter().filter(|taint| !after.contains(taint)).cloned().collect();
            after.extend(gone.into_iter().filter(|taint| taint.key.ends_with("-pressure")));
            after
        }
    }

    taints_of_people_are_forgotten("nodes/taints-of-people-stay", "NODE-12") {
        fn condition_taints(
            &self,
            conditions: &[NodeCondition],
            unschedulable: bool,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut after = condition_taints(conditions, unschedulable, taints, now);
            after.retain(|taint| taint.key.starts_with("node.kubernetes.io/"));
            after
        }
    }

    everything_goes_with_the_taint_of_ill_health("nodes/taints-of-people-stay", "NODE-12") {
        fn without_evicting_taints(&self, taints: &[Taint]) -> Vec<Taint> {
            let mut after = without_evicting_taints(taints);
            after.retain(|taint| taint.key.starts_with("node.kubernetes.io/"));
            after
        }
    }

    the_taint_does_not_follow_the_node("nodes/not-ready-then-silent", "NODE-05") {
        fn tainting(&self, ready: Option<&str>, taints: &[Taint]) -> Option<TaintAction> {
            match tainting(ready, taints) {
                Some(TaintAction::Swap) => Some(TaintAction::Done),
                done => done,
            }
        }
    }

    a_node_that_is_back_stays_tainted("nodes/fails-a-second-time", "NODE-05") {
        fn tainting(&self, ready: Option<&str>, taints: &[Taint]) -> Option<TaintAction> {
            match tainting(ready, taints) {
                Some(TaintAction::Clear) => Some(TaintAction::Done),
                done => done,
            }
        }
    }

    evictions_do_not_wait_for_their_turn("nodes/zone-lost-wholly", "NODE-03") {
        fn tainting(&self, ready: Option<&str>, taints: &[Taint]) -> Option<TaintAction> {
            match tainting(ready, taints) {
                Some(TaintAction::Wait) => Some(TaintAction::Swap),
                done => done,
            }
        }
    }

    both_taints_of_ill_health_stay("nodes/not-ready-then-silent", "TAINT-05") {
        fn evicting_taints(&self, ready: &str, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let mut after = evicting_taints(ready, taints, now);
            let gone: Vec<Taint> = taints.iter().filter(|taint| !after.contains(taint)).cloned().collect();
            after.extend(gone);
            after
        }
    }

    labels_are_not_mirrored("nodes/labels-follow", "NODE-07") {
        fn mirrored_labels(&self, _: &BTreeMap<String, String>) -> BTreeMap<String, String> {
            BTreeMap::new()
        }
    }

    all_zones_are_one("nodes/zone-lost-partly", "NODE-04") {
        fn zone_of(&self, _: &BTreeMap<String, String>) -> String {
            String::new()
        }
    }

    two_nodes_are_a_disruption("nodes/two-of-three", "NODE-02") {
        fn zone_state(&self, counts: NodeCounts, rates: Rates) -> ZoneState {
            match zone_state(counts, rates) {
                ZoneState::Normal if counts.not_ready >= 2 => ZoneState::Partial,
                state => state,
            }
        }
    }

    half_of_a_zone_is_a_disruption("nodes/half-of-a-zone", "NODE-02") {
        fn zone_state(&self, counts: NodeCounts, rates: Rates) -> ZoneState {
            zone_state(counts, Rates { unhealthy: 0.5, ..rates })
        }
    }

    no_zone_is_partly_gone("nodes/zone-lost-partly", "NODE-04") {
        fn zone_state(&self, counts: NodeCounts, rates: Rates) -> ZoneState {
            match zone_state(counts, rates) {
                ZoneState::Partial => ZoneState::Normal,
                state => state,
            }
        }
    }

    a_zone_that_is_gone_is_held_back("nodes/zone-lost-wholly", "NODE-02") {
        fn zone_rate(&self, state: ZoneState, size: usize, rates: Rates) -> f64 {
            if state == ZoneState::Full { 0.0 } else { zone_rate(state, size, rates) }
        }
    }

    a_large_zone_is_held_back("nodes/large-zone-lost-partly", "NODE-02") {
        fn zone_rate(&self, state: ZoneState, _: usize, rates: Rates) -> f64 {
            zone_rate(state, 0, rates)
        }
    }

    a_large_zone_is_not_slowed_down("nodes/large-zone-lost-partly", "NODE-03") {
        fn zone_rate(&self, state: ZoneState, size: usize, rates: Rates) -> f64 {
            zone_rate(state, size, Rates { secondary: rates.normal, ..rates })
        }
    }

    nothing_stops_when_all_is_lost("nodes/all-zones-lost", "NODE-04") {
        fn disruption(
            &self,
            _: &BTreeMap<String, ZoneState>,
            _: &BTreeMap<String, ZoneState>,
        ) -> Disruption {
            Disruption::None
        }
    }

    stopped_evictions_never_go_on("nodes/zones-come-back-in-turn", "NODE-02") {
        fn disruption(
            &self,
            before: &BTreeMap<String, ZoneState>,
            now: &BTreeMap<String, ZoneState>,
        ) -> Disruption {
            match disruption(before, now) {
                Disruption::Ends | Disruption::None if before.values().any(|state| *state == ZoneState::Full) => {
                    Disruption::Lasts
                }
                disruption => disruption,
            }
        }
    }

    excluded_nodes_count("nodes/excluded-nodes-do-not-count", "NODE-02") {
        fn counts(&self, _: &Node) -> bool {
            true
        }
    }

    the_rate_is_doubled("nodes/zone-lost-wholly", "NODE-03") {
        fn zone_rate(&self, state: ZoneState, size: usize, rates: Rates) -> f64 {
            2.0 * zone_rate(state, size, rates)
        }
    }

    tolerations_have_no_end("nodes/toleration-that-ends", "TOLERATION-01") {
        fn pod_due(&self, taints: &[Taint], tolerations: &[Toleration], created: Timestamp, now: Timestamp) -> EvictionTime {
            match pod_due(taints, tolerations, created, now) {
                EvictionTime::At(_) => EvictionTime::Never,
                due => due,
            }
        }
    }

    tolerations_end_at_once("nodes/toleration-that-ends", "TOLERATION-01") {
        fn pod_due(&self, taints: &[Taint], tolerations: &[Toleration], created: Timestamp, now: Timestamp) -> EvictionTime {
            match pod_due(taints, tolerations, created, now) {
                EvictionTime::At(_) => EvictionTime::AtOnce,
                due => due,
            }
        }
    }

    the_last_toleration_counts("nodes/the-first-that-matches-counts", "TOLERATION-01") {
        fn pod_due(&self, taints: &[Taint], tolerations: &[Toleration], created: Timestamp, now: Timestamp) -> EvictionTime {
            let tolerations: Vec<Toleration> = tolerations.iter().rev().cloned().collect();
            pod_due(taints, &tolerations, created, now)
        }
    }

    negative_tolerations_last_for_ever("nodes/tolerates-for-less-than-no-time", "TOLERATION-01") {
        fn pod_due(&self, taints: &[Taint], tolerations: &[Toleration], created: Timestamp, now: Timestamp) -> EvictionTime {
            let negative = |toleration: &Toleration| toleration.toleration_seconds.is_some_and(|it| it < 0);
            let mut tolerations = tolerations.to_vec();
            tolerations.iter_mut().filter(|it| negative(it)).for_each(|it| it.toleration_seconds = None);
            pod_due(taints, &tolerations, created, now)
        }
    }

    timers_are_never_cancelled("nodes/taint-removed-in-time", "TOLERATION-02") {
        fn timer(&self, is_set: bool, due: EvictionTime) -> Timer {
            match timer(is_set, due) {
                Timer::Cancel => Timer::Keep,
                timer => timer,
            }
        }
    }

    no_condition_announces_an_eviction("nodes/disruption-is-reported", "NODE-13") {
        fn disruption_target(
            &self,
            _: &[PodCondition],
            _: Option<i64>,
            _: Timestamp,
        ) -> Option<Vec<PodCondition>> {
            None
        }
    }
}
