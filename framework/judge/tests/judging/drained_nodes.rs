//! Small hand-written histories of nodes that are drained after a timeout instead of for a taint.

use capsize_history::EventType;
use serde_json::json;

use crate::nodes::{NodeHistoryBuilder, PROFILE, cluster_by, holds, shows, violates};

/// Three nodes of one zone and one of another, with an eviction timeout of twenty seconds.
/// The nodes in `silent` send nothing after 1 s, and are unknown at 7.9 s; the others send heartbeats until `end`.
fn unhealthy(silent: &[&str], end: u32) -> NodeHistoryBuilder {
    let profile = PROFILE
        .replace("ZonedEvictions, TellsDisruption", "DrainsAfterTimeout")
        .replace("failoverEvictionTimeout: 0s", "failoverEvictionTimeout: 20s");
    let begun = silent.iter().fold(cluster_by(&profile, 3, 1).at(1.5), |history, name| history.silent(name));
    let history = silent.iter().fold(begun, |history, name| pod(history, name, "Deployment", false));
    with_heartbeats(with_heartbeats(history, silent, 4, 4).at(7.9).unknown(silent), silent, 8, end)
}

/// Every four seconds, the nodes that are not silent send a heartbeat.
fn with_heartbeats(history: NodeHistoryBuilder, silent: &[&str], from: u32, end: u32) -> NodeHistoryBuilder {
    let others: Vec<_> = ["a1", "a2", "a3", "b1"].into_iter().filter(|name| !silent.contains(name)).collect();
    (from..=end).step_by(4).fold(history, |history, second| {
        others.iter().fold(history.at(f64::from(second)), |history, name| history.lease(name, second))
    })
}

/// The pod of a node, with an owner of this kind; it is in deletion if `deleted` is true.
fn pod(history: NodeHistoryBuilder, node: &str, owner: &str, deleted: bool) -> NodeHistoryBuilder {
    named_pod(history, &format!("on-{node}"), node, owner, deleted)
}

/// The same for a pod with this name.
fn named_pod(
    history: NodeHistoryBuilder,
    name: &str,
    node: &str,
    owner: &str,
    deleted: bool,
) -> NodeHistoryBuilder {
    let owner = json!({"apiVersion": "apps/v1", "kind": owner, "name": "web", "uid": "u"});
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": [owner]},
        "spec": {"nodeName": node},
    });
    if deleted {
        pod["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:01:00Z");
    }
    history.sees(EventType::Modified, pod)
}

fn drained(history: NodeHistoryBuilder, node: &str) -> NodeHistoryBuilder {
    pod(history, node, "Deployment", true)
}

#[test]
fn a_node_that_is_unhealthy_for_too_long_is_drained_and_not_before() {
    holds("after the time", drained(unhealthy(&["a1"], 28).at(28.0), "a1"), 30.0, "NODE-15");
    holds(
        "its time began at the last heartbeat",
        drained(unhealthy(&["a1"], 20).at(21.0), "a1"),
        22.0,
        "NODE-16",
    );
    shows("half a second early", drained(unhealthy(&["a1"], 20).at(20.5), "a1"), 21.0, "NODE-16");
    // The bound is 20 s, two periods and the latency, plus the pauses for two nodes.
    assert_eq!(unhealthy(&["a1"], 48).ends(50.3).0, "");
    shows("never", unhealthy(&["a1"], 48), 50.5, "NODE-15");
}

#[test]
fn all_pods_of_a_drained_node_are_deleted_except_those_of_daemons() {
    let second = |history, owner, deleted| named_pod(history, "second", "a1", owner, deleted);
    let before = |owner| with_heartbeats(second(unhealthy(&["a1"], 20), owner, false), &["a1"], 24, 28);
    let first = |owner| drained(before(owner).at(28.0), "a1");
    let later = |history| with_heartbeats(history, &["a1"], 32, 40);
    violates("the second stays", later(first("Deployment")), 40.0, "NODE-15");
    holds("both go", later(second(first("Deployment").at(28.2), "Deployment", true)), 40.0, "NODE-15");
    holds("a daemon's stays", later(first("DaemonSet")), 40.0, "NODE-15");
    let arrived = second(drained(unhealthy(&["a1"], 28).at(28.0), "a1").at(28.1), "Deployment", false);
    holds("it came later", later(arrived), 40.0, "NODE-15");
}

