//! The taints that follow from a node's conditions.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`doNoScheduleTaintingPass`,
//! `processTaintBaseEviction`) and `pkg/controller/util/node/controller_utils.go`. Unlike there, a swap of taints is
//! one write, so that no client ever observes both.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::names::{NODE_NOT_READY, NODE_UNREACHABLE, NODE_UNSCHEDULABLE, TAINT_BY_CONDITION};
use crate::api::{NO_EXECUTE, NO_SCHEDULE};

/// Returns the taints with those of effect NoSchedule set according to conditions and cordon.
/// Taints with other keys stay; those with one of these keys are removed if no condition requires them, whatever set
/// them. Neither rate nor zone matters here.
#[must_use]
pub fn condition_taints(
    conditions: &[NodeCondition],
    unschedulable: bool,
    taints: &[Taint],
    now: Timestamp,
) -> Vec<Taint> {
    let holds = |kind: &str, status: &str| {
        conditions.iter().any(|condition| condition.type_ == kind && condition.status == status)
    };
    let brought = TAINT_BY_CONDITION.iter().filter(|(kind, status, _)| holds(kind, status));
    let wanted: Vec<&str> =
        brought.map(|(.., key)| *key).chain(unschedulable.then_some(NODE_UNSCHEDULABLE)).collect();
    let owned =
        |key: &str| key == NODE_UNSCHEDULABLE || TAINT_BY_CONDITION.iter().any(|(.., owned)| *owned == key);
    let stays = |taint: &&Taint| {
        taint.effect != NO_SCHEDULE || !owned(&taint.key) || wanted.contains(&taint.key.as_str())
    };
    let mut after: Vec<Taint> = taints.iter().filter(stays).cloned().collect();
    for key in wanted {
        add(&mut after, key, NO_SCHEDULE, now);
    }
    after
}

/// The action for the NoExecute taint of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintAction {
    /// The node has the right taint.
    Done,
    /// The node has the opposite taint, which is replaced at once, without using the rate.
    Swap,
    /// The node has neither taint and is queued.
    Wait,
    /// The node has the right taint, but the queue may not remember the node.
    /// If the queue does not remember the node, the node gets the taint again with a new time.
    WaitAgain,
    /// The node is ready: both taints are removed, and its position in the queue.
    Clear,
}

/// Returns the action for the readiness of a node; `None` if it never reported.
#[must_use]
pub fn tainting(ready: Option<&str>, taints: &[Taint]) -> Option<TaintAction> {
    let has = |key: &str| taints.iter().any(|taint| taint.key == key && taint.effect == NO_EXECUTE);
    let ready = ready?;
    Some(match health_keys(ready) {
        None => TaintAction::Clear,
        Some((_, opposite)) if has(opposite) => TaintAction::Swap,
        Some((right, _)) if has(right) => TaintAction::Done,
        Some(_) => TaintAction::Wait,
    })
}

/// Returns the taints with the NoExecute one for this readiness, and without the opposite one.
#[must_use]
pub fn evicting_taints(ready: &str, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
    let mut after = without_evicting_taints(taints);
    if let Some((right, _)) = health_keys(ready) {
        let kept = taints.iter().find(|taint| taint.key == right && taint.effect == NO_EXECUTE);
        match kept {
            Some(kept) => after.push(kept.clone()),
            None => add(&mut after, right, NO_EXECUTE, now),
        }
    }
    after
}

/// The taints without the NoExecute ones of ill health.
#[must_use]
pub fn without_evicting_taints(taints: &[Taint]) -> Vec<Taint> {
    let of_health = |taint: &Taint| {
        taint.effect == NO_EXECUTE && [NODE_NOT_READY, NODE_UNREACHABLE].contains(&taint.key.as_str())
    };
    taints.iter().filter(|taint| !of_health(taint)).cloned().collect()
}

/// The key of the taint for this readiness, and that of the opposite one.
fn health_keys(ready: &str) -> Option<(&'static str, &'static str)> {
    match ready {
        "False" => Some((NODE_NOT_READY, NODE_UNREACHABLE)),
        "Unknown" => Some((NODE_UNREACHABLE, NODE_NOT_READY)),
        _ => None,
    }
}

