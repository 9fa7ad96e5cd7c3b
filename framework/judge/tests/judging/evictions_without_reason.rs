//! Tests evictions of pods by controllers that write no reason, or that move their deadlines.
//! Such controllers behave in another way than those of Kubernetes.
//!
//! In the history of a scenario, each deletion by a person has a mark. A deletion without a mark is by the controllers.

use capsize_history::EventType;
use serde_json::{Value, json};

use crate::nodes::{NodeHistoryBuilder, PROFILE, cluster_by, holds, violates};

/// A cluster whose controllers write no condition on the pods that they delete.
fn cluster() -> NodeHistoryBuilder {
    cluster_by(&PROFILE.replace("TellsDisruption, ", "").replace("ZonedEvictions, ", ""), 2, 0)
}

/// Pod `p` on `a1` with these tolerations; in deletion if `deleted`.
fn tolerant(history: NodeHistoryBuilder, tolerations: &Value, deleted: bool) -> NodeHistoryBuilder {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "a1", "tolerations": tolerations},
    });
    if deleted {
        pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:01:00Z");
    }
    history.sees(EventType::Modified, pod)
}

/// The pod, which tolerates every taint for 5 s.
fn pod(history: NodeHistoryBuilder, deleted: bool) -> NodeHistoryBuilder {
    let all = json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]);
    tolerant(history, &all, deleted)
}

#[test]
fn a_pod_that_is_deleted_before_its_toleration_is_over_was_evicted_too_early() {
    let tainted = || pod(cluster(), false).at(2.0).taint("a1", "maintenance", "NoExecute");
    violates("at once", pod(tainted().at(2.1), true), 3.0, "TOLERATION-01");
    holds("after five seconds", pod(tainted().at(7.1), true), 7.4, "TOLERATION-01");
}

#[test]
fn a_pod_that_is_deleted_without_any_taint_was_evicted_without_cause() {
    violates("without a taint", pod(pod(cluster(), false).at(2.0), true), 3.0, "TOLERATION-02");
    let by_hand = json!({"step": "delete", "object": "Pod default/p"});
    violates("by a person", pod(pod(cluster(), false).at(2.0).mark(by_hand), true), 3.0, "");
}

/// The pod, which tolerates the taint `long` for 20 s and the taint `short` for 5 s.
fn patient(history: NodeHistoryBuilder, deleted: bool) -> NodeHistoryBuilder {
    let tolerates = |key: &str, seconds: u64| {
        json!({
            "key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": seconds,
        })
    };
    tolerant(history, &json!([tolerates("long", 20), tolerates("short", 5)]), deleted)
}

#[test]
fn a_deadline_may_move_to_that_of_another_taint() {
    let reported = |history: NodeHistoryBuilder, times: &[u32]| {
        let renewed = |history: NodeHistoryBuilder, second: &u32| {
            history.at(f64::from(*second)).lease("a1", *second).lease("a2", *second)
        };
        times.iter().fold(history, renewed)
    };
    let tainted = |first: &str, second: &str| {
        let history = patient(cluster(), false).at(2.0).taint("a1", first, "NoExecute");
        history.at(3.0).taint("a1", second, "NoExecute")
    };
    let shorter = || reported(tainted("long", "short"), &[4, 7]);
    violates("too early for both", patient(tainted("long", "short").at(5.0), true), 5.2, "TOLERATION-01");
    holds("at the shorter one", patient(shorter().at(8.1), true), 8.4, "TOLERATION-01");
    let later = reported(shorter(), &[11, 14, 17, 20, 22]);
    holds("at the first one, as Kubernetes", patient(later.at(22.1), true), 22.4, "TOLERATION-01");
    let never = reported(shorter(), &[11, 14, 17, 20, 23]);
    violates("after both", never, 23.5, "TOLERATION-01");
}
