//! What the status of a workload may say: its counts are not negative, and no part is larger than the whole.

use serde_json::Value;

use super::At;
use crate::failure::Cause;
use crate::kinds::Kind;

/// The counts of a status.
struct Counts {
    /// In the order in which they are looked at.
    all: &'static [&'static str],
    /// Those that count some of the `replicas`.
    parts: &'static [&'static str],
    /// How the replicas that are ready are called where there are fewer than are available.
    ready: &'static str,
}

const DEPLOYMENT: Counts = Counts {
    all: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    parts: &["updatedReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};
const REPLICA_SET: Counts = Counts {
    all: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};
const STATEFUL_SET: Counts = Counts {
    all: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    parts: &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
    ready: "status.readyReplicas",
};
const DAEMON_SET: Counts = Counts {
    all: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    parts: &[],
    ready: "",
};
const BUDGET: Counts = Counts {
    all: &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"],
    parts: &[],
    ready: "",
};

/// What is wrong with the status of an object of a built-in kind.
pub(crate) fn status_problems(kind: &Kind, object: &Value) -> Vec<Cause> {
    let counts = match (&*kind.group, &*kind.plural) {
        ("apps", "deployments") => DEPLOYMENT,
        ("apps", "replicasets") | ("", "replicationcontrollers") => REPLICA_SET,
        ("apps", "statefulsets") => STATEFUL_SET,
        ("apps", "daemonsets") => DAEMON_SET,
        ("policy", "poddisruptionbudgets") => BUDGET,
        _ => return Vec::new(),
    };
    let root = At::root(object);
    let status = root.field("status");
    let mut causes = Vec::new();
    for field in counts.all {
        status.field(field).not_negative(&mut causes);
    }
    let count = |field: &str| status.value[field].as_i64().unwrap_or(0);
    let too_many = counts.parts.iter().filter(|part| count(part) > count("replicas"));
    causes.extend(too_many.map(|part| status.field(part).invalid("cannot be greater than status.replicas")));
    if !counts.parts.is_empty() && count("availableReplicas") > count("readyReplicas") {
        let detail = format!("cannot be greater than {}", counts.ready);
        causes.push(status.field("availableReplicas").invalid(&detail));
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

    #[test]
    fn a_status_counts_no_more_than_there_are() {
        let told = |group: &str, plural: &str, status: Value| {
            let causes = status_problems(builtin(group, "v1", plural), &json!({"status": status}));
            causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect::<Vec<_>>()
        };
        let fits = json!({"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2});
        assert_eq!(told("apps", "deployments", fits), [""; 0]);
        assert_eq!(
            told("apps", "deployments", json!({"replicas": 1, "readyReplicas": 1, "availableReplicas": 2})),
            [
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
            ]
        );
        assert_eq!(
            told("apps", "statefulsets", json!({"replicas": 2, "availableReplicas": 2})),
            ["status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",]
        );
        assert_eq!(
            told("apps", "daemonsets", json!({"numberReady": -1})),
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0",]
        );
        assert_eq!(told("", "pods", json!({"replicas": -1})), [""; 0]);
    }
}
