//! Tests of behaviour that concurrent faults and actions of persons permit.
//! The histories are the smallest ones from chaos runs.

use serde_json::{Value, json};

use crate::history_builder::{HistoryBuilder, PROFILE, needed};
use crate::outcomes::{breaks, holds, violations};

const STAMP: &str = "2030-01-01T00:00:20Z";

#[track_caller]
fn breaks_nothing(history: HistoryBuilder, until: f64) {
    assert_eq!(violations(&history.until(until)), [""; 0]);
}

/// A person applies the object of a member.
fn edited(history: HistoryBuilder, member: &str) -> HistoryBuilder {
    history.mark(json!({"step": "apply", "object": format!("Cluster {member}")}))
}

#[test]
fn a_member_that_is_being_removed_becomes_unknown_and_keeps_its_taints() {
    let leaving = || {
        let cut = HistoryBuilder::new().pulls("m3").fault("partition", "m3", "begin").at(11.0);
        cut.member("m3", json!({"metadata": {"deletionTimestamp": STAMP}}))
    };
    breaks_nothing(leaving().at(20.0).ready("m3", "Unknown"), 25.0);
}

#[test]
fn a_failure_has_no_known_beginning_after_the_access_to_the_member_changed() {
    let reached = json!({"spec": {"secretRef": {"name": "other"}}});
    let otherwise =
        || HistoryBuilder::new().member("m1", reached.clone()).at(30.0).fault("delay", "m1", "begin");
    let observed =
        |history: HistoryBuilder| history.ready("m1", "False").taint("m1", "not-ready", "NoSchedule");
    breaks_nothing(observed(otherwise().at(31.0)), 31.5);
    // After an answer of the member, its state is known.
    let answers = observed(otherwise().at(31.0)).at(31.5).fault("delay", "m1", "end").at(40.0);
    let answers = answers.ready("m1", "True").untaint("m1", "NoSchedule").at(60.0);
    breaks("HEALTH-01", &observed(answers.fault("refuse", "m1", "begin").at(61.0)).until(61.5));
}

#[test]
fn a_fault_outlasts_a_member_that_is_removed_and_joins_again() {
    let is_wrong = |hit: &str| {
        let lossy = HistoryBuilder::new().fault("lose", hit, "begin").at(11.0).leaves("m3").at(12.0);
        let refused = lossy.ready("m3", "True").at(30.0).fault("refuse", "m3", "begin").at(31.0);
        let observed = refused.ready("m3", "False").taint("m3", "not-ready", "NoSchedule");
        violations(&observed.until(31.5)).contains(&"HEALTH-01")
    };
    // The threshold may have begun with a lost probe.
    assert!(!is_wrong("m3"));
    assert!(is_wrong("m2"));
}

#[test]
fn a_hindered_scheduler_may_not_know_a_member_that_another_leader_has_chosen() {
    let rival =
        |history: HistoryBuilder, state: &str| history.mark(json!({"fault": "rival", "state": state}));
    let is_wrong = |history: HistoryBuilder, left: &str| {
        let tainted = history.at(12.0).ready("m4", "True").mark(json!({"step": "taint", "cluster": "m1"}));
        let evicted = tainted.taint("m1", "not-ready", "NoExecute").at(17.2).evict("m1").at(17.3).stamp("m1");
        let dropped = evicted.at(17.4).assign(&["m2", "m4"]).at(17.5).assign(&[left]);
        violations(&dropped.until(18.0)).contains(&"PLACEMENT-01")
    };
    let rivals = || rival(HistoryBuilder::new(), "begin");
    assert!(!is_wrong(rivals(), "m2"));
    // Both leaders know m2, and a leader that is alone again knows all members.
    assert!(is_wrong(rivals(), "m4"));
    assert!(is_wrong(rival(rivals().at(10.5), "end"), "m2"));
}

