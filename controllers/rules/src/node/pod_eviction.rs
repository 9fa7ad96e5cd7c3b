//! When a pod must leave a node because of taints, and the condition it gets before.
//!
//! kubernetes/kubernetes `pkg/controller/tainteviction/taint_eviction.go` (before 1.29 `pkg/controller/nodelifecycle/
//! scheduler/taint_manager.go`). Disruption budgets are ignored, and pods that have ended are treated as the others.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PodCondition, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::names::{DISRUPTION_TARGET, MESSAGE_TAINT_MANAGER, REASON_TAINT_MANAGER};
use crate::api::NO_EXECUTE;
use crate::{EvictionTime, tolerates};

/// The resolution of a time stamp: the real time may be up to this much later.
const STAMP: Duration = Duration::from_secs(1);

/// Returns when a pod with these tolerations must leave a node with these taints.
/// The pod came to its node at `came`.
///
/// Of several tolerations of one taint the first in the list counts. A toleration begins with the taint, or with the
/// pod if that is younger, so that a start of the controller does not restart it. Both stamps have whole seconds: a
/// stamp within the last second counts as now; after a start, a toleration may end up to a second early.
#[must_use]
pub fn pod_due(
    taints: &[Taint],
    tolerations: &[Toleration],
    came: Timestamp,
    now: Timestamp,
) -> EvictionTime {
    let mut due = EvictionTime::Never;
    for taint in taints.iter().filter(|taint| taint.effect == NO_EXECUTE) {
        let Some(toleration) = tolerations.iter().find(|toleration| tolerates(toleration, taint)) else {
            return EvictionTime::AtOnce;
        };
        let Some(seconds) = toleration.toleration_seconds else { continue };
        let stamp = taint.time_added.as_ref().map_or(now, |added| added.0.max(came));
        let is_new = now.duration_since(stamp).unsigned_abs() < STAMP;
        let began = if is_new { now } else { stamp.min(now) };
        let tolerated = Duration::from_secs(seconds.try_into().unwrap_or(0));
        let end = began.saturating_add(tolerated).unwrap_or(Timestamp::MAX);
        due = match due {
            EvictionTime::At(earlier) if earlier <= end => due,
            _ => EvictionTime::At(end),
        };
    }
    due
}

/// The change of the time at which a pod is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The time is set; if it is past, the pod is deleted at once.
    Set(Timestamp),
    /// A time that is set stays.
    Keep,
    /// A time that is set is cancelled.
    Cancel,
    /// A time that is set is cancelled, and the pod is deleted now.
    Now,
}

/// Decides about the time at which a pod is to be deleted.
/// A time that is set does not move, neither for a longer toleration nor for a shorter one (#102993).
#[must_use]
pub fn timer(is_set: bool, due: EvictionTime) -> Timer {
    match due {
        EvictionTime::AtOnce => Timer::Now,
        EvictionTime::Never => Timer::Cancel,
        EvictionTime::At(_) if is_set => Timer::Keep,
        EvictionTime::At(end) => Timer::Set(end),
    }
}

/// Returns the pause before a pod's deletion is tried again after this number of failures in a row.
/// The pause is short, but after each five failures the pause is increasingly long. The reference never returns `None`,
/// which stands for giving up.
#[must_use]
pub fn deletion_pause(failures: u32) -> Option<Duration> {
    const SOON: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_secs(60);
    if !failures.is_multiple_of(TRIES) {
        return Some(SOON);
    }
    let rounds = (failures / TRIES).saturating_sub(1);
    Some(Duration::from_secs(1).saturating_mul(2_u32.saturating_pow(rounds)).min(LONGEST))
}

/// How many times a deletion is tried in quick succession.
pub(super) const TRIES: u32 = 5;

