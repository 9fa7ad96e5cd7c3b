//! The mark that pods get when their node falls silent: not ready, so that no service goes on sending them requests.
//!
//! kubernetes/kubernetes `pkg/controller/util/node/controller_utils.go` (`MarkPodsNotReady`) and
//! `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`doPodProcessingWorker`). The mark is never taken back
//! here: the kubelet that is back says how its pods are.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::names::READY;

/// Whether the pods of a node are marked: if this very look has turned its readiness from what was `read` into something
/// else. A kubelet that reports itself that its node is not ready marks nothing (until 1.36, #112733); once it falls silent, its pods are
/// marked all the same, which real releases leave out (#109998).
#[must_use]
pub fn marks_pods(read: Option<&str>, written: Option<&str>) -> bool {
    match read {
        Some("True") => written != Some("True"),
        Some("False") => written == Some("Unknown"),
        _ => false,
    }
}

/// Whether the pods of a node are marked again, after some could not be.
#[must_use]
pub fn marks_again(failed: bool, read: Option<&str>) -> bool {
    failed && read != Some("True")
}

/// Whether a pod that comes to a node is marked at once: if the node is not ready, as it is `remembered` or, of one that
/// was not looked at yet, as it says.
#[must_use]
pub fn marks_newcomer(remembered: Option<Option<&str>>, said: Option<&str>) -> bool {
    remembered.unwrap_or(said) != Some("True")
}

/// The conditions of a pod with the mark; `None` where it has it, or never said whether it is ready.
#[must_use]
pub fn marked_conditions(conditions: &[PodCondition], now: Timestamp) -> Option<Vec<PodCondition>> {
    let place =
        conditions.iter().position(|condition| condition.type_ == READY && condition.status != "False")?;
    let mut after = conditions.to_vec();
    "False".clone_into(&mut after[place].status);
    after[place].last_transition_time = Some(Time(now));
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_marked_when_a_look_ends_the_readiness_of_their_node() {
        let cases = [
            (Some("True"), Some("Unknown"), true),
            (Some("True"), Some("True"), false),
            (Some("False"), Some("Unknown"), true),
            (Some("Unknown"), Some("Unknown"), false),
            (Some("False"), Some("False"), false),
            (None, Some("Unknown"), false),
        ];
        for (read, written, expected) in cases {
            assert_eq!(marks_pods(read, written), expected, "{read:?} {written:?}");
        }
        let again =
            [(true, Some("Unknown"), true), (true, Some("True"), false), (false, Some("False"), false)];
        for (failed, read, expected) in again {
            assert_eq!(marks_again(failed, read), expected, "{failed} {read:?}");
        }
    }

    #[test]
    fn a_newcomer_is_marked_by_what_is_remembered_of_the_node_or_else_by_what_it_says() {
        let cases = [
            (Some(Some("True")), Some("Unknown"), false),
            (Some(Some("Unknown")), Some("True"), true),
            (Some(None), Some("True"), true),
            (None, Some("Unknown"), true),
            (None, Some("True"), false),
        ];
        for (remembered, said, expected) in cases {
            assert_eq!(marks_newcomer(remembered, said), expected, "{remembered:?} {said:?}");
        }
    }

    #[test]
    fn the_mark_changes_what_a_pod_says_of_its_readiness_and_nothing_else() {
        let condition = |kind: &str, status: &str| PodCondition {
            type_: kind.into(),
            status: status.into(),
            reason: Some("Why".into()),
            ..PodCondition::default()
        };
        let now = Timestamp::from_second(9).unwrap();
        let marked = PodCondition { last_transition_time: Some(Time(now)), ..condition("Ready", "False") };
        let initialized = condition("Initialized", "True");
        let cases = [
            (vec![initialized.clone(), condition("Ready", "True")], Some(vec![initialized.clone(), marked])),
            (vec![condition("Ready", "False")], None),
            (vec![initialized], None),
        ];
        for (before, expected) in cases {
            assert_eq!(marked_conditions(&before, now), expected, "{before:?}");
        }
    }
}