#[test]
fn actions_that_failed_are_retried_within_the_longest_back_off_of_a_queue() {
    let fails = |history: HistoryBuilder, state: &str| history.mark(json!({"fault": "fail", "state": state}));
    let unstamped = |history: HistoryBuilder| {
        history.taint("m1", "maintenance", "NoExecute").at(40.3).evict("m1").at(40.5).assign(&["m2", "m3"])
    };
    let is_stamped_in_time =
        |history: HistoryBuilder, until: f64| !violations(&history.until(until)).contains(&"EVICTION-08");
    let failing = || fails(HistoryBuilder::new().at(38.0), "begin").at(40.0);
    let meanwhile = || fails(unstamped(failing()).at(42.0), "end");
    assert!(is_stamped_in_time(meanwhile(), 1040.0));
    assert!(!is_stamped_in_time(meanwhile(), 1060.0));
    let afterwards =
        unstamped(fails(fails(HistoryBuilder::new().at(12.0), "begin").at(13.0), "end").at(40.0));
    assert!(!is_stamped_in_time(afterwards, 60.0), "the faults were over by then");
}

#[test]
fn other_requests_to_a_slow_member_may_be_cut_off_as_well() {
    let both =
        || HistoryBuilder::new().fault("delay", "m1", "begin").at(12.0).fault("partition", "m1", "begin");
    // The bound is 1 + 32, once more, plus the latency, plus another 32 for other requests.
    breaks_nothing(both(), 110.9);
    breaks("HEALTH-01", &both().until(111.1));
}

#[test]
fn answers_of_a_slow_member_from_before_its_failure_may_still_be_under_way() {
    let failed = |seconds: f64| {
        let slow = json!({"fault": "delay", "cluster": "m1", "seconds": seconds, "state": "begin"});
        let over = HistoryBuilder::new().mark(slow).at(11.5).fault("delay", "m1", "end");
        over.at(12.0).fault("refuse", "m1", "begin")
    };
    // The bound is 1 + 1 + 3 x (1 + 1) plus the latency, plus the delay of an answer.
    breaks_nothing(failed(8.0), 28.4);
    breaks("HEALTH-01", &failed(8.0).until(29.1));
    breaks("HEALTH-01", &failed(0.0).until(21.1));
}

#[test]
fn a_silence_that_refusals_interrupt_may_be_detected_one_silent_probe_later() {
    // 31 s of silence, one second of refusals, and silence again: the first failed probe ends after 33 s at most, the
    // threshold passes 3 s later, and the last probe begins just before. So the bound is 33 + 3 + 33 plus the
    // latency. Without refusals it is 67.
    let broken = |at: f64| {
        let refused =
            HistoryBuilder::new().fault("partition", "m1", "begin").at(at).fault("refuse", "m1", "begin");
        refused.at(at + 1.0).fault("refuse", "m1", "end")
    };
    breaks_nothing(broken(41.0), 79.9);
    breaks("HEALTH-01", &broken(41.0).until(80.1));
    breaks("HEALTH-01", &broken(15.0).until(77.1));
}

#[test]
fn a_member_that_fails_again_while_it_is_slow_is_reported() {
    let slow = HistoryBuilder::new().fault("delay", "m1", "begin").fault("refuse", "m1", "begin");
    let again = slow.at(11.0).fault("refuse", "m1", "end").at(20.0).fault("refuse", "m1", "begin");
    // The bound is 1 + 1 + 3 x (1 + 1) plus the latency.
    breaks("HEALTH-01", &again.until(29.1));
}

#[test]
fn a_probe_that_waits_out_a_short_silence_has_not_failed() {
    let again = |fault: &str| {
        let failed = HistoryBuilder::lacking(&["AutomaticNoExecute"]).fault("refuse", "m1", "begin").at(14.0);
        let failed = failed.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").at(20.0);
        let over = failed.fault("refuse", "m1", "end").at(22.0).fault(fault, "m1", "begin").at(25.0);
        let observed =
            over.fault(fault, "m1", "end").at(25.2).ready("m1", "True").untaint("m1", "NoSchedule");
        violations(&observed.until(26.0))
    };
    // The member answers from 20 s on, and some probe meets a second of refusals.
    assert_eq!(again("partition"), [""; 0]);
    assert_eq!(again("refuse"), ["HEALTH-04"]);
}