#[test]
fn a_node_whose_pods_are_all_deleted_for_a_taint_need_not_be_drained() {
    let tainted = unhealthy(&["a1"], 8).at(9.0).taint("a1", "example.com/maintenance", "NoExecute");
    assert_eq!(with_heartbeats(drained(tainted, "a1"), &["a1"], 12, 52).ends(54.4).0, "");
}

#[test]
fn the_pods_of_daemons_stay_on_a_drained_node() {
    let daemons = pod(unhealthy(&["a1"], 28), "a1", "DaemonSet", false).at(28.0);
    let deleted = pod(daemons, "a1", "DaemonSet", true);
    violates("a daemon's", deleted, 30.0, "NODE-16");
}

#[test]
fn the_nodes_of_a_zone_are_drained_one_after_the_other() {
    let first = || drained(unhealthy(&["a1", "a2"], 28).at(28.0), "a1");
    let others = |end| with_heartbeats(first(), &["a1", "a2"], 32, end);
    holds("each ten seconds", drained(others(36).at(38.0), "a2"), 39.0, "NODE-16");
    violates("too fast", drained(others(32).at(35.0), "a2"), 36.0, "NODE-16");
}

#[test]
fn no_node_is_drained_while_none_is_ready_and_nodes_that_were_not_due_start_again() {
    let all = ["a1", "a2", "a3", "b1"];
    let silent = ["a1", "a2", "a3"];
    violates("no node is ready", drained(unhealthy(&all, 8).at(28.0), "a1"), 29.0, "NODE-16");
    let back = |at: f64, end| {
        with_heartbeats(
            unhealthy(&all, 8).at(at).lease("b1", at as u32).well("b1"),
            &silent,
            at as u32 + 4,
            end,
        )
    };
    violates("b1 was back at 12 s", drained(back(12.0, 28).at(31.0), "a1"), 31.5, "NODE-16");
    holds("twenty seconds after", drained(back(12.0, 28).at(32.0), "a1"), 32.5, "NODE-16");
    holds("it was due when b1 was back", drained(back(30.0, 34).at(38.0), "a1"), 39.0, "NODE-16");
    // All nodes except a1 are back at 12 s. The bound is 20 s later, plus two periods, the latency, and the pauses
    // for the unhealthy nodes.
    let begun = ["a2", "a3", "b1"]
        .iter()
        .fold(unhealthy(&all, 8).at(12.0), |history, name| history.lease(name, 12).well(name));
    assert_eq!(with_heartbeats(begun, &["a1"], 16, 52).ends(54.4).0, "");
}

#[test]
fn nodes_that_were_not_due_start_again_each_time_that_no_node_is_ready() {
    let silent = ["a1", "a2", "a3"];
    let lost_twice = |end| {
        let history = unhealthy(&["a1", "a2", "a3", "b1"], 8).at(12.0).lease("b1", 12).well("b1");
        let again = with_heartbeats(history, &silent, 16, 20).silent("b1").at(27.0).unknown(&["b1"]);
        with_heartbeats(again.at(29.0).lease("b1", 29).well("b1"), &silent, 33, end)
    };
    violates("b1 was back at 29 s", drained(lost_twice(45).at(46.0), "a1"), 46.5, "NODE-16");
    holds("twenty seconds after", drained(lost_twice(49).at(49.5), "a1"), 50.0, "NODE-16");
    assert!(!lost_twice(49).ends(50.0).0.contains("NODE-15"));
}