fn add(taints: &mut Vec<Taint>, key: &str, effect: &str, now: Timestamp) {
    if !taints.iter().any(|taint| taint.key == key && taint.effect == effect) {
        let time_added = Some(Time(now));
        taints.push(Taint { key: key.into(), effect: effect.into(), time_added, value: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::at;

    /// Taints by the last part of the key and the effect, all added at 1.
    fn taints(names: &[&str]) -> Vec<Taint> {
        let taint = |name: &&str| {
            let (key, effect) = name.split_once(':').unwrap();
            let key = if key == "custom" { key.into() } else { format!("node.kubernetes.io/{key}") };
            Taint { key, effect: effect.into(), time_added: Some(Time(at(1))), value: None }
        };
        names.iter().map(taint).collect()
    }

    fn names(taints: &[Taint]) -> Vec<String> {
        let short =
            |taint: &Taint| format!("{}:{}", taint.key.rsplit('/').next().unwrap_or_default(), taint.effect);
        taints.iter().map(short).collect()
    }

    fn conditions(statuses: &[(&str, &str)]) -> Vec<NodeCondition> {
        let condition = |(kind, status): &(&str, &str)| NodeCondition {
            type_: (*kind).into(),
            status: (*status).into(),
            ..NodeCondition::default()
        };
        statuses.iter().map(condition).collect()
    }

    /// Conditions, whether the node is cordoned, and its taints before and after.
    type Case =
        (&'static [(&'static str, &'static str)], bool, &'static [&'static str], &'static [&'static str]);

    #[test]
    fn conditions_and_cordons_keep_new_pods_away() {
        let cases: [Case; 10] = [
            (&[("Ready", "True")], false, &["not-ready:NoSchedule"], &[]),
            (&[("Ready", "False")], false, &[], &["not-ready:NoSchedule"]),
            (&[("Ready", "Unknown")], false, &["not-ready:NoSchedule"], &["unreachable:NoSchedule"]),
            (&[], false, &["not-ready:NoSchedule"], &[]),
            (
                &[("Ready", "True"), ("MemoryPressure", "True"), ("DiskPressure", "True")],
                false,
                &[],
                &["memory-pressure:NoSchedule", "disk-pressure:NoSchedule"],
            ),
            (
                &[("PIDPressure", "True"), ("NetworkUnavailable", "True")],
                false,
                &[],
                &["network-unavailable:NoSchedule", "pid-pressure:NoSchedule"],
            ),
            (&[("MemoryPressure", "Unknown")], false, &["memory-pressure:NoSchedule"], &[]),
            (&[("MemoryPressure", "False")], true, &[], &["unschedulable:NoSchedule"]),
            (&[], false, &["unschedulable:NoSchedule"], &[]),
            (
                &[("Ready", "True")],
                false,
                &[
                    "custom:NoSchedule",
                    "not-ready:NoExecute",
                    "disk-pressure:NoSchedule",
                    "unschedulable:NoExecute",
                ],
                &["custom:NoSchedule", "not-ready:NoExecute", "unschedulable:NoExecute"],
            ),
        ];
        for (statuses, cordoned, before, expected) in cases {
            let after = condition_taints(&conditions(statuses), cordoned, &taints(before), at(9));
            assert_eq!(names(&after), expected, "{statuses:?} {before:?}");
        }
    }

    #[test]
    fn a_taint_that_stays_keeps_its_time_and_a_new_one_gets_its_own() {
        let statuses = conditions(&[("Ready", "Unknown"), ("DiskPressure", "True")]);
        let after = condition_taints(&statuses, false, &taints(&["disk-pressure:NoSchedule"]), at(9));
        let times: Vec<_> = after.iter().map(|taint| taint.time_added.clone().unwrap().0).collect();
        assert_eq!(times, [at(1), at(9)]);
    }

    #[test]
    fn readiness_decides_what_is_to_be_done_about_the_taint() {
        let cases: [(Option<&str>, &[&str], Option<TaintAction>); 8] = [
            (None, &["not-ready:NoExecute"], None),
            (Some("True"), &["not-ready:NoExecute"], Some(TaintAction::Clear)),
            (Some("False"), &[], Some(TaintAction::Wait)),
            (Some("False"), &["not-ready:NoSchedule"], Some(TaintAction::Wait)),
            (Some("False"), &["not-ready:NoExecute"], Some(TaintAction::Done)),
            (Some("False"), &["unreachable:NoExecute"], Some(TaintAction::Swap)),
            (Some("Unknown"), &["not-ready:NoExecute"], Some(TaintAction::Swap)),
            (Some("Unknown"), &["unreachable:NoExecute"], Some(TaintAction::Done)),
        ];
        for (ready, before, expected) in cases {
            assert_eq!(tainting(ready, &taints(before)), expected, "{ready:?} {before:?}");
        }
    }

    #[test]
    fn the_two_taints_of_ill_health_exclude_one_another() {
        let before = taints(&["custom:NoExecute", "not-ready:NoExecute", "not-ready:NoSchedule"]);
        let unreachable = evicting_taints("Unknown", &before, at(9));
        let expected = ["custom:NoExecute", "not-ready:NoSchedule", "unreachable:NoExecute"];
        assert_eq!(names(&unreachable), expected);
        assert_eq!(unreachable[2].time_added, Some(Time(at(9))));
        assert_eq!(evicting_taints("Unknown", &unreachable, at(10)), unreachable);
        assert_eq!(names(&without_evicting_taints(&unreachable)), expected[..2]);
    }
}