#[test]
fn the_first_probe_after_a_start_may_wait_out_a_silence_and_has_no_threshold() {
    let back = |fault: &str, observed: f64, ended: f64| {
        let failed =
            HistoryBuilder::lacking(&["AutomaticNoExecute"]).fault(fault, "m1", "begin").at(observed);
        let failed = failed.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").at(50.0);
        let killed = |history: HistoryBuilder, state| history.mark(json!({"fault": "kill", "state": state}));
        let started = killed(killed(failed, "begin").at(60.0), "end").at(ended).fault(fault, "m1", "end");
        let observed = started.at(ended + 0.1).ready("m1", "True").untaint("m1", "NoSchedule");
        violations(&observed.until(ended + 1.0))
    };
    // The bound is 1 + 32, plus 2 for the takeover, plus the latency.
    assert_eq!(back("partition", 46.0, 95.9), [""; 0]);
    assert_eq!(back("partition", 46.0, 96.1), ["HEALTH-04"]);
    assert_eq!(back("refuse", 14.0, 80.0), ["HEALTH-04"]);
}

#[test]
fn a_member_that_is_cut_off_again_has_the_taint_already() {
    let cut =
        HistoryBuilder::new().pulls("m3").fault("partition", "m3", "begin").at(19.0).ready("m3", "Unknown");
    let tainted = cut.taint("m3", "unreachable", "NoSchedule").taint("m3", "unreachable", "NoExecute");
    let again = tainted.at(30.0).fault("partition", "m3", "end").at(35.0).fault("partition", "m3", "begin");
    breaks_nothing(again, 60.0);
}

#[test]
fn a_change_of_the_health_by_a_person_has_no_threshold() {
    let failed = HistoryBuilder::lacking(&["AutomaticNoExecute"]).fault("refuse", "m1", "begin").at(14.0);
    let failed = failed.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").at(15.0);
    let back = |history: HistoryBuilder| history.ready("m1", "True").untaint("m1", "NoSchedule");
    breaks_nothing(back(edited(failed.fault("refuse", "m1", "end"), "m1")), 16.0);
}

#[test]
fn a_task_does_not_end_by_the_status_of_a_copy_that_could_not_be_written() {
    let evicted = |applied: &str| {
        let status = json!({"status": {"conditions": [{"type": "Applied", "status": applied}]}});
        let each =
            |name: &str, applied: bool| json!({"clusterName": name, "applied": applied, "health": "Healthy"});
        let observed = json!({"aggregatedStatus": [each("m1", true), each("m2", applied == "True")]});
        let history = HistoryBuilder::new().work("m1", &json!({})).work("m2", &status).copy("m1").copy("m2");
        let tainted = history.at(20.0).mark(json!({"step": "taint", "cluster": "m1"})).reports(&observed);
        tainted.taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1").stamp("m1")
    };
    breaks_nothing(evicted("False"), 30.0);
    breaks("EVICTION-01", &evicted("True").until(22.5));
}

#[test]
fn a_task_may_wait_until_the_manifest_is_reported_as_applied() {
    let evicted = |applied: bool| {
        let each = |name: &str| json!({"clusterName": name, "applied": applied, "health": "Healthy"});
        let observed = json!({"aggregatedStatus": [each("m1"), each("m2")]});
        let tainted =
            HistoryBuilder::new().at(20.0).mark(json!({"step": "taint", "cluster": "m1"})).reports(&observed);
        tainted.taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1").stamp("m1")
    };
    breaks("EVICTION-01", &evicted(true).until(22.5));
    breaks_nothing(evicted(false), 22.5);
}

