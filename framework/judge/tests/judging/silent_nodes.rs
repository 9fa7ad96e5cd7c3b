//! Tests of guarantees of nodes: conditions in a silence, and zones that lose all of their nodes.

use capsize_history::EventType;
use serde_json::{Value, json};

use crate::nodes::{NodeHistoryBuilder, cluster, unhealthy};

#[test]
fn the_conditions_of_a_silent_kubelet_stay_unknown_until_it_reports() {
    let back = |heartbeat: Option<&'static str>, status: &'static str| {
        unhealthy(4, 0, &["a1"]).at(32.5).node("a1", move |node| {
            node["status"]["conditions"][0]["status"] = status.into();
            if let Some(heartbeat) = heartbeat {
                node["status"]["conditions"][0]["lastHeartbeatTime"] = heartbeat.into();
            }
        })
    };
    let violated = |history: NodeHistoryBuilder| history.ends(33.2).0;
    assert!(violated(back(None, "True")).contains("NODE-10"));
    assert!(violated(back(None, "False")).contains("NODE-10"));
    assert!(!violated(back(Some("2030-01-01T00:00:32Z"), "True")).contains("NODE-10"));
    assert!(!violated(back(None, "True").at(32.8).lease("a1", 33)).contains("NODE-10"));
    // A history may leave out the times of reports.
    assert!(!violated(back(Some(""), "True")).contains("NODE-10"));
    let pressed = unhealthy(4, 0, &["a1"]).condition("a1", "MemoryPressure", "Unknown");
    let pressed = pressed.at(32.5).condition("a1", "MemoryPressure", "False");
    assert!(violated(pressed).contains("NODE-10"));
}

#[test]
fn a_history_without_reasons_shows_no_wrong_reason() {
    let unknown = |history: NodeHistoryBuilder| {
        history
            .at(7.9)
            .node("a1", |node| node["status"]["conditions"][0]["status"] = "Unknown".into())
            .ends(8.0)
            .0
    };
    let silent = || cluster(2, 0).at(1.5).silent("a1");
    assert_eq!(unknown(silent()), "");
    let reasons = silent().condition("a2", "MemoryPressure", "False");
    assert!(unknown(reasons).contains("NODE-11"));
}

#[test]
fn a_zone_that_lost_its_only_node_begins_with_a_new_token() {
    let tainted_again = |is_gone: bool| {
        let tainted = unhealthy(3, 1, &["b1"]).at(32.0).taint("b1", "unreachable", "NoExecute");
        let mut node = tainted.nodes["b1"].clone();
        let history = if is_gone { tainted.at(33.0).sees(EventType::Deleted, node.clone()) } else { tainted };
        node["metadata"]["name"] = "b2".into();
        node["spec"]["taints"] = json!([]);
        node["status"]["conditions"][0]["status"] = "False".into();
        let mut history = history.at(34.0).sees(EventType::Added, node.clone());
        history.nodes.insert("b2".to_owned(), node);
        history.at(36.0).taint("b2", "not-ready", "NoExecute").ends(36.1).0
    };
    assert!(!tainted_again(true).contains("NODE-03"));
    assert!(tainted_again(false).contains("NODE-03"));
}

/// A version of the pod `p`, which tolerates taints for five seconds.
fn pod(uid: &str, node: &str, evicted: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": uid},
        "spec": {"nodeName": node, "tolerations": [{"operator": "Exists", "tolerationSeconds": 5}]},
    });
    if evicted {
        let reason =
            json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
        pod["status"] = json!({"conditions": [reason]});
        pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:01:00Z".into();
    }
    pod
}

#[test]
fn a_pod_with_another_uid_is_another_pod() {
    let evicted = |at: f64| {
        let history = cluster(2, 0).at(1.2).sees(EventType::Added, pod("first", "a1", false));
        let history = history.at(2.0).taint("a1", "own", "NoExecute").at(4.0).lease("a1", 4).lease("a2", 4);
        let history =
            history.at(7.1).sees(EventType::Modified, pod("first", "a1", true)).lease("a1", 7).lease("a2", 7);
        let history = history.at(8.0).sees(EventType::Modified, pod("second", "a2", false));
        let history = history.at(9.0).taint("a2", "own", "NoExecute").at(9.5).lease("a1", 9).lease("a2", 9);
        let history = if at > 12.0 { history.at(12.0).lease("a1", 12).lease("a2", 12) } else { history };
        history.at(at).sees(EventType::Modified, pod("second", "a2", true)).ends(at + 0.2)
    };
    assert_eq!(evicted(10.0).0, "TOLERATION-01");
    assert_eq!(evicted(14.1).0, "");
}
