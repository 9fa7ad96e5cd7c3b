//! Validates the status of a workload: no count is negative, and no part exceeds the whole.

use serde_json::Value;

use super::At;
use crate::http::failure::Cause;
use crate::kind::kinds::Kind;

// The counts of each status as words, in the order of validation.
const DEPLOYMENT: &str = "observedGeneration replicas updatedReplicas readyReplicas availableReplicas \
    unavailableReplicas terminatingReplicas collisionCount";
const REPLICA_SET: &str = "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration \
    terminatingReplicas";
const STATEFUL_SET: &str = "replicas readyReplicas currentReplicas updatedReplicas availableReplicas \
    observedGeneration collisionCount";
const DAEMON_SET: &str = "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady \
    observedGeneration updatedNumberScheduled numberAvailable numberUnavailable collisionCount";
const BUDGET: &str = "disruptionsAllowed currentHealthy desiredHealthy expectedPods";

/// The counts that are parts of `replicas`.
const PARTS: [&str; 5] =
    ["updatedReplicas", "fullyLabeledReplicas", "readyReplicas", "currentReplicas", "availableReplicas"];

/// The problems of the status of an object of a built-in kind.
pub(crate) fn status_problems(kind: &Kind, object: &Value) -> Vec<Cause> {
    // The second value names the ready replicas in the message about too many available replicas.
    let (counts, ready) = match (&*kind.group, &*kind.plural) {
        ("apps", "deployments") => (DEPLOYMENT, "readyReplicas"),
        ("apps", "replicasets") | ("", "replicationcontrollers") => (REPLICA_SET, "readyReplicas"),
        ("apps", "statefulsets") => (STATEFUL_SET, "status.readyReplicas"),
        ("apps", "daemonsets") => (DAEMON_SET, ""),
        ("policy", "poddisruptionbudgets") => (BUDGET, ""),
        _ => return Vec::new(),
    };
    let root = At::root(object);
    let status = root.field("status");
    let mut causes = Vec::new();
    for field in counts.split_whitespace() {
        status.field(field).not_negative(&mut causes);
    }
    let count = |field: &str| status.value[field].as_i64().unwrap_or(0);
    let parts = counts.split_whitespace().filter(|field| PARTS.contains(field));
    let too_many = parts.filter(|part| count(part) > count("replicas"));
    causes.extend(too_many.map(|part| status.field(part).invalid("cannot be greater than status.replicas")));
    if !ready.is_empty() && count("availableReplicas") > count("readyReplicas") {
        let detail = format!("cannot be greater than {ready}");
        causes.push(status.field("availableReplicas").invalid(&detail));
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::builtin;
    use serde_json::json;

    #[test]
    fn a_status_must_not_count_more_replicas_than_exist() {
        let problems_of = |group: &str, plural: &str, status: Value| {
            let causes = status_problems(builtin(group, "v1", plural), &json!({"status": status}));
            causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect::<Vec<_>>()
        };
        let fits = json!({"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2});
        assert_eq!(problems_of("apps", "deployments", fits), [""; 0]);
        assert_eq!(
            problems_of(
                "apps",
                "deployments",
                json!({"replicas": 1, "readyReplicas": 1, "availableReplicas": 2})
            ),
            [
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
            ]
        );
        assert_eq!(
            problems_of("apps", "statefulsets", json!({"replicas": 2, "availableReplicas": 2})),
            ["status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",]
        );
        assert_eq!(
            problems_of("apps", "daemonsets", json!({"numberReady": -1})),
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0",]
        );
        assert_eq!(problems_of("", "pods", json!({"replicas": -1})), [""; 0]);
    }
}