#[test]
fn a_task_does_not_end_by_the_status_of_a_copy_that_was_scaled_to_zero() {
    let evicted = |status: &Value| {
        let observed =
            |name: &str| json!({"clusterName": name, "applied": true, "health": "Healthy", "status": status});
        let observed = json!({"aggregatedStatus": [observed("m1"), observed("m2")]});
        let applied = json!({"status": {"conditions": [{"type": "Applied", "status": "True"}]}});
        let history = HistoryBuilder::new().work("m1", &json!({})).work("m2", &applied).copy("m1").copy("m2");
        let tainted = history.at(20.0).mark(json!({"step": "taint", "cluster": "m1"})).reports(&observed);
        tainted.taint("m1", "maintenance", "NoExecute").at(20.2).evict("m1").stamp("m1")
    };
    let all = json!({"generation": 2, "observedGeneration": 2, "replicas": 2, "readyReplicas": 2});
    breaks("EVICTION-01", &evicted(&all).until(22.5));
    // Deployments omit all counts of zero, and StatefulSets do not.
    breaks_nothing(evicted(&json!({"generation": 2, "observedGeneration": 2})), 30.0);
    breaks_nothing(evicted(&json!({"generation": 2, "observedGeneration": 2, "replicas": 0})), 30.0);
    // A status with another count, or without counts, says nothing about the replicas.
    breaks("EVICTION-01", &evicted(&json!({"generation": 2, "active": 2})).until(22.5));
    breaks("EVICTION-01", &evicted(&json!({})).until(22.5));
}

#[test]
fn an_eviction_for_unhealthiness_waits_for_the_state_to_preserve() {
    let rules = json!([{"aliasLabelName": "ready", "jsonPath": "{.readyReplicas}"}]);
    let failover = json!({"propagateDeps": true, "failover": {"application": {
        "decisionConditions": {"tolerationSeconds": 10}, "statePreservation": {"rules": rules},
    }}});
    let observed = |status: Value| {
        let each = |name: &str, health: &str, status: &Value| json!({"clusterName": name, "health": health, "status": status});
        let all = [each("m1", "Unhealthy", &status), each("m2", "Healthy", &json!({"readyReplicas": 2}))];
        let conditions = json!([{"type": "Scheduled", "status": "True"}]);
        let observed = json!({"aggregatedStatus": all, "conditions": conditions});
        HistoryBuilder::new().spec(&failover).at(20.0).reports(&observed).binding()
    };
    breaks_nothing(observed(json!({"replicas": 2})), 60.0);
    breaks("EVICTION-12", &observed(json!({"readyReplicas": 1})).until(32.1));
}

#[test]
fn an_object_without_status_is_reported_healthy_when_its_member_is_reachable() {
    let slow = || HistoryBuilder::new().fault("delay", "m1", "begin").object(needed("Unknown")).at(20.0);
    let over = || slow().fault("delay", "m1", "end");
    // The back-off of a watch may be twice the time that it has already waited.
    holds("LIVENESS-06", &over().at(40.9).object(needed("Healthy")).until(42.0));
    breaks("LIVENESS-06", &over().until(41.1));
}

#[test]
fn a_copy_that_a_user_took_over_is_not_deleted_with_its_manifest() {
    let owned = |name: &str| {
        let labels = json!({"work.karmada.io/name": name});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "generation": 2, "annotations": labels},
            "spec": {"replicas": 2}, "status": {"observedGeneration": 2, "replicas": 2, "readyReplicas": 2},
        })
    };
    let left = |name: &str| {
        let history =
            HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2");
        let taken =
            history.at(12.0).in_member("m1", owned(name)).mark(json!({"step": "taint", "cluster": "m1"}));
        let evicted = taken.at(20.0).taint("m1", "maintenance", "NoExecute").at(20.3).evict("m1").stamp("m1");
        evicted.at(20.5).end("m1").at(20.6).work_gone("m1").forget("m1")
    };
    breaks_nothing(left("of-somebody-else"), 30.0);
    breaks("DELIVERY-05", &left("web-1").until(22.0));
}

#[test]
fn a_workload_that_left_for_another_taint_may_return_while_it_tolerates_this_one() {
    // Both taints exist from 14 s on; the one that is tolerated for five seconds still exists at the return.
    let left = || {
        let all = json!({"spreadConstraints": []});
        let history = HistoryBuilder::new().policy(all, 2).assign(&["m1", "m2", "m3"]).healthy("m3").at(14.0);
        let history =
            history.mark(json!({"step": "taint", "cluster": "m1"})).taint("m1", "not-ready", "NoExecute");
        let history = history.taint("m1", "maintenance", "NoExecute").at(14.2);
        history
            .evict("m1")
            .stamp("m1")
            .at(14.4)
            .end("m1")
            .at(15.0)
            .mark(json!({"step": "untaint", "cluster": "m1"}))
            .untaint_key("m1", "maintenance")
    };
    breaks_nothing(left().at(15.2).assign(&["m1", "m2", "m3"]), 16.0);
}

