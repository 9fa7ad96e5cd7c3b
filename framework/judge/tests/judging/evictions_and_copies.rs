//! Tests of the guarantees about evictions and copies, and of some about health, taints and removals.
//!
//! For each guarantee in this file there is the smallest history that violates it and nothing else, and one on which it holds.

use serde_json::{Value, json};

use crate::examples::shows;
use crate::history_builder::{HistoryBuilder, PROFILE};
use crate::outcomes::{breaks, holds, violations};

/// m1 and m2 have their manifests and copies.
fn delivered() -> HistoryBuilder {
    let one = |history: HistoryBuilder, member: &str| history.work(member, &json!({})).copy(member);
    ["m1", "m2"].into_iter().fold(HistoryBuilder::new(), one)
}

/// A person sets a taint on m1 at 20 s that is not tolerated, and the workload is evicted.
fn leaving(history: HistoryBuilder) -> HistoryBuilder {
    history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1")
}

/// The same, and the old manifest is in deletion.
fn recalled(history: HistoryBuilder) -> HistoryBuilder {
    let going = json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:20Z"}});
    leaving(history).at(20.5).end("m1").at(20.6).work("m1", &going)
}

/// A task for m1 because of a taint, with these fields.
fn task(fields: &Value) -> Value {
    let mut task = json!({"fromCluster": "m1", "producer": "TaintManager", "reason": "TaintUntolerated"});
    task.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    task
}

/// The workload leaves m1 at 20 s with these tasks, and is assigned to `members` instead.
fn evicted(history: HistoryBuilder, tasks: &[Value], members: &[&str]) -> HistoryBuilder {
    let clusters: Vec<_> = members.iter().map(|name| json!({"name": name, "replicas": 2})).collect();
    let tainted = history.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3);
    tainted.spec(&json!({"clusters": clusters, "gracefulEvictionTasks": tasks}))
}

const STAMP: &str = "2030-01-01T00:00:20Z";

#[test]
fn a_member_has_one_task() {
    let (one, other) = (task(&json!({"creationTimestamp": STAMP})), task(&json!({})));
    holds("EVICTION-05", &evicted(HistoryBuilder::new(), std::slice::from_ref(&one), &["m2"]).until(21.0));
    let two = evicted(HistoryBuilder::new(), std::slice::from_ref(&one), &["m2"]).at(20.5);
    shows("EVICTION-05", &two.spec(&json!({"gracefulEvictionTasks": [one, other]})).until(21.0));
}

#[test]
fn a_task_records_the_replicas_that_the_member_had() {
    let observed =
        |replicas: u64| evicted(HistoryBuilder::new(), &[task(&json!({"replicas": replicas}))], &["m2"]);
    holds("EVICTION-06", &observed(2).until(21.0));
    shows("EVICTION-06", &observed(3).until(21.0));
}

#[test]
fn a_task_does_not_change() {
    let stamped =
        |stamp: &str| json!({"gracefulEvictionTasks": [task(&json!({"creationTimestamp": stamp}))]});
    let begun = || evicted(HistoryBuilder::new(), &[task(&json!({"creationTimestamp": STAMP}))], &["m2"]);
    holds("EVICTION-07", &begun().at(20.8).spec(&json!({"gracefulEvictionTasks": []})).until(21.0));
    shows("EVICTION-07", &begun().at(20.8).spec(&stamped("2030-01-01T00:00:21Z")).until(21.0));
}

#[test]
fn a_task_gets_its_stamp_and_does_not_end_without_one() {
    let begun =
        || HistoryBuilder::new().at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1");
    holds("EVICTION-08", &begun().at(20.5).stamp("m1").until(21.0));
    shows("EVICTION-08", &begun().until(21.4));
    breaks("EVICTION-08", &begun().at(20.5).end("m1").until(21.0));
}

#[test]
fn an_eviction_for_a_taint_has_no_timeout_of_its_own_and_keeps_nothing() {
    holds("EVICTION-09", &evicted(HistoryBuilder::new(), &[task(&json!({}))], &["m2"]).until(21.0));
    let grace = task(&json!({"gracePeriodSeconds": 30}));
    shows("EVICTION-09", &evicted(HistoryBuilder::new(), &[grace], &["m2"]).until(21.0));
    let kept = task(&json!({"suppressDeletion": true}));
    breaks("EVICTION-09", &evicted(HistoryBuilder::new(), &[kept], &["m2"]).until(21.0));
}

