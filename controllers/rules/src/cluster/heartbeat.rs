//! When a cluster last gave a sign of life, and how its condition changes when it gives none.
//! The module also decides whether the Works of a removed cluster are abandoned.
//!
//! karmada-io/karmada `pkg/controllers/cluster/cluster_controller.go` (`tryUpdateClusterHealth`), all releases.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::api::Cluster;

/// The signs of life of one cluster.
/// They are kept in memory: a restart of the controllers restarts the periods.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    /// The condition `Ready` as last observed.
    pub ready: Option<Condition>,
    /// When the member's Lease was last renewed, according to the Lease; for Pull members only.
    pub renewed: Option<Timestamp>,
    /// When the last sign of life was observed.
    pub probed: Timestamp,
    /// When the last change of the status of `Ready` was observed.
    pub transition: Timestamp,
}

/// Returns the signs of life after the cluster was checked once more.
/// A changed condition `Ready` and a renewed Lease are signs of life. For a cluster that never reported, the creation
/// counts as the last one.
///
/// Karmada compares only the times of the transitions. If a clock was set back, two transitions can have the same time, so the
/// status is compared, too.
#[must_use]
pub fn heartbeat(
    before: Option<&Heartbeat>,
    ready: Option<&Condition>,
    renewed: Option<Timestamp>,
    created: Timestamp,
    now: Timestamp,
) -> Heartbeat {
    let mut heartbeat = match before {
        Some(before) if before.ready.as_ref() == ready => before.clone(),
        None if ready.is_none() => {
            Heartbeat { ready: None, renewed: None, probed: created, transition: created }
        }
        _ => {
            let state = |condition: &Condition| (condition.status.clone(), condition.last_transition_time.0);
            let last = before.and_then(|before| before.ready.as_ref()).map(state);
            let same = before.filter(|_| last.is_some() && last == ready.map(state));
            Heartbeat {
                ready: ready.cloned(),
                renewed: before.and_then(|before| before.renewed),
                probed: now,
                transition: same.map_or(now, |before| before.transition),
            }
        }
    };
    if renewed > heartbeat.renewed {
        heartbeat.renewed = renewed;
        heartbeat.probed = now;
    }
    heartbeat
}

/// Returns the reason and the message with which `Ready` must become Unknown.
/// This is the case if the last sign of life is older than the grace period and `Ready` is not Unknown yet. Otherwise
/// the function returns `None`. The function is for Pull members only, because a probe of a Push member always ends
/// with a result.
#[must_use]
pub fn silence(
    heartbeat: &Heartbeat,
    grace: Duration,
    startup_grace: Duration,
    now: Timestamp,
) -> Option<(&'static str, &'static str)> {
    let (grace, reason, message) = match &heartbeat.ready {
        None => (
            startup_grace,
            "ClusterStatusNeverUpdated",
            "Cluster status controller never posted cluster status.",
        ),
        Some(ready) if ready.status == "Unknown" => return None,
        Some(_) => {
            (grace, "ClusterStatusUnknown", "Cluster status controller stopped posting cluster status.")
        }
    };
    let silent = now.duration_since(heartbeat.probed);
    (silent.is_positive() && silent.unsigned_abs() > grace).then_some((reason, message))
}

/// Whether a cluster can fall silent.
/// A Push member cannot: each probe of it succeeds or fails, so that it is never Unknown.
#[must_use]
pub fn falls_silent(cluster: &Cluster) -> bool {
    cluster.pulls()
}

/// Returns the time from which the failover eviction timeout counts.
/// If `Ready` is Unknown, this is the time of the last sign of life. Otherwise this is the time of the last transition
/// of `Ready`.
#[must_use]
pub fn not_ready_since(heartbeat: &Heartbeat) -> Timestamp {
    match &heartbeat.ready {
        Some(ready) if ready.status != "Unknown" => heartbeat.transition,
        _ => heartbeat.probed,
    }
}

