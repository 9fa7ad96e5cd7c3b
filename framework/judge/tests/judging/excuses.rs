//! Tests of behaviour that is permitted while an action is under way, or while a state is not known.

use capsize_history::EventType;
use serde_json::{Value, json};

use crate::history_builder::HistoryBuilder;
use crate::nodes::{self, cluster_by};
use crate::outcomes::violations;

const STAMP: &str = "2030-01-01T00:00:20Z";

/// Returns true if `id` is violated at `until`.
fn is_broken(id: &str, history: HistoryBuilder, until: f64) -> bool {
    violations(&history.until(until)).contains(&id)
}

fn delivered() -> HistoryBuilder {
    let one = |history: HistoryBuilder, member: &str| history.work(member, &json!({})).copy(member);
    ["m1", "m2"].into_iter().fold(HistoryBuilder::new(), one)
}

/// A fault of the control plane from one time to another.
fn hindered(history: HistoryBuilder, fault: &str, (from, to): (f64, f64)) -> HistoryBuilder {
    let mark = |history: HistoryBuilder, state: &str| history.mark(json!({"fault": fault, "state": state}));
    mark(mark(history.at(from), "begin").at(to), "end")
}

#[test]
fn a_member_that_is_removed_when_it_is_ready_again_keeps_its_taints() {
    let back = |removed: bool| {
        let failed = HistoryBuilder::new().fault("refuse", "m3", "begin").at(14.0).ready("m3", "False");
        let failed = failed.at(14.1).taint("m3", "not-ready", "NoSchedule").at(16.0);
        let back = failed.fault("refuse", "m3", "end").at(19.2).ready("m3", "True").at(19.3);
        if removed { back.member("m3", json!({"metadata": {"deletionTimestamp": STAMP}})) } else { back }
    };
    assert!(is_broken("TAINT-03", back(false), 21.0));
    assert_eq!(violations(&back(true).until(21.0)), [""; 0]);
}

#[test]
fn a_new_node_may_have_its_own_taints_and_the_taint_of_admission() {
    let taint = |key: &str| json!({"key": format!("node.kubernetes.io/{key}"), "effect": "NoSchedule"});
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "a9"},
        "spec": {"taints": [taint("unreachable"), taint("not-ready")]}, "status": {"conditions": [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:02Z"},
        ]},
    });
    let made = cluster_by(nodes::PROFILE, 2, 0).at(2.0).sees(EventType::Added, node);
    assert_eq!(made.ends(2.3).0, "");
}

#[test]
fn groups_that_were_replaced_meanwhile_start_from_the_first() {
    let near = || {
        let groups = json!({"clusterAffinities": [
            {"affinityName": "near", "clusterNames": ["m1", "m2"]}, {"affinityName": "far", "clusterNames": ["m3"]},
        ]});
        move |history: HistoryBuilder, name: &str| {
            let observed = json!({"schedulerObservingAffinityName": name});
            history.policy(groups.clone(), 2).reports(&observed).binding()
        }
    };
    let far = || near()(near()(HistoryBuilder::new(), "near").at(11.0), "far").at(12.0);
    let none = far().policy(json!({"clusterAffinity": {"clusterNames": ["m3"]}}), 2).binding().at(13.0);
    assert!(is_broken("PLACEMENT-09", near()(far(), "near"), 13.5));
    assert!(!is_broken("PLACEMENT-09", near()(none, "near"), 13.5));
}

