//! When a node last gave a sign of life, and how its conditions change when it gives none.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`tryUpdateNodeHealth`), 1.16 and
//! 1.36. Only the controller's own clock counts: times in statuses and Leases are compared only with earlier ones of
//! the same node, so that a node's clock may be wrong.

use std::sync::Arc;
use std::time::Duration;

use capsize_clock::whole_seconds;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::NodeCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::names::{
    KUBELET_CONDITIONS, MESSAGE_NEVER_UPDATED, MESSAGE_UNKNOWN, READY, REASON_NEVER_UPDATED, REASON_UNKNOWN,
};

/// The signs of life of one node.
/// They are kept in memory: a start of the controller restarts the periods.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeHealth {
    /// `Ready` as last observed or written.
    pub ready: Option<Arc<NodeCondition>>,
    /// When the Lease was last renewed, according to the Lease.
    pub renewed: Option<Timestamp>,
    /// When the last sign of life was observed.
    pub probed: Timestamp,
    /// When the last change of `Ready` was observed.
    pub transition: Timestamp,
}

/// Returns the signs of life after one more check.
/// A different heartbeat in the status is one, later or earlier, and so is a Lease that was renewed to a later time
/// than any before. For a node that never reported, the creation counts as the last one.
///
/// Kubernetes compares only the times of the transitions. If a clock was set back, two transitions can have the same time, so
/// the status is compared, too.
#[must_use]
pub fn node_health(
    before: Option<&NodeHealth>,
    ready: Option<&NodeCondition>,
    renewed: Option<Timestamp>,
    created: Timestamp,
    now: Timestamp,
) -> NodeHealth {
    let observed = before.and_then(|before| before.ready.as_ref());
    let mut health = match (before, ready) {
        (None, None) => NodeHealth { ready: None, renewed: None, probed: created, transition: created },
        (Some(before), None) => NodeHealth { ready: None, ..before.clone() },
        (Some(before), Some(ready))
            if observed.is_some_and(|observed| observed.last_heartbeat_time == ready.last_heartbeat_time) =>
        {
            before.clone()
        }
        (before, Some(ready)) => {
            let same = observed.is_some_and(|observed| {
                (&observed.status, &observed.last_transition_time)
                    == (&ready.status, &ready.last_transition_time)
            });
            NodeHealth {
                ready: Some(Arc::new(ready.clone())),
                renewed: before.and_then(|before| before.renewed),
                probed: now,
                transition: before.filter(|_| same).map_or(now, |before| before.transition),
            }
        }
    };
    if renewed > health.renewed {
        health.renewed = renewed;
        health.probed = now;
    }
    health
}

/// Returns the conditions of a node that has been silent for too long.
/// The limit is `startup_grace` for a node that never reported `Ready`, and otherwise `grace`. The function returns
/// `None` if `Ready` would not change.
#[must_use]
pub fn silent_conditions(
    health: &NodeHealth,
    conditions: &[NodeCondition],
    created: Timestamp,
    (grace, startup_grace): (Duration, Duration),
    now: Timestamp,
) -> Option<Vec<NodeCondition>> {
    let ready = ready_of(conditions);
    let grace = if ready.is_some() { grace } else { startup_grace };
    let silent = now.duration_since(health.probed);
    if silent.is_negative() || silent.unsigned_abs() <= grace {
        return None;
    }
    // There is nothing to write. Many nodes may be silent, and are checked again and again.
    if ready.is_some_and(|ready| ready.status == UNKNOWN) {
        return None;
    }
    let stamp = Some(Time(whole_seconds(now)));
    let mut silenced = conditions.to_vec();
    for kind in KUBELET_CONDITIONS {
        match silenced.iter_mut().find(|condition| condition.type_ == kind) {
            Some(condition) if condition.status == UNKNOWN => {}
            Some(condition) => {
                UNKNOWN.clone_into(&mut condition.status);
                condition.reason = Some(REASON_UNKNOWN.into());
                condition.message = Some(MESSAGE_UNKNOWN.into());
                condition.last_transition_time.clone_from(&stamp);
            }
            None => silenced.push(NodeCondition {
                type_: kind.into(),
                status: UNKNOWN.into(),
                reason: Some(REASON_NEVER_UPDATED.into()),
                message: Some(MESSAGE_NEVER_UPDATED.into()),
                last_heartbeat_time: Some(Time(created)),
                last_transition_time: stamp.clone(),
            }),
        }
    }
    Some(silenced)
}

/// The status of a condition that nothing reports.
const UNKNOWN: &str = "Unknown";