#[test]
fn no_workload_is_evicted_for_a_taint_if_that_is_disabled() {
    let tainted =
        || HistoryBuilder::lacking(&["NoExecuteTaints"]).taint("m1", "maintenance", "NoExecute").at(10.2);
    holds("EVICTION-10", &tainted().until(11.0));
    shows("EVICTION-10", &tainted().evict("m1").until(11.0));
}

#[test]
fn an_old_copy_whose_deletion_is_suppressed_stays() {
    let kept = json!({"fromCluster": "m1", "producer": "resource-binding-application-failover-controller",
        "reason": "ApplicationFailure", "purgeMode": "Never", "suppressDeletion": true, "creationTimestamp": STAMP});
    let leaves = || {
        delivered()
            .at(20.0)
            .spec(&json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [kept]}))
    };
    holds("EVICTION-11", &leaves().until(50.0));
    let going = json!({"metadata": {"deletionTimestamp": STAMP}});
    shows("EVICTION-11", &leaves().at(45.0).work("m1", &going).until(45.5));
}

#[test]
fn a_person_who_writes_the_tasks_decides_which_of_them_stay() {
    let other = |decision: &Value| {
        let mut task = json!({"fromCluster": "m2", "producer": "person", "reason": "ApplicationFailure"});
        task.as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
        let history = leaving(delivered()).at(21.0).health("m2", "Unhealthy");
        let replaced = history.at(25.0).spec(&json!({"gracefulEvictionTasks": [task]}));
        violations(&replaced.until(25.3))
    };
    assert!(!other(&json!({"suppressDeletion": false})).contains(&"EVICTION-02"));
    // No person decides here, so a controller has ended the task for m1 too early.
    assert!(other(&json!({})).contains(&"EVICTION-02"));
}

#[test]
fn a_workload_leaves_a_member_where_it_stays_unhealthy() {
    let failover = json!({"propagateDeps": true, "failover": {"application": {"decisionConditions": {"tolerationSeconds": 10}}}});
    let unhealthy = || HistoryBuilder::new().spec(&failover).at(20.0).health("m1", "Unhealthy");
    let task = json!({"fromCluster": "m1", "producer": "application-failover", "reason": "ApplicationFailure", "creationTimestamp": STAMP});
    let gone = json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [task]});
    holds("EVICTION-12", &unhealthy().at(30.1).spec(&gone).until(31.0));
    shows("EVICTION-12", &unhealthy().at(25.0).spec(&gone).until(25.5));
    breaks("EVICTION-12", &unhealthy().until(32.1));
    // A report of a healthy workload restarts the time.
    let again = || unhealthy().at(25.0).health("m1", "Healthy").at(27.0).health("m1", "Unhealthy");
    breaks("EVICTION-12", &again().at(31.0).spec(&gone).until(31.5));
    // The controllers may have missed a report that lasted for a moment only.
    let moment = || unhealthy().at(25.0).health("m1", "Healthy").at(25.1).health("m1", "Unhealthy");
    holds("EVICTION-12", &moment().at(31.0).spec(&gone).until(31.5));
    breaks("EVICTION-12", &moment().at(28.0).spec(&gone).until(28.5));
    // The last report may come too late, too.
    let turned = |at: f64| unhealthy().at(30.0).health("m1", "Healthy").at(at).spec(&gone);
    holds("EVICTION-12", &turned(30.2).until(31.0));
    breaks("EVICTION-12", &turned(32.0).until(32.5));
}

#[test]
fn evictions_are_paced() {
    let profile = PROFILE.replace("  recheck: 10s", "  recheck: 10s\n  evictionPace: 2s");
    let four = ["m1", "m2", "m3", "m4"];
    let begun = || {
        let history = HistoryBuilder::by(&profile).ready("m4", "True").policy(json!({}), 2).assign(&four);
        let tainted =
            four.iter().fold(history, |history, name| history.taint(name, "maintenance", "NoExecute"));
        four[..3].iter().fold(tainted.at(10.2), |history, name| history.evict(name).stamp(name))
    };
    holds("EVICTION-13", &begun().at(12.2).evict("m4").until(12.5));
    shows("EVICTION-13", &begun().at(11.9).evict("m4").until(12.0));
}

#[test]
fn a_manifest_follows_the_assignment() {
    let moved = || leaving(delivered()).at(20.5).assign(&["m2", "m3"]);
    holds("DELIVERY-01", &moved().at(21.0).work("m3", &json!({})).copy("m3").until(22.0));
    shows("DELIVERY-01", &moved().until(21.6));
}