#[test]
fn a_controller_with_a_stale_cache_may_rewrite_the_manifest_for_a_member_that_is_being_left() {
    let rewritten = |history: HistoryBuilder| {
        let left = history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1");
        let metadata = json!({"name": "web", "namespace": "default", "labels": {"a": "b"}});
        let manifest = json!({"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}});
        left.at(22.0).work("m1", &json!({"spec": {"workload": {"manifests": [manifest]}}}))
    };
    assert!(is_broken("DELIVERY-08", rewritten(delivered()), 22.5));
    assert!(!is_broken("DELIVERY-08", rewritten(hindered(delivered(), "cut", (10.0, 19.0))), 22.5));
}

#[test]
fn a_suspended_manifest_is_not_resumed_before_a_direct_purge_ends() {
    let suspended =
        |members: Value| json!({"suspension": {"dispatchingOnClusters": {"clusterNames": members}}});
    let resumed = |tasks: Value| {
        let held = delivered().at(20.0).spec(&suspended(json!(["m2"]))).at(20.5);
        let held = held.work("m2", &json!({"spec": {"suspendDispatching": true}})).at(21.0);
        let clusters = json!([{"name": "m2", "replicas": 2}]);
        let left = held.spec(&json!({"clusters": clusters, "gracefulEvictionTasks": tasks})).at(22.0);
        left.spec(&suspended(json!([])))
    };
    let directly = json!([{
        "fromCluster": "m1", "producer": "TaintManager", "reason": "TaintUntolerated",
        "purgeMode": "Directly", "creationTimestamp": STAMP,
    }]);
    assert!(is_broken("DELIVERY-14", resumed(json!([])), 23.5));
    assert!(!is_broken("DELIVERY-14", resumed(directly.clone()), 30.0));
    let ended = resumed(directly).at(30.0).spec(&json!({"gracefulEvictionTasks": []}));
    assert!(is_broken("DELIVERY-14", ended, 31.1));
}

#[test]
fn a_deadline_moves_for_a_taint_that_is_not_tolerated_at_all() {
    let is_broken = |third: bool, leaves: bool| {
        let lasts = |key: &str, seconds: i64| {
            let key = format!("node.kubernetes.io/{key}");
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds})
        };
        let pod = |conditions: Value| {
            json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
                "spec": {"nodeName": "a1", "tolerations": [lasts("first", 20), lasts("second", -5)]},
                "status": {"conditions": conditions},
            })
        };
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let history = cluster_by(nodes::PROFILE, 2, 0).at(1.2).sees(EventType::Modified, pod(ready));
        let history =
            history.at(1.5).taint("a1", "first", "NoExecute").at(2.0).taint("a1", "second", "NoExecute");
        let history = if third { history.at(4.0).taint("a1", "third", "NoExecute") } else { history };
        if !leaves {
            return history.at(4.3).lease("a1", 4).lease("a2", 4).ends(6.0).0.contains("TOLERATION-01");
        }
        let mut leaving = pod(json!([
            {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"},
        ]));
        leaving["metadata"]["deletionTimestamp"] = "2030-01-01T00:01:00Z".into();
        let history = history.at(4.1).sees(EventType::Modified, leaving);
        history.ends(4.5).0.contains("TOLERATION-01")
    };
    // A taint that is tolerated for no time may evict at once, or at the end of the toleration that began before.
    assert!(!is_broken(false, true) && !is_broken(false, false));
    assert!(!is_broken(true, true) && is_broken(true, false));
}

#[test]
fn a_controller_with_a_stale_cache_evicts_for_a_taint_that_is_gone() {
    let evicted = |history: HistoryBuilder| {
        let tainted = history.at(20.0).mark(json!({"step": "taint", "cluster": "m1"}));
        let tainted = tainted.taint("m1", "not-ready", "NoExecute").at(21.5);
        let spared = tainted.mark(json!({"step": "untaint", "cluster": "m1"})).untaint("m1", "NoExecute");
        spared.at(24.9).evict("m1").stamp("m1")
    };
    assert!(is_broken("TOLERATION-02", evicted(HistoryBuilder::new()), 25.5));
    assert!(!is_broken("TOLERATION-02", evicted(hindered(HistoryBuilder::new(), "lag", (10.0, 19.0))), 25.5));
}

#[test]
fn a_suspended_workload_stays_assigned_to_a_member_that_is_gone() {
    let suspended = |is: bool| json!({"suspension": {"scheduling": is}});
    let gone = |is: bool| HistoryBuilder::new().spec(&suspended(is)).at(12.0).leaves("m1");
    assert!(is_broken("LIVENESS-04", gone(false), 13.1));
    assert!(!is_broken("LIVENESS-04", gone(true), 60.0));
    let again = || gone(true).at(60.0).spec(&suspended(false));
    assert!(!is_broken("LIVENESS-04", again(), 60.9));
    assert!(is_broken("LIVENESS-04", again(), 61.1));
}

#[test]
fn a_workload_stays_with_a_member_that_is_gone_while_too_few_are_left() {
    let observed = |history: HistoryBuilder, status: &str| {
        history.reports(&json!({"conditions": [{"type": "Scheduled", "status": status}]})).binding()
    };
    let gone = || observed(HistoryBuilder::new().at(12.0).leaves("m1").at(12.2), "False");
    assert!(!is_broken("LIVENESS-04", gone(), 60.0));
    assert!(is_broken("LIVENESS-04", observed(gone().at(60.0), "True"), 61.1));
    let back = gone().at(59.0).ready("m1", "True").at(60.0);
    assert!(!is_broken("LIVENESS-04", observed(back, "True"), 65.0));
}

