//! Whether a member is ready by probes of its API server, and whether discovery was complete.
//! The module also decides when a probe is due and how long it may take.
//!
//! karmada-io/karmada `pkg/controllers/status/cluster_status_controller.go` and `cluster_condition_cache.go`.

use std::time::Duration;

use jiff::Timestamp;

use crate::api::Cluster;

/// How a probe of a member's API server (`/readyz`, or `/healthz` where that is missing) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// There are no credentials to probe with.
    NoClient,
    /// There was no answer, or the answer was an error.
    Failed,
    /// The answer was a success with this HTTP status.
    Answered(u16),
}

/// The content of a Cluster's condition `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Whether the status is `True`.
    pub ready: bool,
    /// Its reason.
    pub reason: &'static str,
    /// Its message.
    pub message: &'static str,
}

/// The run of equal probe results that the last probe belongs to.
/// It is kept in memory: a restart forgets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRun {
    /// Whether the probes of the run reported ready.
    pub ready: bool,
    /// When the first probe of the run ended.
    pub since: Timestamp,
}

/// Returns the readiness by one probe, without regard to earlier probes.
///
/// The client library turns every status above 206 into an error, so that an overloaded member is reported as not
/// reachable (`pkg/util/clusterhealth`, client-go `rest/request.go`).
#[must_use]
pub fn readiness(probe: Probe) -> Readiness {
    match probe {
        Probe::Answered(200) => Readiness {
            ready: true,
            reason: "ClusterReady",
            message: "cluster is healthy and ready to accept workloads",
        },
        Probe::Answered(_) => Readiness {
            ready: false,
            reason: "ClusterNotReady",
            message: "cluster is reachable but health endpoint responded without ok",
        },
        Probe::Failed => {
            Readiness { ready: false, reason: "ClusterNotReachable", message: "cluster is not reachable" }
        }
        Probe::NoClient => Readiness {
            ready: false,
            reason: "StatusCollectionFailed",
            message: "failed to create a client for the cluster",
        },
    }
}

/// Whether a probe result must last for the threshold before it counts.
/// It always must, also if there were no credentials to probe with (#7426).
#[must_use]
pub fn is_damped(_probe: Probe) -> bool {
    true
}

/// Returns true if the status of a member is collected.
/// The status is collected only if the condition of the member is `ready` already and the last probe `answers`.
#[must_use]
pub fn collects_status(ready: bool, answers: bool) -> bool {
    ready && answers
}

/// Returns the time limit of a request to a member.
/// This is the `configured` limit, so that a member that never answers is noticed (#6829).
#[must_use]
pub fn member_timeout(configured: Duration) -> Duration {
    configured
}

/// Whether a change of its Cluster brings the next probe of a member forward.
/// No change does, so that probes keep the configured period. Up to 1.13 each change did, including those that a probe
/// itself had caused (#6284).
#[must_use]
pub fn brings_probe_forward(_before: Option<&Cluster>, _after: &Cluster) -> bool {
    false
}

/// Returns the run after a probe. A result that differs from the one before begins a new run.
#[must_use]
pub fn probe_run(before: Option<ProbeRun>, ready: bool, now: Timestamp) -> ProbeRun {
    before.filter(|run| run.ready == ready).unwrap_or(ProbeRun { ready, since: now })
}

/// Whether the condition stays as it is although the probe differs.
/// It does until the run has lasted for the threshold of its direction. The first probe after a start (`before` is
/// `None`) counts at once.
///
/// `current` is whether `Ready` is `True` at present, `None` if there is no such condition yet.
#[must_use]
pub fn keeps_condition(
    before: Option<ProbeRun>,
    run: ProbeRun,
    current: Option<bool>,
    now: Timestamp,
    success_threshold: Duration,
    failure_threshold: Duration,
) -> bool {
    let threshold = if run.ready { success_threshold } else { failure_threshold };
    before.is_some()
        && current.is_some_and(|current| current != run.ready)
        && now.duration_since(run.since).unsigned_abs() < threshold
}