#[test]
fn the_manifest_for_a_member_that_the_workload_left_is_deleted() {
    let left = || leaving(delivered()).at(20.5).end("m1");
    let going = json!({"metadata": {"deletionTimestamp": STAMP}});
    holds("DELIVERY-02", &left().at(21.0).work("m1", &going).until(21.6));
    shows("DELIVERY-02", &left().until(21.6));
}

#[test]
fn a_copy_has_one_manifest() {
    holds("DELIVERY-03", &delivered().until(11.0));
    shows("DELIVERY-03", &delivered().work("m1", &json!({"metadata": {"name": "web-2"}})).until(11.0));
}

#[test]
fn a_member_has_the_copies_of_its_manifests() {
    holds("DELIVERY-04", &delivered().until(12.0));
    let one_of_two =
        HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2");
    shows("DELIVERY-04", &one_of_two.at(12.0).copy_gone("m2").until(13.1));
    // A member that cannot be reached need not have the copy until it is back.
    let away = delivered().at(12.0).fault("slow", "m2", "begin").copy_gone("m2").at(15.0);
    let back = away.fault("slow", "m2", "end");
    breaks("DELIVERY-04", &back.until(19.1));
}

#[test]
fn an_agent_that_was_cut_off_restarts_its_watch_within_the_back_off() {
    // The member is cut off for 20 s, and the back-off takes 40 s more. A manifest that is written 1 s later is
    // carried out after that.
    let cut = |history: HistoryBuilder| {
        let cut = history.fault("slow", "m2", "begin").at(30.0).fault("slow", "m2", "end").at(31.0);
        cut.work("m1", &json!({})).work("m2", &json!({})).copy("m1")
    };
    let pulls = || cut(HistoryBuilder::new().pulls("m2"));
    holds("DELIVERY-04", &pulls().at(70.9).copy("m2").until(75.0));
    breaks("DELIVERY-04", &pulls().until(71.1));
    // A push member is reached at once.
    breaks("DELIVERY-04", &cut(HistoryBuilder::new()).until(32.1));
}

#[test]
fn a_copy_lost_soon_after_an_outage_may_be_restored_when_watches_restart() {
    let cut =
        || delivered().at(12.0).fault("slow", "m2", "begin").at(32.0).fault("slow", "m2", "end").at(33.0);
    let lost = || cut().copy_gone("m2");
    holds("DELIVERY-04", &lost().at(72.9).copy("m2").until(75.0));
    breaks("DELIVERY-04", &lost().until(73.1));
    // The same holds for a copy that is lost while the member is cut off, if the manifest was applied before.
    let away = |history: HistoryBuilder| {
        let lost = history.at(12.0).fault("slow", "m2", "begin").at(14.0).copy_gone("m2");
        lost.at(32.0).fault("slow", "m2", "end")
    };
    let applied = json!({"status": {"conditions": [{"type": "Applied", "status": "True"}]}});
    holds("DELIVERY-04", &away(delivered().work("m2", &applied)).at(72.9).copy("m2").until(75.0));
    breaks("DELIVERY-04", &away(delivered().work("m2", &applied)).until(73.1));
    breaks("DELIVERY-04", &away(delivered()).until(53.1));
    // After the watch has surely been restarted, the loss is observed at once.
    breaks("DELIVERY-04", &cut().at(80.0).copy_gone("m2").until(81.1));
}

#[test]
fn a_copy_is_deleted_with_its_manifest() {
    holds("DELIVERY-05", &recalled(delivered()).copy_gone("m1").at(20.8).work_gone("m1").until(22.0));
    shows("DELIVERY-05", &recalled(delivered()).at(20.8).work_gone("m1").until(21.9));
}

/// A status with the field `applied` for m1 and m2, and the condition `FullyApplied`.
fn observed(history: HistoryBuilder, applied: bool, fully: &str) -> HistoryBuilder {
    let each = |name: &str| json!({"clusterName": name, "health": "Healthy", "applied": applied});
    let conditions =
        json!([{"type": "Scheduled", "status": "True"}, {"type": "FullyApplied", "status": fully}]);
    history
        .reports(&json!({"aggregatedStatus": [each("m1"), each("m2")], "conditions": conditions}))
        .binding()
}

#[test]
fn fully_applied_is_reported_only_if_it_is_true() {
    holds(
        "DELIVERY-06",
        &observed(observed(HistoryBuilder::new(), false, "True").at(10.5), true, "True").until(12.0),
    );
    shows("DELIVERY-06", &observed(HistoryBuilder::new(), false, "True").until(11.1));
}