/// Whether the Works of a cluster that is being removed are deleted without the copies in the member.
/// The Works are deleted if only the agent could delete the copies and the agent is silent. This is so since 1.8
/// (#1847); before 1.8, the removal of such a cluster did not end.
#[must_use]
pub fn abandons_works(cluster: &Cluster) -> bool {
    cluster.pulls() && !cluster.is_ready()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::test_values::at;

    fn ready(status: &str, reason: &str, since: i64) -> Condition {
        Condition {
            type_: "Ready".into(),
            status: status.into(),
            reason: reason.into(),
            message: String::new(),
            last_transition_time: Time(at(since)),
            observed_generation: None,
        }
    }

    /// Checks the cluster at these seconds, and returns the last sign of life and the last transition.
    fn after(looks: &[(i64, Option<Condition>, Option<i64>)]) -> (i64, i64) {
        let mut memory = None;
        for (now, ready, renewed) in looks {
            memory = Some(heartbeat(memory.as_ref(), ready.as_ref(), renewed.map(at), at(0), at(*now)));
        }
        let memory = memory.unwrap();
        (memory.probed.as_second(), memory.transition.as_second())
    }

    #[test]
    fn a_change_of_what_ready_says_and_a_renewed_lease_are_signs_of_life() {
        let yes = || Some(ready("True", "ClusterReady", 3));
        let no = || Some(ready("False", "ClusterNotReachable", 20));
        let cases = [
            ("never reported", vec![(5, None, None), (10, None, None)], (0, 0)),
            ("the first word", vec![(5, None, None), (10, yes(), None)], (10, 10)),
            ("after a restart of the monitor", vec![(50, yes(), None)], (50, 50)),
            ("the same word again", vec![(5, yes(), None), (10, yes(), None)], (5, 5)),
            ("another status", vec![(5, yes(), None), (25, no(), None)], (25, 25)),
            (
                "the same status for another reason",
                vec![(25, no(), None), (30, Some(ready("False", "ClusterNotReady", 20)), None)],
                (30, 25),
            ),
            (
                "another status at the same time of a clock that was set back",
                vec![(5, yes(), None), (25, Some(ready("False", "ClusterNotReachable", 3)), None)],
                (25, 25),
            ),
            ("a renewal", vec![(5, yes(), Some(4)), (15, yes(), Some(14))], (15, 5)),
            ("a Lease that stays as it is", vec![(5, yes(), Some(4)), (15, yes(), Some(4))], (5, 5)),
            ("a Lease alone", vec![(5, None, None), (10, None, Some(9))], (10, 0)),
            (
                "a renewal that was known before",
                vec![(5, yes(), Some(4)), (25, no(), Some(4)), (30, no(), Some(4))],
                (25, 25),
            ),
        ];
        for (about, looks, expected) in cases {
            assert_eq!(after(&looks), expected, "{about}");
        }
    }

    #[test]
    fn silence_makes_readiness_unknown_after_the_grace_period() {
        let (grace, startup) = (Duration::from_secs(40), Duration::from_secs(60));
        let reason = |ready: Option<Condition>, now| {
            let heartbeat = Heartbeat { ready, renewed: None, probed: at(0), transition: at(0) };
            silence(&heartbeat, grace, startup, at(now)).map(|(reason, _)| reason)
        };
        let yes = || Some(ready("True", "ClusterReady", 0));
        let cases = [
            (yes(), 40, None),
            (yes(), 41, Some("ClusterStatusUnknown")),
            (Some(ready("False", "ClusterNotReachable", 0)), 41, Some("ClusterStatusUnknown")),
            (Some(ready("Unknown", "ClusterStatusUnknown", 0)), 99, None),
            (None, 60, None),
            (None, 61, Some("ClusterStatusNeverUpdated")),
            (yes(), -100, None),
        ];
        for (ready, now, expected) in cases {
            assert_eq!(reason(ready.clone(), now), expected, "{ready:?} {now}");
        }
    }

    #[test]
    fn only_an_agent_falls_silent_and_only_a_silent_one_is_not_waited_for() {
        for (mode, status, expected) in
            [("Push", "False", false), ("Pull", "True", false), ("Pull", "Unknown", true)]
        {
            let mut cluster = Cluster::new("m1", Default::default());
            cluster.spec.sync_mode = mode.into();
            cluster.status.get_or_insert_default().conditions = vec![ready(status, "", 0)];
            assert_eq!(abandons_works(&cluster), expected, "{mode} {status}");
            assert_eq!(falls_silent(&cluster), mode == "Pull", "{mode}");
        }
    }

    #[test]
    fn the_eviction_timeout_counts_from_the_change_or_from_the_last_sign_of_life() {
        let since =
            |ready| not_ready_since(&Heartbeat { ready, renewed: None, probed: at(7), transition: at(5) });
        assert_eq!(since(Some(ready("False", "", 0))), at(5));
        assert_eq!(since(Some(ready("Unknown", "", 0))), at(7));
        assert_eq!(since(None), at(7));
    }
}