/// The condition `Ready`, if it is there.
#[must_use]
pub fn ready_of(conditions: &[NodeCondition]) -> Option<&NodeCondition> {
    conditions.iter().find(|condition| condition.type_ == READY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    fn condition(kind: &str, status: &str, heartbeat: i64, transition: i64) -> NodeCondition {
        NodeCondition {
            type_: kind.into(),
            status: status.into(),
            last_heartbeat_time: Some(Time(at(heartbeat))),
            last_transition_time: Some(Time(at(transition))),
            ..NodeCondition::default()
        }
    }

    /// The checks of a case, each with its time and with the signs of life that the check sees.
    /// The signs of life are the heartbeat and the transition of `Ready` if there is one, and the Lease. In a case, the
    /// checks are followed by the times at which the last sign of life and the last change were observed.
    type HealthChecks = Vec<(i64, Option<(i64, i64)>, Option<i64>)>;

    #[test]
    fn signs_of_life_are_counted_from_when_they_are_seen() {
        let cases: Vec<(&str, HealthChecks, (i64, i64))> = vec![
            ("one that has reported nothing", vec![(50, None, None)], (7, 7)),
            ("one that only renews", vec![(50, None, Some(3)), (60, None, Some(4))], (60, 7)),
            ("first sight of a status", vec![(50, Some((1, 1)), None)], (50, 50)),
            ("the same status", vec![(50, Some((1, 1)), None), (60, Some((1, 1)), None)], (50, 50)),
            ("its first status", vec![(50, None, None), (60, Some((1, 1)), None)], (60, 60)),
            ("another heartbeat", vec![(50, Some((1, 1)), None), (60, Some((2, 1)), None)], (60, 50)),
            ("a heartbeat of the past", vec![(50, Some((2, 1)), None), (60, Some((1, 1)), None)], (60, 50)),
            ("a change", vec![(50, Some((1, 1)), None), (60, Some((2, 2)), None)], (60, 60)),
            ("a renewal", vec![(50, Some((1, 1)), Some(3)), (60, Some((1, 1)), Some(4))], (60, 50)),
            ("no renewal", vec![(50, Some((1, 1)), Some(3)), (60, Some((1, 1)), Some(3))], (50, 50)),
            (
                "a renewal of the past",
                vec![(50, Some((1, 1)), Some(3)), (60, Some((1, 1)), Some(2))],
                (50, 50),
            ),
            (
                "a Lease from before a change of status",
                vec![(50, Some((1, 1)), Some(3)), (60, Some((2, 1)), Some(3)), (70, Some((2, 1)), Some(3))],
                (60, 50),
            ),
            ("a status that is gone", vec![(50, Some((1, 1)), None), (60, None, None)], (50, 50)),
            (
                "a status that is gone, and comes again",
                vec![(50, Some((1, 1)), None), (60, None, None), (70, Some((1, 1)), None)],
                (70, 70),
            ),
            ("a Lease that is gone", vec![(50, Some((1, 1)), Some(3)), (60, Some((1, 1)), None)], (50, 50)),
        ];
        for (about, looks, expected) in cases {
            let mut health = None;
            for (now, ready, renewed) in looks {
                let ready = ready.map(|(heartbeat, change)| condition(READY, "True", heartbeat, change));
                health = Some(node_health(health.as_ref(), ready.as_ref(), renewed.map(at), at(7), at(now)));
            }
            let health = health.unwrap();
            assert_eq!((health.probed, health.transition), (at(expected.0), at(expected.1)), "{about}");
        }
    }

    #[test]
    fn another_status_at_the_same_time_of_a_clock_that_was_set_back_is_a_change() {
        let ready = |status, heartbeat| condition(READY, status, heartbeat, 1);
        let first = node_health(None, Some(&ready("True", 1)), None, at(7), at(50));
        let health = node_health(Some(&first), Some(&ready("False", 2)), None, at(7), at(60));
        assert_eq!((health.probed, health.transition), (at(60), at(60)));
    }

    fn silenced(conditions: &[NodeCondition], probed: i64, now: i64) -> Option<Vec<NodeCondition>> {
        let ready = ready_of(conditions).cloned().map(Arc::new);
        let health = NodeHealth { ready, renewed: None, probed: at(probed), transition: at(probed) };
        let graces = (Duration::from_secs(50), Duration::from_secs(60));
        silent_conditions(&health, conditions, at(7), graces, at(now))
    }

    #[test]
    fn silence_counts_only_beyond_the_grace_period() {
        let ready = |status| vec![condition(READY, status, 1, 1)];
        let cases = [
            (ready("True"), 50, false),
            (ready("True"), 51, true),
            (ready("False"), 51, true),
            (ready("Unknown"), 99, false),
            (vec![], 60, false),
            (vec![], 61, true),
            (ready("True"), -100, false),
        ];
        for (conditions, now, expected) in cases {
            assert_eq!(silenced(&conditions, 0, now).is_some(), expected, "{conditions:?} {now}");
        }
    }

    #[test]
    fn what_a_silent_kubelet_posts_becomes_unknown_and_nothing_else() {
        let before = [
            condition("NetworkUnavailable", "False", 2, 2),
            condition("Custom", "True", 2, 2),
            condition(READY, "True", 3, 2),
            condition("DiskPressure", "Unknown", 3, 2),
            condition("PIDPressure", "True", 3, 2),
        ];
        let after = silenced(&before, 0, 100).unwrap();
        assert_eq!(after[..2], before[..2]);
        assert_eq!(after[3], before[3], "what is unknown already stays as whoever wrote it left it");
        for (place, kind) in [(2, READY), (4, "PIDPressure")] {
            let mut expected = condition(kind, "Unknown", 3, 100);
            expected.reason = Some("NodeStatusUnknown".into());
            expected.message = Some("Kubelet stopped posting node status.".into());
            assert_eq!(after[place], expected);
        }
        let mut never = condition("MemoryPressure", "Unknown", 7, 100);
        never.reason = Some("NodeStatusNeverUpdated".into());
        never.message = Some("Kubelet never posted node status.".into());
        assert_eq!(after[5..], [never]);
    }
}