#[test]
fn fully_applied_is_reported_if_it_is_true() {
    let written = || {
        let applied = json!({"status": {"conditions": [{"type": "Applied", "status": "True"}]}});
        ["m1", "m2"].into_iter().fold(delivered(), |history, member| history.work(member, &applied))
    };
    holds("LIVENESS-02", &observed(written().at(10.5), true, "True").until(12.0));
    shows("LIVENESS-02", &observed(written(), true, "False").until(11.1));
}

#[test]
fn a_copy_that_is_purged_directly_goes_before_the_new_one() {
    let directly = task(&json!({"purgeMode": "Directly", "creationTimestamp": STAMP}));
    let going = json!({"metadata": {"deletionTimestamp": STAMP}});
    let moved = || evicted(delivered(), std::slice::from_ref(&directly), &["m2", "m3"]).work("m1", &going);
    let gone = moved().copy_gone("m1").work_gone("m1");
    holds("DELIVERY-07", &gone.at(21.0).work("m3", &json!({})).copy("m3").until(21.5));
    // m1 is out of reach; otherwise its manifest would have to go.
    let away = moved().fault("slow", "m1", "begin").at(21.4).work("m3", &json!({})).copy("m3");
    shows("DELIVERY-07", &away.until(21.5));
}

#[test]
fn the_manifest_for_a_member_that_the_workload_is_leaving_does_not_change() {
    holds("DELIVERY-08", &leaving(delivered()).at(20.5).end("m1").until(21.0));
    let never_done = leaving(delivered()).sick("m2").health("m2", "Unknown").at(22.0);
    shows("DELIVERY-08", &never_done.work("m1", &json!({"spec": {"workload": {"manifests": [
        {"kind": "Deployment", "metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}}, "spec": {"replicas": 2}},
    ]}}})).until(22.5));
    // A change that was under way when the eviction began may arrive, but it does not change the replicas of the task.
    let rewritten = |replicas: u64| {
        let task = task(&json!({"replicas": 2, "creationTimestamp": STAMP}));
        let history = evicted(delivered(), &[task], &["m2"]).sick("m2").health("m2", "Unknown").at(20.5);
        history.work("m1", &json!({"spec": {"workload": {"manifests": [
            {"kind": "Deployment", "metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}}, "spec": {"replicas": replicas}},
        ]}}})).until(20.6)
    };
    breaks("DELIVERY-08", &rewritten(9));
    assert!(violations(&rewritten(2)).is_empty());
}

#[test]
fn a_new_copy_gets_the_state_of_the_old_one() {
    let directly = task(
        &json!({"purgeMode": "Directly", "creationTimestamp": STAMP, "preservedLabelState": {"state": "seven"}}),
    );
    let only = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    let moved = || {
        let alone =
            HistoryBuilder::new().policy(only.clone(), 2).assign(&["m1"]).work("m1", &json!({})).copy("m1");
        let going = json!({"metadata": {"deletionTimestamp": STAMP}});
        evicted(alone, std::slice::from_ref(&directly), &["m3"])
            .work("m1", &going)
            .copy_gone("m1")
            .work_gone("m1")
    };
    let labelled = |labels: Value| {
        json!({"spec": {"workload": {"manifests": [
            {"kind": "Deployment", "metadata": {"name": "web", "namespace": "default", "labels": labels}, "spec": {"replicas": 2}},
        ]}}})
    };
    holds("DELIVERY-09", &moved().work("m3", &labelled(json!({"state": "seven"}))).copy("m3").until(21.0));
    shows("DELIVERY-09", &moved().work("m3", &labelled(json!({"state": "six"}))).copy("m3").until(21.0));
}

#[test]
fn the_dependencies_of_a_workload_list_its_members() {
    let needed = |members: &[&str]| {
        let clusters: Vec<_> = members.iter().map(|name| json!({"name": name})).collect();
        json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "settings-configmap", "namespace": "default", "generation": 1},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"},
                "requiredBy": [{"namespace": "default", "name": "web-deployment", "clusters": clusters}],
            },
        })
    };
    let short = || HistoryBuilder::new().object(needed(&["m1"]));
    holds("DELIVERY-10", &short().at(10.5).object(needed(&["m1", "m2"])).until(12.0));
    shows("DELIVERY-10", &short().until(11.1));
}