/// Returns the conditions of a pod that is about to be deleted for a taint.
/// The function returns `None` if the conditions report the deletion already.
#[must_use]
pub fn disruption_target(
    conditions: &[PodCondition],
    generation: Option<i64>,
    now: Timestamp,
) -> Option<Vec<PodCondition>> {
    let target = PodCondition {
        type_: DISRUPTION_TARGET.into(),
        status: "True".into(),
        reason: Some(REASON_TAINT_MANAGER.into()),
        message: Some(MESSAGE_TAINT_MANAGER.into()),
        observed_generation: generation,
        last_transition_time: Some(Time(now)),
        ..PodCondition::default()
    };
    let mut after = conditions.to_vec();
    match after.iter_mut().find(|condition| condition.type_ == DISRUPTION_TARGET) {
        None => after.push(target),
        Some(before) if before.status == target.status && before.reason == target.reason => return None,
        Some(before) => *before = target,
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    fn taint(key: &str, added: Option<i64>) -> Taint {
        let time_added = added.map(|second| Time(at(second)));
        Taint { key: key.into(), effect: NO_EXECUTE.into(), time_added, value: None }
    }

    fn tolerates(key: &str, seconds: Option<i64>) -> Toleration {
        Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            effect: Some(NO_EXECUTE.into()),
            toleration_seconds: seconds,
            value: None,
        }
    }

    #[test]
    fn the_shortest_toleration_decides_and_counts_from_the_taint_or_the_pod() {
        let (a, b) = (taint("a", Some(100)), taint("b", Some(100)));
        let other = Taint { effect: "NoSchedule".into(), ..taint("c", Some(100)) };
        // The check is at 100.4, when the taints have just been added; the pods were created at 50.
        let cases: Vec<(&str, Vec<Taint>, Vec<Toleration>, EvictionTime)> = vec![
            ("no taint", vec![], vec![], EvictionTime::Never),
            ("another effect", vec![other], vec![], EvictionTime::Never),
            ("not tolerated", vec![a.clone()], vec![tolerates("b", Some(5))], EvictionTime::AtOnce),
            ("one of two", vec![a.clone(), b.clone()], vec![tolerates("a", None)], EvictionTime::AtOnce),
            ("for ever", vec![a.clone()], vec![tolerates("a", None)], EvictionTime::Never),
            ("for a while", vec![a.clone()], vec![tolerates("a", Some(5))], EvictionTime::At(at(105))),
            ("for no time", vec![a.clone()], vec![tolerates("a", Some(0))], EvictionTime::At(at(100))),
            (
                "for less than no time",
                vec![a.clone()],
                vec![tolerates("a", Some(-7))],
                EvictionTime::At(at(100)),
            ),
            (
                "the first",
                vec![a.clone()],
                vec![tolerates("a", None), tolerates("a", Some(5))],
                EvictionTime::Never,
            ),
            (
                "the shortest",
                vec![a.clone(), b.clone()],
                vec![tolerates("a", Some(9)), tolerates("b", Some(5))],
                EvictionTime::At(at(105)),
            ),
            (
                "and if it comes first",
                vec![a.clone(), b.clone()],
                vec![tolerates("a", Some(5)), tolerates("b", Some(9))],
                EvictionTime::At(at(105)),
            ),
            (
                "a while and for ever",
                vec![a, b],
                vec![tolerates("a", Some(9)), tolerates("b", None)],
                EvictionTime::At(at(109)),
            ),
            (
                "no time added",
                vec![taint("a", None)],
                vec![tolerates("a", Some(5))],
                EvictionTime::At(at(105)),
            ),
        ];
        let now = at(100) + Duration::from_millis(400);
        for (about, taints, tolerations, expected) in cases {
            let expected = match expected {
                EvictionTime::At(end) => EvictionTime::At(end + Duration::from_millis(400)),
                due => due,
            };
            assert_eq!(pod_due(&taints, &tolerations, at(50), now), expected, "{about}");
        }
    }

    #[test]
    fn a_toleration_goes_on_when_the_controller_starts_and_begins_with_a_younger_pod() {
        let due = |created, now| {
            pod_due(&[taint("a", Some(100))], &[tolerates("a", Some(30))], at(created), at(now))
        };
        assert_eq!(due(50, 120), EvictionTime::At(at(130)));
        assert_eq!(due(50, 500), EvictionTime::At(at(130)));
        assert_eq!(due(300, 301), EvictionTime::At(at(330)));
    }

    #[test]
    fn a_time_that_is_set_does_not_move_but_is_taken_back() {
        let end = EvictionTime::At(at(5));
        let cases = [
            (false, end, Timer::Set(at(5))),
            (true, end, Timer::Keep),
            (true, EvictionTime::Never, Timer::Cancel),
            (true, EvictionTime::AtOnce, Timer::Now),
            (false, EvictionTime::AtOnce, Timer::Now),
        ];
        for (is_set, due, expected) in cases {
            assert_eq!(timer(is_set, due), expected, "{is_set} {due:?}");
        }
    }

    #[test]
    fn a_deletion_is_tried_five_times_in_quick_succession_and_then_with_patience() {
        let millis = |failures| deletion_pause(failures).unwrap().as_millis();
        assert_eq!([1, 4, 5, 6, 10, 15, 500].map(millis), [10, 10, 1000, 10, 2000, 4000, 60_000]);
    }

    #[test]
    fn a_pod_says_once_that_a_taint_drives_it_out() {
        let ready = PodCondition { type_: "Ready".into(), status: "True".into(), ..PodCondition::default() };
        let conditions = disruption_target(std::slice::from_ref(&ready), Some(3), at(9)).unwrap();
        assert_eq!(conditions[0], ready);
        let type_and_reason =
            |condition: &PodCondition| (condition.type_.clone(), condition.reason.clone().unwrap());
        assert_eq!(
            type_and_reason(&conditions[1]),
            ("DisruptionTarget".into(), "DeletionByTaintManager".into())
        );
        let PodCondition { status, message, observed_generation, last_transition_time, .. } = &conditions[1];
        assert_eq!(
            (status.as_str(), message.as_deref()),
            ("True", Some("Taint manager: deleting due to NoExecute taint"))
        );
        assert_eq!((*observed_generation, last_transition_time), (Some(3), &Some(Time(at(9)))));
        assert_eq!(disruption_target(&conditions, Some(3), at(10)), None);
        let mut of_another = conditions.clone();
        of_another[1].reason = Some("PreemptionByScheduler".into());
        assert_eq!(disruption_target(&of_another, Some(3), at(9)), Some(conditions));
    }
}