#[test]
fn after_a_start_every_template_counts_as_new() {
    let changed = |restarted: bool| {
        let spec = json!({
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
            "activationPreference": "Lazy",
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
        });
        let policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "web", "namespace": "default"}, "spec": spec});
        let made_of = json!({"resource": {"resourceVersion": "1"}});
        let mut history = HistoryBuilder::new().object(policy).belongs_to("web").spec(&made_of).at(20.0);
        for state in ["begin", "end"] {
            if restarted {
                history = history.mark(json!({"fault": "kill", "state": state}));
            }
        }
        let narrower = json!({"clusterAffinity": {"clusterNames": ["m1", "m2"]}});
        history.policy(narrower, 2).spec(&made_of).until(21.5)
    };
    breaks("POLICY-03", &changed(false));
    assert!(violations(&changed(true)).is_empty());
}

#[test]
fn a_manifest_may_follow_its_template_before_scheduling_if_duplicated_or_without_replicas() {
    let manifest = |replicas: u64| {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas}});
        json!({"spec": {"workload": {"manifests": [manifest]}}})
    };
    let scaled = |history: HistoryBuilder, wanted: u64, asked: u64| {
        let history = history.work("m1", &manifest(2)).work("m2", &manifest(2)).copy("m1").copy("m2");
        let unplaced = history.at(20.0).reports(&json!({"schedulerObservedGeneration": 0}));
        let unplaced = unplaced.policy_replicas(wanted).binding();
        let of = |history: HistoryBuilder, member: &str| history.work(member, &manifest(asked));
        let all = ["m1", "m2"].into_iter().fold(unplaced, of);
        violations(&all.until(22.0))
    };
    let breaks = |divided: bool, wanted: u64, asked: u64| {
        let history = if divided { HistoryBuilder::new().divided().binding() } else { HistoryBuilder::new() };
        scaled(history, wanted, asked).contains(&"DELIVERY-11")
    };
    assert_eq!([breaks(false, 0, 0), breaks(false, 0, 1), breaks(false, 1, 1)], [false, true, false]);
    // The manifests may be observed before the wanted replicas.
    let early = |wanted: u64| {
        let history =
            HistoryBuilder::new().work("m1", &manifest(2)).work("m2", &manifest(2)).copy("m1").copy("m2");
        let history = history.at(20.0).reports(&json!({"schedulerObservedGeneration": 0}));
        let history = history.work("m1", &manifest(1)).work("m2", &manifest(1)).at(20.2);
        violations(&history.policy_replicas(wanted).binding().until(22.0)).contains(&"DELIVERY-11")
    };
    assert_eq!([early(1), early(2)], [false, true]);
    assert_eq!([breaks(true, 0, 0), breaks(true, 0, 1), breaks(true, 1, 1)], [false, true, true]);
}

#[test]
fn hindered_controllers_may_retry_as_late_as_the_fault_was_long_and_later_without_their_watches() {
    // The fault lasts for 30 s. Actions that are due soon after it may come so much later, plus 2 s for the takeover. A watch is back
    // after 60 s, and the attempt that follows may be the last one before a back-off of 180 s.
    for (fault, late) in [("slow", 30.0), ("cut", 240.0)] {
        let hindered = || {
            let mark =
                |history: HistoryBuilder, state: &str| history.mark(json!({"fault": fault, "state": state}));
            let over = mark(mark(HistoryBuilder::new(), "begin").at(40.0), "end").at(41.0);
            over.fault("refuse", "m1", "begin").at(45.0).ready("m1", "False")
        };
        breaks_nothing(hindered(), 42.9 + late);
        breaks("TAINT-01", &hindered().until(43.1 + late));
    }
}