#[test]
fn a_manifest_in_deletion_goes() {
    let going = || recalled(delivered()).copy_gone("m1");
    holds("RECOVERY-01", &going().at(21.0).work_gone("m1").until(22.0));
    shows("RECOVERY-01", &going().until(21.7));
}

#[test]
fn the_scheduler_reports_its_result() {
    let behind = || HistoryBuilder::new().reports(&json!({"schedulerObservedGeneration": 0})).binding();
    let observed = behind().at(10.5).reports(&json!({"schedulerObservedGeneration": 1})).binding();
    holds("LIVENESS-01", &observed.until(12.0));
    shows("LIVENESS-01", &behind().until(11.1));
}

#[test]
fn a_member_that_is_removed_goes_and_nothing_is_assigned_to_it() {
    let removed = || HistoryBuilder::new().member("m3", json!({"metadata": {"deletionTimestamp": STAMP}}));
    holds("LIVENESS-03", &removed().at(20.0).leaves("m3").until(40.0));
    shows("LIVENESS-03", &removed().until(31.1));
    holds("LIVENESS-04", &removed().at(20.0).leaves("m3").until(40.0));
    shows("LIVENESS-04", &HistoryBuilder::new().leaves("m1").until(11.1));
}

/// m1 fails at 10 s, is reported at 14 s, and gets its NoSchedule taint at once.
fn outage(history: HistoryBuilder) -> HistoryBuilder {
    history.fault("refuse", "m1", "begin").at(14.0).ready("m1", "False").taint(
        "m1",
        "not-ready",
        "NoSchedule",
    )
}

#[test]
fn a_member_that_is_probed_is_never_unknown() {
    holds("HEALTH-03", &outage(HistoryBuilder::new()).until(15.0));
    shows(
        "HEALTH-03",
        &HistoryBuilder::new().ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule").until(11.0),
    );
}

#[test]
fn a_member_that_answers_again_is_ready_in_time_and_not_before() {
    let lacking = || HistoryBuilder::lacking(&["AutomaticNoExecute"]);
    let over = || outage(lacking()).at(15.0).fault("refuse", "m1", "end");
    let back = |at: f64| over().at(at).ready("m1", "True").untaint("m1", "NoSchedule");
    holds("HEALTH-04", &back(18.0).until(19.0));
    shows("HEALTH-04", &back(17.8).until(19.0));
    assert!(violations(&over().until(20.9)).is_empty());
    breaks("HEALTH-04", &over().until(21.1));
}

#[test]
fn a_member_answers_again_while_a_fault_that_probes_survive_goes_on() {
    let slow =
        || outage(HistoryBuilder::lacking(&["AutomaticNoExecute"])).at(14.5).fault("delay", "m1", "begin");
    let back = |history: HistoryBuilder| history.ready("m1", "True").untaint("m1", "NoSchedule");
    let answers = || slow().at(15.0).fault("refuse", "m1", "end");
    holds("HEALTH-04", &back(answers().at(18.0)).at(19.0).fault("delay", "m1", "end").until(100.0));
    breaks("HEALTH-04", &back(answers().at(17.8)).until(18.5));
    // The upper bound counts from the moment when no fault is in force any more: a probe that still waits, and the
    // threshold.
    let over = || answers().at(30.0).fault("delay", "m1", "end");
    assert!(violations(&over().until(66.9)).is_empty());
    breaks("HEALTH-04", &over().until(67.1));
}

#[test]
fn the_end_of_a_fault_ends_the_fault_with_the_same_fields() {
    let partition = |history: HistoryBuilder, state: &str, direction: &str| {
        history.mark(json!({"fault": "partition", "cluster": "m1", "state": state, "direction": direction}))
    };
    let both = partition(
        partition(HistoryBuilder::new().pulls("m1"), "begin", "both").at(11.0),
        "begin",
        "toMember",
    );
    let left = partition(both.at(12.0), "end", "both");
    assert!(violations(&left.until(1000.0)).is_empty(), "reports of the agent arrive");
}

#[test]
fn the_status_of_a_member_that_is_away_does_not_change() {
    let back = |history: HistoryBuilder| {
        history.at(15.0).fault("refuse", "m1", "end").at(18.1).ready("m1", "True").untaint("m1", "NoSchedule")
    };
    holds("HEALTH-05", &back(outage(HistoryBuilder::new())).until(19.0));
    shows("HEALTH-05", &outage(HistoryBuilder::new()).at(14.5).room("m1", 3).until(15.0));
}