#[test]
fn a_controller_deletes_a_copy_only_after_its_request_to_the_member_ends() {
    let going = |fault: &str| {
        let manifest = json!({"kind": "Deployment", "spec": {"replicas": 2}, "metadata": {
            "name": "web", "namespace": "default", "labels": {"a": "b"},
        }});
        let written = delivered().fault(fault, "m1", "begin").at(18.0);
        let written = written.work("m1", &json!({"spec": {"workload": {"manifests": [manifest]}}}));
        let history = written.at(19.0).fault(fault, "m1", "end").at(20.0);
        let left = history.taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1").at(20.5);
        let going = json!({"metadata": {"deletionTimestamp": STAMP}});
        left.end("m1").at(20.6).work("m1", &going).copy_gone("m1")
    };
    // The member was slow for 9 s, which is the longest time for a request, plus the latency.
    assert!(!is_broken("RECOVERY-01", going("slow"), 28.9));
    assert!(is_broken("RECOVERY-01", going("slow"), 29.1));
    assert!(is_broken("RECOVERY-01", going("refuse"), 21.7));
}

#[test]
fn a_copy_that_is_lost_out_of_reach_is_still_reported_healthy() {
    let ended = |lost: f64, cut: f64| {
        let mut history = HistoryBuilder::new();
        let mut events = [(lost, false), (cut, true)];
        events.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        for (at, is_cut) in events {
            history = history.at(at);
            history = if is_cut { history.fault("refuse", "m2", "begin") } else { history.vanishes("m2") };
        }
        let left = history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1");
        is_broken("EVICTION-03", left.at(20.5).end("m1").at(20.6).recall("m1"), 21.0)
    };
    assert!(!ended(19.5, 19.0));
    assert!(!ended(19.5, 19.8));
    assert!(ended(18.0, 19.8), "there was time to report it");
}

#[test]
fn an_old_copy_may_go_at_any_time_after_a_task_that_ended_before_a_loss_was_observed() {
    let recalled = |wiped: bool| {
        let task = json!({
            "fromCluster": "m1", "producer": "TaintManager", "reason": "TaintUntolerated",
            "creationTimestamp": STAMP, "gracePeriodSeconds": 300,
        });
        let left = delivered().runs("m2", 2).at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3);
        let clusters = json!([{"name": "m2", "replicas": 2}]);
        let left = left.spec(&json!({"clusters": clusters, "gracefulEvictionTasks": [task]})).at(20.4);
        let lost = match wiped {
            true => left.fault("wipe", "m2", "begin").vanishes("m2").fault("wipe", "m2", "end"),
            false => left.runs("m2", 1).at(25.0),
        };
        lost.at(if wiped { 20.5 } else { 25.0 })
            .spec(&json!({"gracefulEvictionTasks": []}))
            .at(150.0)
            .work_gone("m1")
    };
    assert!(!is_broken("EVICTION-03", recalled(true), 151.0));
    assert!(is_broken("EVICTION-03", recalled(false), 151.0), "the loss was observed");
}

#[test]
fn a_probe_may_begin_late_in_a_silence_and_wait_it_out() {
    let back = |ended: f64| {
        let failed =
            HistoryBuilder::new().fault("refuse", "m1", "begin").at(14.0).ready("m1", "False").at(20.0);
        let again = failed.fault("refuse", "m1", "end").at(22.0).fault("partition", "m1", "begin");
        is_broken(
            "HEALTH-04",
            again.at(ended).fault("partition", "m1", "end").ready("m1", "True"),
            ended + 0.5,
        )
    };
    // The probe begins after one second, and waits for 32 s.
    assert!(!back(54.9));
    assert!(back(55.1));
}

#[test]
fn a_scheduler_with_a_stale_cache_returns_a_workload_to_a_tainted_member() {
    let back = |history: HistoryBuilder| {
        let left = history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1");
        left.at(20.4).end("m1").at(20.5).assign(&["m1", "m2"])
    };
    assert!(is_broken("PLACEMENT-16", back(HistoryBuilder::new()), 21.0));
    assert!(!is_broken("PLACEMENT-16", back(hindered(HistoryBuilder::new(), "cut", (10.0, 19.0))), 21.0));
}