/// Returns the status, the reason and the message of the condition `CompleteAPIEnablements`.
/// The discovery found this number of groups and versions. `whole` is true if all discovery requests were answered. The
/// condition exists since 1.12.
#[must_use]
pub fn complete_apis(found: usize, whole: bool) -> (bool, &'static str, String) {
    match (found, whole) {
        (0, _) => (false, "Empty", "collected empty APIEnablements from the cluster".into()),
        (_, true) => (true, "Complete", "collected complete APIEnablements from the cluster".into()),
        (found, false) => {
            (false, "Partial", format!("might collect partial APIEnablements({found}) from the cluster"))
        }
    }
}

/// Whether the result of discovery replaces the `known` number of enablements of a member.
/// An incomplete result does not: missing kinds would look as if they had been removed (#7373; open).
#[must_use]
pub fn replaces_enablements(complete: bool, known: usize) -> bool {
    complete || known == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    /// Feeds probes at their seconds, and returns what `Ready` was after each.
    fn ready_after(probes: &[(i64, bool)]) -> Vec<bool> {
        let (mut run, mut current) = (None, None);
        let threshold = Duration::from_secs(30);
        let mut feed = |second, ready| {
            let next = probe_run(run, ready, at(second));
            if !keeps_condition(run, next, current, at(second), threshold, threshold) {
                current = Some(ready);
            }
            run = Some(next);
            current.unwrap()
        };
        probes.iter().map(|(second, ready)| feed(*second, *ready)).collect()
    }

    #[test]
    fn readiness_changes_when_a_run_of_answers_is_as_long_as_the_threshold() {
        type Probes<'a> = &'a [(i64, bool)];
        let cases: [(&str, Probes<'_>, bool); 7] = [
            ("the first probe counts at once", &[(0, false)], false),
            ("one failure is nothing", &[(0, true), (10, false)], true),
            ("a run one second too short", &[(0, true), (10, false), (39, false)], true),
            ("a run just long enough", &[(0, true), (10, false), (40, false)], false),
            (
                "a success starts the count anew",
                &[(0, true), (10, false), (20, true), (30, false), (50, false)],
                true,
            ),
            ("recovery takes a run, too", &[(0, false), (10, true), (39, true)], false),
            ("and is over after it", &[(0, false), (10, true), (40, true)], true),
        ];
        for (about, probes, expected) in cases {
            assert_eq!(ready_after(probes).last(), Some(&expected), "{about}");
        }
    }

    #[test]
    fn the_first_probe_after_a_start_counts_at_once_whatever_the_condition_says() {
        let (run, threshold) = (ProbeRun { ready: false, since: at(0) }, Duration::from_secs(30));
        assert!(!keeps_condition(None, run, Some(true), at(0), threshold, threshold));
        assert!(keeps_condition(Some(run), run, Some(true), at(0), threshold, threshold));
    }

    #[test]
    fn a_member_is_asked_once_it_is_ready_and_answers() {
        for (ready, answers) in [(true, true), (true, false), (false, true), (false, false)] {
            assert_eq!(collects_status(ready, answers), ready && answers, "{ready} {answers}");
        }
    }

    #[test]
    fn an_incomplete_answer_takes_the_place_of_nothing_only() {
        for (complete, known, expected) in [(true, 3, true), (false, 0, true), (false, 3, false)] {
            assert_eq!(replaces_enablements(complete, known), expected, "{complete} {known}");
        }
    }

    #[test]
    fn an_answer_is_complete_if_it_says_something_and_nothing_is_missing() {
        for (found, whole, expected) in [
            (0, true, (false, "Empty")),
            (0, false, (false, "Empty")),
            (7, false, (false, "Partial")),
            (7, true, (true, "Complete")),
        ] {
            let (holds, reason, _) = complete_apis(found, whole);
            assert_eq!((holds, reason), expected, "{found} {whole}");
        }
    }

    #[test]
    fn only_two_hundred_is_ready() {
        let cases = [
            (Probe::Answered(200), true, "ClusterReady"),
            (Probe::Answered(204), false, "ClusterNotReady"),
            (Probe::Failed, false, "ClusterNotReachable"),
            (Probe::NoClient, false, "StatusCollectionFailed"),
        ];
        for (probe, ready, reason) in cases {
            let readiness = readiness(probe);
            assert_eq!((readiness.ready, readiness.reason), (ready, reason));
        }
    }
}