#[test]
fn a_member_may_seem_silent_to_controllers_with_stale_caches() {
    let unknown = |history: HistoryBuilder| {
        let observed = history.at(20.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
        violations(&observed.until(20.5))
    };
    let pulls = || HistoryBuilder::new().mark(json!({"scenario": "nothing is cut off"})).pulls("m1");
    assert_eq!(unknown(pulls().mark(json!({"fault": "lag", "state": "begin"}))), [""; 0]);
    assert_eq!(unknown(pulls()), ["HEALTH-02"]);
}

#[test]
fn an_agent_that_restarts_without_answers_does_not_report() {
    let unknown = |killed: bool| {
        let history =
            HistoryBuilder::new().mark(json!({"scenario": "answers are lost"})).pulls("m1").at(11.0);
        let way = |state: &str| json!({"fault": "partition", "cluster": "m1", "direction": "toMember", "state": state});
        let kill = |history: HistoryBuilder, state: &str| match killed {
            true => history.mark(json!({"fault": "kill", "state": state})),
            false => history,
        };
        let silent = kill(kill(history.mark(way("begin")).at(12.0), "begin").at(13.0), "end");
        let observed = silent.at(30.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
        violations(&observed.until(30.5))
    };
    assert_eq!(unknown(true), [""; 0]);
    assert_eq!(unknown(false), ["HEALTH-02"]);
}

#[test]
fn the_last_report_is_not_known_for_a_member_that_was_unknown_before_it_was_cut_off() {
    let is_early = |lags: bool| {
        let patient = PROFILE.replace("failoverEvictionTimeout: 6s", "failoverEvictionTimeout: 300s");
        let history = HistoryBuilder::by(&patient).pulls("m1").at(11.0);
        let history = if lags { history.mark(json!({"fault": "lag", "state": "begin"})) } else { history };
        let unknown = history.at(100.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
        let cut = unknown.at(300.0).fault("partition", "m1", "begin").at(400.0);
        let observed = cut.taint("m1", "unreachable", "NoExecute").until(400.5);
        violations(&observed).contains(&"TAINT-07")
    };
    assert_eq!([is_early(true), is_early(false)], [false, true]);
}

#[test]
fn a_member_need_not_have_reported_to_hindered_controllers_before_it_was_cut_off() {
    let is_early = |fails: bool, tainted: f64| {
        let patient = PROFILE.replace("failoverEvictionTimeout: 6s", "failoverEvictionTimeout: 300s");
        let fail = |history: HistoryBuilder, state: &str| match fails {
            true => history.mark(json!({"fault": "conflict", "state": state})),
            false => history,
        };
        let history = fail(HistoryBuilder::by(&patient).pulls("m1").at(100.0), "begin").at(178.0);
        let cut = fail(history.fault("partition", "m1", "begin").at(180.0), "end").at(181.0);
        let unknown = cut.ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
        let observed = unknown.at(tainted).taint("m1", "unreachable", "NoExecute");
        violations(&observed.until(tainted + 0.5)).contains(&"TAINT-07")
    };
    // The bound is 300 s - 8 s, from 100 s or from 178 s on.
    assert_eq!([is_early(true, 392.5), is_early(true, 391.0)], [false, true]);
    assert_eq!([is_early(false, 470.5), is_early(false, 469.0)], [false, true]);
}

#[test]
fn a_member_may_be_unknown_or_not_while_connections_are_lost_by_chance() {
    let pulls =
        || HistoryBuilder::new().mark(json!({"scenario": "what is lost is left to chance"})).pulls("m1");
    let unknown = |history: HistoryBuilder, until| {
        let observed = history.ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
        violations(&observed.until(until))
    };
    // The bound is 8 s + 2 x 1 s + 1 s after the end of the fault.
    let lossy = || pulls().fault("lose", "m1", "begin");
    let over = || lossy().at(20.0).fault("lose", "m1", "end");
    breaks_nothing(lossy(), 60.0);
    assert_eq!(unknown(lossy().at(30.0), 31.0), [""; 0]);
    assert_eq!(unknown(over().at(30.9), 31.5), [""; 0]);
    assert_eq!(unknown(over().at(31.1), 31.5), ["HEALTH-02"]);
    // A fault that hinders nothing does not extend the time.
    let slow = || over().fault("delay", "m1", "begin").at(29.0).fault("delay", "m1", "end");
    assert_eq!(unknown(slow().at(31.1), 31.5), ["HEALTH-02"]);
    // A member whose agent reports now and then gets no taint, unless it is also cut off.
    let silent = |history: HistoryBuilder| {
        let observed = history.at(30.0).ready("m3", "Unknown").taint("m3", "unreachable", "NoSchedule");
        violations(&observed.until(60.0))
    };
    let lossy_spare = || pulls().pulls("m3").fault("lose", "m3", "begin");
    assert_eq!(silent(lossy_spare()), [""; 0]);
    assert_eq!(silent(lossy_spare().at(20.0).fault("partition", "m3", "begin")), ["TAINT-07"]);
    // A partition has priority over lossy connections.
    breaks("HEALTH-02", &lossy().at(20.0).fault("partition", "m1", "begin").until(31.1));
}

#[test]
fn a_toleration_counts_from_the_time_on_a_taint_that_was_written_late() {
    let evicted = |at: f64| {
        let taint = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2030-01-01T00:00:11Z"});
        let slow = HistoryBuilder::new().mark(json!({"fault": "slow", "state": "begin"})).at(13.0);
        let history = slow.mark(json!({"step": "taint", "cluster": "m1"}));
        history
            .member("m1", json!({"spec": {"taints": [taint]}}))
            .at(at)
            .evict("m1")
            .stamp("m1")
            .until(at + 0.5)
    };
    holds("TOLERATION-01", &evicted(15.2));
    breaks("TOLERATION-01", &evicted(14.8));
}

#[test]
fn a_timeout_counts_from_the_time_on_a_task_that_was_stamped_late() {
    let ended = |slow: bool| {
        let history = HistoryBuilder::new().at(10.0);
        let history = if slow { history.mark(json!({"fault": "slow", "state": "begin"})) } else { history };
        let moved = history.evict("m1").at(10.5).assign(&["m2", "m3"]).health("m3", "Unhealthy").binding();
        let stamped = moved.at(16.0).stamp_with("m1", 11.0);
        violations(&stamped.at(33.0).end("m1").until(34.0))
    };
    assert!(ended(false).contains(&"EVICTION-02"));
    assert!(!ended(true).contains(&"EVICTION-02"));
}

#[test]
fn a_scheduler_with_a_stale_cache_chooses_by_it() {
    let chosen = |seen: bool| {
        let lag =
            |history: HistoryBuilder, state: &str| history.mark(json!({"fault": "lag", "state": state}));
        let history = if seen { HistoryBuilder::new() } else { lag(HistoryBuilder::new(), "begin") };
        let all = json!({"spreadConstraints": []});
        let tainted = history.at(11.0).mark(json!({"step": "taint", "cluster": "m3"})).taint(
            "m3",
            "away",
            "NoSchedule",
        );
        violations(
            &tainted.at(20.0).policy(all, 2).binding().at(22.0).assign(&["m1", "m2", "m3"]).until(23.0),
        )
    };
    assert!(chosen(true).contains(&"PLACEMENT-03"));
    assert!(!chosen(false).contains(&"PLACEMENT-03"));
}

#[test]
fn a_member_without_its_data_gets_its_copies_within_the_longest_back_off_of_a_watch() {
    let back = |fault: &str| {
        let held = HistoryBuilder::new().work("m1", &json!({})).work("m2", &json!({})).copy("m1").copy("m2");
        let lost = held.at(20.0).fault(fault, "m2", "begin").copy_gone("m2");
        lost.at(21.0).fault(fault, "m2", "end")
    };
    // The bound is 60 + 3 plus the latency.
    holds("DELIVERY-04", &back("restore").at(84.9).copy("m2").until(86.0));
    holds("DELIVERY-04", &back("wipe").at(84.9).copy("m2").until(86.0));
    breaks("DELIVERY-04", &back("restore").until(85.1));
    // A member that was only out of reach is as late as its outage was long.
    breaks("DELIVERY-04", &back("slow").until(23.1));
}
