//! The taints that follow from a cluster's health.
//!
//! karmada-io/karmada v1.5.0 `pkg/controllers/cluster/cluster_controller.go` (`taintClusterByCondition`,
//! `processTaintBaseEviction`). Since 1.14 no controller adds the NoExecute taints by itself (#6389).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::{NO_EXECUTE, NO_SCHEDULE, TAINT_NOT_READY, TAINT_TERMINATING, TAINT_UNREACHABLE};

/// The status of the condition `Ready`; `None` if the cluster never reported.
pub type Ready<'a> = Option<&'a str>;

/// Returns the taints with the NoSchedule taints set according to readiness, without delay.
/// The taint is `not-ready` for False and for a cluster that never reported. The taint is `unreachable` for Unknown,
/// and there is none for True.
#[must_use]
pub fn no_schedule_taints(ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
    match ready {
        Some("True") => without_health_taints(taints, NO_SCHEDULE),
        Some("Unknown") => swapped(taints, TAINT_UNREACHABLE, TAINT_NOT_READY, NO_SCHEDULE, now),
        Some(_) => swapped(taints, TAINT_NOT_READY, TAINT_UNREACHABLE, NO_SCHEDULE, now),
        None => with(taints, TAINT_NOT_READY, NO_SCHEDULE, now),
    }
}

/// Returns the taints with the NoExecute taints set according to readiness.
/// The taint is added when the cluster has not been ready for `timeout`. The taint is removed at once when the cluster
/// is ready.
///
/// `since` is when that readiness was first observed; for a cluster that never reported, when it was created.
#[must_use]
pub fn no_execute_taints(
    ready: Ready<'_>,
    since: Timestamp,
    timeout: Duration,
    taints: &[Taint],
    now: Timestamp,
) -> Vec<Taint> {
    if ready == Some("True") {
        return without_health_taints(taints, NO_EXECUTE);
    }
    // A time stamp from before the clock was set back may be later than now.
    let lasted = now.duration_since(since);
    if lasted.is_negative() || lasted.unsigned_abs() < timeout {
        return taints.to_vec();
    }
    match ready {
        Some("False") => swapped(taints, TAINT_NOT_READY, TAINT_UNREACHABLE, NO_EXECUTE, now),
        _ => swapped(taints, TAINT_UNREACHABLE, TAINT_NOT_READY, NO_EXECUTE, now),
    }
}

/// Returns the taints of a cluster that is being removed.
/// The added taint evicts workloads although they tolerate the taints of ill health.
#[must_use]
pub fn terminating_taints(taints: &[Taint], now: Timestamp) -> Vec<Taint> {
    with(taints, TAINT_TERMINATING, NO_EXECUTE, now)
}

fn is(taint: &Taint, key: &str, effect: &str) -> bool {
    taint.key == key && taint.effect == effect
}

fn with(taints: &[Taint], key: &str, effect: &str, now: Timestamp) -> Vec<Taint> {
    let mut taints = taints.to_vec();
    if !taints.iter().any(|taint| is(taint, key, effect)) {
        let time_added = Some(Time(now));
        taints.push(Taint { key: key.into(), effect: effect.into(), time_added, value: None });
    }
    taints
}

/// Replaces one of `not-ready` and `unreachable` by the other, for one effect.
/// The new taint keeps the time of the replaced one: the cluster has been unavailable since then, and no toleration
/// restarts (up to 1.13 it does).
fn swapped(taints: &[Taint], add: &str, remove: &str, effect: &str, now: Timestamp) -> Vec<Taint> {
    let replaced = taints.iter().find(|taint| is(taint, remove, effect));
    let since = replaced.and_then(|taint| taint.time_added.as_ref()).map_or(now, |added| added.0);
    let mut taints = with(taints, add, effect, since);
    taints.retain(|taint| !is(taint, remove, effect));
    taints
}

fn without_health_taints(taints: &[Taint], effect: &str) -> Vec<Taint> {
    let health = |taint: &Taint| is(taint, TAINT_NOT_READY, effect) || is(taint, TAINT_UNREACHABLE, effect);
    taints.iter().filter(|taint| !health(taint)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    /// Taints as `key:effect`, by the last part of the key.
    fn names(taints: &[Taint]) -> Vec<String> {
        let short =
            |taint: &Taint| format!("{}:{}", taint.key.rsplit('/').next().unwrap_or_default(), taint.effect);
        taints.iter().map(short).collect()
    }

    #[test]
    fn new_work_is_kept_away_at_once() {
        let cases: [(Ready<'_>, &[&str]); 5] = [
            (None, &["not-ready:NoSchedule"]),
            (Some("False"), &["not-ready:NoSchedule"]),
            (Some("Unknown"), &["unreachable:NoSchedule"]),
            (Some("False"), &["not-ready:NoSchedule"]),
            (Some("True"), &[]),
        ];
        let mut taints = Vec::new();
        for (ready, expected) in cases {
            taints = no_schedule_taints(ready, &taints, at(5));
            assert_eq!(names(&taints), expected, "{ready:?}");
        }
    }

    #[test]
    fn old_work_is_driven_out_after_the_timeout_only() {
        let timeout = Duration::from_secs(300);
        let cases: [(Ready<'_>, i64, &[&str]); 6] = [
            (None, -400, &[]),
            (Some("False"), 299, &[]),
            (Some("False"), 300, &["not-ready:NoExecute"]),
            (Some("Unknown"), 300, &["unreachable:NoExecute"]),
            (None, 300, &["unreachable:NoExecute"]),
            (Some("True"), 300, &[]),
        ];
        for (ready, now, expected) in cases {
            assert_eq!(
                names(&no_execute_taints(ready, at(0), timeout, &[], at(now))),
                expected,
                "{ready:?} {now}"
            );
        }
    }

    #[test]
    fn a_taint_that_stays_keeps_the_time_it_was_added() {
        let once = no_schedule_taints(Some("False"), &[], at(5));
        assert_eq!(no_schedule_taints(Some("False"), &once, at(9)), once);
        assert_eq!(once[0].time_added, Some(Time(at(5))));
    }

    #[test]
    fn taints_set_by_people_stay() {
        let cordon = with(&[], "cluster.karmada.io/unschedulable", NO_SCHEDULE, at(1));
        assert_eq!(no_schedule_taints(Some("True"), &cordon, at(2)), cordon);
        assert_eq!(no_execute_taints(Some("True"), at(0), Duration::ZERO, &cordon, at(2)), cordon);
        assert_eq!(
            names(&terminating_taints(&cordon, at(2))),
            ["unschedulable:NoSchedule", "terminating:NoExecute"]
        );
    }
}
