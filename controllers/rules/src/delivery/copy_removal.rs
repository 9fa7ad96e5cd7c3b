//! How the copy in a member is handled when its Work is deleted.
//!
//! karmada-io/karmada `pkg/controllers/execution/execution_controller.go`, `handleWorkDelete`.

use crate::api::{CONDITION_COMPLETE_APIS, Cluster, is_true};

/// How a copy is handled whose Work is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyRemoval {
    /// The copy is deleted from the member, then the Work is deleted.
    Remove,
    /// The Work waits until the member is ready again.
    Wait,
    /// The copy stays in the member, and the Work is deleted.
    Abandon,
}

/// Decides about the copy in `cluster`.
/// The Work does not wait for a member that is not ready and is being removed, nor for one that no longer exists.
#[must_use]
pub fn copy_removal(cluster: Option<&Cluster>) -> CopyRemoval {
    match cluster {
        Some(cluster) if cluster.is_ready() => CopyRemoval::Remove,
        Some(cluster) if cluster.metadata.deletion_timestamp.is_none() => CopyRemoval::Wait,
        _ => CopyRemoval::Abandon,
    }
}

/// Returns true if the member may serve kinds that its Cluster does not list.
/// This happens if the discovery of the member was incomplete. A Work that is deleted meanwhile would leave its copy in
/// the member.
#[must_use]
pub fn may_serve_more(cluster: &Cluster) -> bool {
    let conditions = cluster.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    cluster.metadata.deletion_timestamp.is_none() && !is_true(conditions, CONDITION_COMPLETE_APIS)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_values::from_json;

    #[test]
    fn a_copy_is_waited_for_unless_its_member_goes_too() {
        let cluster = |ready: &str, metadata: Value| -> Cluster {
            from_json(json!({
                "metadata": metadata, "spec": {"syncMode": "Push"},
                "status": {"conditions": [
                    {"type": "Ready", "status": ready, "reason": "r", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z"},
                ]},
            }))
        };
        let going = json!({"name": "m1", "deletionTimestamp": "2030-01-01T00:00:00Z"});
        let cases = [
            (Some(cluster("True", json!({"name": "m1"}))), CopyRemoval::Remove),
            (Some(cluster("True", going.clone())), CopyRemoval::Remove),
            (Some(cluster("False", json!({"name": "m1"}))), CopyRemoval::Wait),
            (Some(cluster("False", going)), CopyRemoval::Abandon),
            (None, CopyRemoval::Abandon),
        ];
        for (cluster, expected) in cases {
            assert_eq!(copy_removal(cluster.as_ref()), expected);
        }
    }

    #[test]
    fn a_member_may_serve_more_until_all_of_its_kinds_are_known() {
        let cluster = |complete: &str, metadata: Value| -> Cluster {
            from_json(json!({
                "metadata": metadata, "spec": {},
                "status": {"conditions": [{"type": "CompleteAPIEnablements", "status": complete, "reason": "r", "message": "",
                    "lastTransitionTime": "2030-01-01T00:00:00Z"}]},
            }))
        };
        let (there, going) =
            (json!({"name": "m1"}), json!({"name": "m1", "deletionTimestamp": "2030-01-01T00:00:00Z"}));
        let cases = [("True", there.clone(), false), ("False", there, true), ("False", going, false)];
        for (complete, metadata, expected) in cases {
            assert_eq!(
                may_serve_more(&cluster(complete, metadata.clone())),
                expected,
                "{complete} {metadata}"
            );
        }
    }
}