#[test]
fn a_member_that_never_reports_becomes_unknown() {
    let joined = || HistoryBuilder::new().joins("m4");
    holds(
        "HEALTH-06",
        &joined().at(71.0).ready("m4", "Unknown").taint("m4", "unreachable", "NoSchedule").until(72.0),
    );
    shows("HEALTH-06", &joined().until(73.1));
}

#[test]
fn a_no_execute_health_taint_is_requested() {
    let lacking = || outage(HistoryBuilder::lacking(&["AutomaticNoExecute", "ClusterTaintPolicies"]));
    let wished = lacking().mark(json!({"step": "taint", "cluster": "m1"})).at(14.5);
    holds("TAINT-06", &wished.taint("m1", "not-ready", "NoExecute").until(15.0));
    shows("TAINT-06", &lacking().at(14.5).taint("m1", "not-ready", "NoExecute").until(15.0));
}

#[test]
fn a_member_that_stays_unknown_gets_a_no_execute_taint() {
    let cut = HistoryBuilder::new().pulls("m1").fault("partition", "m1", "begin");
    let unknown = cut.at(20.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
    let (in_time, never) = (unknown, HistoryBuilder::new().pulls("m1").fault("partition", "m1", "begin"));
    holds("TAINT-07", &in_time.at(26.0).taint("m1", "unreachable", "NoExecute").until(27.0));
    let never = never.at(20.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
    shows("TAINT-07", &never.until(29.1));
}

#[test]
fn the_taints_of_a_policy_follow_its_conditions() {
    let policy = |operator: &str| {
        let when = |operator: &str| json!([{"conditionType": "Ready", "operator": operator, "statusValues": ["True"]}]);
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "evacuate"},
            "spec": {
                "addOnConditions": when(operator), "removeOnConditions": when("In"),
                "taints": [{"key": "cluster.karmada.io/evacuate", "effect": "NoSchedule"}],
            },
        })
    };
    let failed = || outage(HistoryBuilder::new().object(policy("NotIn")));
    holds("TAINT-08", &failed().at(14.5).taint("m1", "evacuate", "NoSchedule").until(16.0));
    shows("TAINT-08", &failed().until(15.1));
    // A taint that a person removes stays away until conditions or policies change.
    let removed = failed().at(14.5).taint("m1", "evacuate", "NoSchedule").at(16.0);
    let by_hand = removed.mark(json!({"step": "untaint", "cluster": "m1"}));
    let by_hand = by_hand.untaint("m1", "NoSchedule").taint("m1", "not-ready", "NoSchedule");
    assert!(violations(&by_hand.until(19.0)).is_empty());
    // A taint that no policy requires is removed.
    let unasked = HistoryBuilder::new().object(policy("NotIn")).fault("slow", "m2", "begin").at(12.0);
    breaks("TAINT-08", &unasked.taint("m1", "evacuate", "NoSchedule").until(13.5));
}

#[test]
fn a_policy_explains_two_health_taints_only_if_its_conditions_have_matched() {
    let policy = |key: &str, status: &str| {
        let when = json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": key},
            "spec": {
                "addOnConditions": when,
                "taints": [{"key": format!("cluster.karmada.io/{key}"), "effect": "NoExecute"}],
            },
        })
    };
    let failed = |status: &'static str| {
        let policies = HistoryBuilder::new()
            .object(policy("not-ready", "False"))
            .object(policy("unreachable", "Unknown"));
        policies.fault("refuse", "m1", "begin").at(14.0).ready("m1", status)
    };
    let excludes = |history: HistoryBuilder| violations(&history.until(40.0)).contains(&"TAINT-05");
    let not_ready = || failed("False").at(14.2).taint("m1", "not-ready", "NoExecute");
    assert!(!excludes(not_ready()));
    assert!(excludes(not_ready().at(14.3).taint("m1", "unreachable", "NoExecute")));
    // A policy without conditions for the removal leaves its taint where the condition has changed.
    let unknown =
        || failed("Unknown").at(14.2).taint("m1", "unreachable", "NoExecute").at(20.0).ready("m1", "False");
    assert!(!excludes(unknown().at(20.2).taint("m1", "not-ready", "NoExecute")));
    // Controllers may act on a condition that has just changed.
    let late =
        || failed("Unknown").at(20.0).ready("m1", "False").at(20.1).taint("m1", "not-ready", "NoExecute");
    assert!(!excludes(late().at(20.2).taint("m1", "unreachable", "NoExecute")));
    assert!(excludes(late().at(25.0).taint("m1", "unreachable", "NoExecute")));
}
