//! Marks pods as not ready when their node falls silent, so that services stop using them.
//!
//! kubernetes/kubernetes `pkg/controller/util/node/controller_utils.go` (`MarkPodsNotReady`) and
//! `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`doPodProcessingWorker`). The mark is never removed
//! here: the kubelet reports the readiness of its pods when it is back.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::names::READY;

/// Returns true if the pods of a node are marked.
/// The pods are marked if this check has changed the readiness of the node from the `read` value. If the kubelet itself
/// reports the node as not ready, nothing is marked (until 1.36, #112733). Once that kubelet falls silent, the pods of
/// the node are marked, which real releases leave out (#109998).
#[must_use]
pub fn marks_pods(read: Option<&str>, written: Option<&str>) -> bool {
    match read {
        Some("True") => written != Some("True"),
        Some("False") => written == Some("Unknown"),
        _ => false,
    }
}

/// Whether the pods of a node are marked again after some writes have failed.
#[must_use]
pub fn marks_again(failed: bool, read: Option<&str>) -> bool {
    failed && read != Some("True")
}

/// Returns true if a new pod on a node is marked at once.
/// The pod is marked if the node is not ready by its `remembered` readiness. If the node was not checked yet, its
/// `reported` readiness decides.
#[must_use]
pub fn marks_newcomer(remembered: Option<Option<&str>>, reported: Option<&str>) -> bool {
    remembered.unwrap_or(reported) != Some("True")
}

/// Returns the conditions of a pod with the mark.
/// The function returns `None` if the pod has the mark already, or if the pod has no condition `Ready`.
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
    use crate::test_values::at;

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
        for (remembered, reported, expected) in cases {
            assert_eq!(marks_newcomer(remembered, reported), expected, "{remembered:?} {reported:?}");
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
        let now = at(9);
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
