//! Tests of the guarantees about health and taints, and about choices and evictions due to them.
//!
//! For each guarantee in this file there is the smallest history that violates it and nothing else, and one on which it holds.

use serde_json::json;

use crate::examples::shows;
use crate::history_builder::HistoryBuilder;
use crate::outcomes::{breaks, holds, violations};

/// m1 fails at 10 s, is reported at 14 s, and gets its NoSchedule taint at 14.1 s.
fn outage() -> HistoryBuilder {
    HistoryBuilder::new().fault("refuse", "m1", "begin").at(14.0).ready("m1", "False").at(14.1).taint(
        "m1",
        "not-ready",
        "NoSchedule",
    )
}

/// A person taints m1 at 10 s, and the workload tolerates the taint for five seconds.
pub(crate) fn tainted() -> HistoryBuilder {
    HistoryBuilder::new().mark(json!({"step": "taint", "cluster": "m1"})).taint(
        "m1",
        "not-ready",
        "NoExecute",
    )
}

/// The workload is evicted from m1, and assigned to m3, where it is not healthy yet.
pub(crate) fn moved() -> HistoryBuilder {
    tainted().at(15.2).evict("m1").at(15.3).stamp("m1").at(15.4).assign(&["m2", "m3"])
}

#[test]
fn a_member_is_not_ready_after_the_failure_threshold() {
    holds("HEALTH-01", &outage().until(15.0));
    let early = HistoryBuilder::new().fault("refuse", "m1", "begin").at(12.8).ready("m1", "False");
    shows("HEALTH-01", &early.taint("m1", "not-ready", "NoSchedule").until(13.0));
}

#[test]
fn a_failed_member_does_not_stay_ready() {
    let failed = |fault: &str| HistoryBuilder::new().fault(fault, "m1", "begin");
    breaks("HEALTH-01", &failed("refuse").until(19.1));
    // A probe whose packets vanish takes 32 s: the bound is 1 + 32, once more, plus the latency.
    assert!(violations(&failed("partition").until(76.9)).is_empty());
    breaks("HEALTH-01", &failed("partition").until(77.1));
    // Probes may survive this fault, so nothing is known.
    assert!(violations(&failed("slow").until(1000.0)).is_empty());
}

#[test]
fn a_fault_that_probes_survive_is_no_outage_beside_one_or_after_it() {
    let refused = || HistoryBuilder::new().fault("refuse", "m1", "begin");
    let after = refused().at(12.0).fault("refuse", "m1", "end").at(12.5).fault("delay", "m1", "begin");
    assert!(violations(&after.until(1000.0)).is_empty());
    let beside = refused().at(10.5).fault("delay", "m1", "begin").at(12.0).fault("refuse", "m1", "end");
    assert!(violations(&beside.until(1000.0)).is_empty());
}

#[test]
fn probes_that_fail_more_slowly_are_detected_later() {
    let both =
        || HistoryBuilder::new().fault("refuse", "m1", "begin").at(11.0).fault("partition", "m1", "begin");
    assert!(violations(&both().until(77.9)).is_empty());
    breaks("HEALTH-01", &both().until(78.1));
}

#[test]
fn blips_that_follow_each_other_closely_are_one_outage_from_below_and_many_from_above() {
    let blips = || {
        let one = HistoryBuilder::new().fault("refuse", "m1", "begin").at(12.0).fault("refuse", "m1", "end");
        one.at(12.5).fault("refuse", "m1", "begin").at(14.5)
    };
    holds("HEALTH-01", &blips().ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(15.0));
    assert!(violations(&blips().until(21.4)).is_empty());
    breaks("HEALTH-01", &blips().until(21.6));
}

#[test]
fn a_blip_that_is_not_reported_holds() {
    let blip = HistoryBuilder::new().fault("refuse", "m1", "begin").at(12.0).fault("refuse", "m1", "end");
    holds("HEALTH-01", &blip.until(20.0));
}

#[test]
fn a_member_whose_agent_is_cut_off_becomes_unknown_in_time_and_no_other() {
    let cut = |direction: &str| {
        HistoryBuilder::new()
            .pulls("m1")
            .mark(json!({"fault": "partition", "cluster": "m1", "state": "begin", "direction": direction}))
    };
    let unknown =
        |history: HistoryBuilder| history.ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
    holds("HEALTH-02", &unknown(cut("both").at(20.0)).until(20.5));
    // The bound is 8 s of grace, two rounds of the monitor, and the latency.
    assert!(violations(&cut("both").until(20.9)).is_empty());
    shows("HEALTH-02", &cut("both").until(21.1));
    breaks("HEALTH-02", &cut("fromMember").until(21.1));
    // Renewals arrive, although the agent gets no answers.
    assert!(violations(&cut("toMember").until(1000.0)).is_empty());
    let uncut = HistoryBuilder::new().mark(json!({"scenario": "nothing is cut off"})).pulls("m1");
    breaks("HEALTH-02", &unknown(uncut.at(20.0)).until(20.5));
}

#[test]
fn an_agent_that_is_cut_off_reports_nothing() {
    let cut = || {
        HistoryBuilder::new().pulls("m1").fault("partition", "m1", "begin").at(20.0).ready("m1", "Unknown")
    };
    let unknown = || cut().taint("m1", "unreachable", "NoSchedule");
    let back = |history: HistoryBuilder| history.ready("m1", "True").untaint("m1", "NoSchedule");
    assert!(violations(&back(unknown().at(22.0)).until(22.5)).contains(&"HEALTH-04"));
    let ended = || unknown().at(22.0).fault("partition", "m1", "end").at(22.2);
    assert!(violations(&back(ended()).until(22.5)).is_empty());
}

#[test]
fn an_agent_does_not_report_its_member_as_not_ready_without_a_fault() {
    let history = || HistoryBuilder::new().mark(json!({"scenario": "no fault"})).pulls("m1").at(200.0);
    let not_ready =
        |history: HistoryBuilder| history.ready("m1", "False").taint("m1", "not-ready", "NoSchedule");
    breaks("HEALTH-01", &not_ready(history()).until(200.5));
    let down = || history().fault("api-server", "m1", "begin").at(204.0);
    assert!(violations(&not_ready(down()).until(204.5)).is_empty());
}

#[test]
fn a_member_that_is_not_ready_gets_the_no_schedule_taint() {
    holds("TAINT-01", &outage().until(15.0));
    let bare = HistoryBuilder::new().fault("refuse", "m1", "begin").at(14.0).ready("m1", "False");
    shows("TAINT-01", &bare.until(15.1));
}

#[test]
fn a_member_that_stays_not_ready_gets_a_no_execute_taint() {
    holds("TAINT-02", &outage().at(20.0).taint("m1", "not-ready", "NoExecute").until(21.0));
    shows("TAINT-02", &outage().at(19.8).taint("m1", "not-ready", "NoExecute").until(21.0));
    breaks("TAINT-02", &outage().until(23.1));
}

#[test]
fn deadlines_restart_when_controllers_return() {
    let away = || outage().at(20.0).mark(json!({"fault": "controller-down", "state": "begin"})).at(40.0);
    let back = || away().mark(json!({"fault": "controller-down", "state": "end"}));
    assert!(violations(&back().until(50.9)).is_empty());
    breaks("TAINT-02", &back().until(51.1));
}

#[test]
fn a_ready_member_loses_its_no_schedule_taint() {
    let back = || outage().at(16.0).fault("refuse", "m1", "end").at(19.2).ready("m1", "True");
    holds("TAINT-03", &back().at(19.3).untaint("m1", "NoSchedule").until(25.0));
    shows("TAINT-03", &back().until(20.3));
}

#[test]
fn a_ready_member_loses_its_no_execute_taint() {
    let evicting =
        || outage().at(20.5).taint("m1", "not-ready", "NoExecute").at(20.8).fault("refuse", "m1", "end");
    let back = || evicting().at(24.0).ready("m1", "True").at(24.1).untaint("m1", "NoSchedule");
    holds("TAINT-04", &back().at(25.9).untaint("m1", "NoExecute").until(30.0));
    shows("TAINT-04", &back().until(26.1));
}

#[test]
fn health_taints_of_one_effect_exclude_each_other() {
    holds("TAINT-05", &outage().until(14.5));
    shows("TAINT-05", &outage().taint("m1", "unreachable", "NoSchedule").until(14.5));
    // A person who sets another taint allows no second health taint long after that.
    let by_hand = |history: HistoryBuilder| {
        history.mark(
            json!({"step": "taint", "cluster": "m1", "key": "example.com/cordon", "effect": "NoSchedule"}),
        )
    };
    breaks("TAINT-05", &by_hand(outage()).at(16.0).taint("m1", "unreachable", "NoSchedule").until(16.4));
    let set = by_hand(outage()).taint("m1", "unreachable", "NoSchedule").until(14.5);
    assert!(violations(&set).is_empty());
}

#[test]
fn a_toleration_expires_one_second_early_at_most() {
    holds("TOLERATION-01", &tainted().at(14.0).evict("m1").until(15.0));
    shows("TOLERATION-01", &tainted().at(13.8).evict("m1").until(14.7));
}

#[test]
fn a_toleration_that_is_over_evicts() {
    breaks("TOLERATION-01", &tainted().until(16.1));
}

#[test]
fn a_toleration_without_seconds_never_evicts() {
    let patient = || {
        HistoryBuilder::new()
            .patient()
            .assign(&["m1", "m2"])
            .taint("m1", "maintenance", "NoExecute")
            .at(900.0)
    };
    let by_hand = |history: HistoryBuilder| history.mark(json!({"step": "untaint", "cluster": "m1"}));
    holds("TOLERATION-01", &by_hand(patient()).untaint("m1", "NoExecute").until(901.0));
    breaks("TOLERATION-01", &patient().evict("m1").until(901.0));
}

#[test]
fn a_taint_without_toleration_evicts_at_once() {
    let intolerable = || HistoryBuilder::new().taint("m1", "maintenance", "NoExecute").at(10.5);
    holds("TOLERATION-01", &intolerable().evict("m1").until(11.0));
    breaks("TOLERATION-01", &intolerable().until(11.1));
}

#[test]
fn a_workload_that_comes_to_a_tainted_member_may_wait_for_the_recheck() {
    let late =
        || HistoryBuilder::new().assign(&["m2", "m3"]).taint("m1", "maintenance", "NoExecute").at(20.0);
    let placed = || late().assign(&["m1", "m2"]);
    let violated = |until| violations(&placed().until(until));
    assert!(!violated(30.9).contains(&"TOLERATION-01"));
    assert!(violated(31.1).contains(&"TOLERATION-01"));
}

#[test]
fn a_taint_that_is_removed_in_time_evicts_nothing() {
    let spared = || tainted().at(11.0).untaint("m1", "NoExecute");
    holds("TOLERATION-02", &spared().until(20.0));
    shows("TOLERATION-02", &spared().at(15.0).evict("m1").until(16.0));
}

#[test]
fn an_eviction_without_a_taint_is_wrong_unless_another_watch_reports_the_taint_late() {
    breaks("TOLERATION-02", &HistoryBuilder::new().evict("m1").until(11.0));
    let late = HistoryBuilder::new().evict("m1").at(10.05).taint("m1", "maintenance", "NoExecute");
    assert!(violations(&late.until(11.0)).is_empty());
}

#[test]
fn an_evicting_controller_may_not_know_yet_that_the_member_has_joined_again() {
    let anew = || tainted().at(12.0).leaves("m1").untaint("m1", "NoExecute");
    let is_wrong =
        |at: f64| violations(&anew().at(at).evict("m1").until(at + 1.0)).contains(&"TOLERATION-02");
    assert!(!is_wrong(12.3));
    assert!(is_wrong(14.0));
}

#[test]
fn a_task_ends_when_all_are_healthy() {
    let evicted = || tainted().at(15.2).evict("m1").at(15.3).stamp("m1");
    holds("EVICTION-01", &evicted().at(16.2).end("m1").until(17.0));
    shows("EVICTION-01", &evicted().until(16.4));
}

#[test]
fn a_task_without_healthy_replacements_ends_by_its_timeout() {
    holds("EVICTION-02", &moved().at(34.3).end("m1").until(37.0));
    shows("EVICTION-02", &moved().at(34.0).end("m1").until(37.0));
    breaks("EVICTION-02", &moved().until(36.4));
}

#[test]
fn a_task_without_a_stamp_ends_by_its_timeout_too() {
    let unstamped = || tainted().at(15.2).evict("m1").at(15.4).assign(&["m2", "m3"]);
    let violated = violations(&unstamped().until(37.3));
    assert_eq!(violated, ["EVICTION-02", "EVICTION-08"]);
}

#[test]
fn the_old_copy_stays_until_the_new_one_runs() {
    let observed = || {
        let watched = moved().mark(json!({"observer": {"on": "m3"}}));
        watched.at(16.0).healthy("m3").at(16.1).end("m1")
    };
    holds("EVICTION-03", &observed().runs("m3", 2).at(16.2).recall("m1").until(17.0));
    shows("EVICTION-03", &observed().runs("m3", 1).at(16.2).recall("m1").until(17.0));
    // The report of m3 may come a little later than that of the control plane.
    holds("EVICTION-03", &observed().at(16.2).recall("m1").at(16.25).runs("m3", 2).until(17.0));
    breaks("EVICTION-03", &observed().at(16.2).recall("m1").at(16.35).runs("m3", 2).until(17.0));
    // The loss of data in a member need not have been observed yet.
    let lost = |fault: &str, member: &str| {
        let lost = observed().runs("m3", 2).at(16.15).fault(fault, member, "begin").vanishes("m3");
        lost.at(16.2).recall("m1").until(17.0)
    };
    assert_eq!(violations(&lost("wipe", "m3")), [""; 0]);
    breaks("EVICTION-03", &lost("wipe", "m1"));
}

#[test]
fn a_new_copy_that_ran_a_moment_ago_counts_as_running() {
    let blinked = |at: f64| {
        let watched = moved().mark(json!({"observer": {"on": "m3"}})).at(16.0).healthy("m3");
        let blinked = watched.runs("m3", 2).at(16.1).runs("m3", 1);
        let ended = blinked.at(at).end("m1").at(at + 0.1).recall("m1").until(at + 0.5);
        violations(&ended).contains(&"EVICTION-03")
    };
    assert!(!blinked(16.15));
    assert!(blinked(19.0));
}

#[test]
fn a_new_copy_counts_as_running_for_controllers_that_have_observed_nothing_since() {
    let is_wrong = |lost: f64, cut: f64| {
        let watched = moved().mark(json!({"observer": {"on": "m3"}})).at(16.0).healthy("m3").runs("m3", 2);
        let mut events = [(lost, false), (cut, true)];
        events.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let both = events.into_iter().fold(watched, |history, (at, is_cut)| match is_cut {
            true => history.at(at).mark(json!({"fault": "cut", "every": 3, "state": "begin"})),
            false => history.at(at).runs("m3", 1),
        });
        let ended = both.at(19.0).end("m1").at(19.1).recall("m1").until(19.5);
        violations(&ended).contains(&"EVICTION-03")
    };
    assert!(!is_wrong(17.0, 16.5));
    assert!(is_wrong(17.0, 18.0), "the loss was observed");
}

#[test]
fn a_new_copy_that_ran_at_the_end_of_the_task_may_move_before_the_old_one_goes() {
    let moved_on = |ready: u64| {
        let watched = moved().mark(json!({"observer": {"on": "m3"}}));
        let ended = watched.at(16.0).healthy("m3").runs("m3", ready).at(16.1).end("m1");
        ended.assign(&["m2", "m4"]).at(16.2).recall("m1").until(17.0)
    };
    assert!(!violations(&moved_on(2)).contains(&"EVICTION-03"));
    assert!(violations(&moved_on(1)).contains(&"EVICTION-03"));
}

#[test]
fn the_old_copy_may_go_when_its_time_is_over() {
    holds("EVICTION-03", &moved().at(34.5).end("m1").at(34.6).recall("m1").until(35.5));
}

#[test]
fn with_no_member_left_the_old_copy_stays() {
    let nowhere = || tainted().at(15.2).evict("m1").at(15.3).stamp("m1").at(15.4).task("m2").assign(&[]);
    let violated = violations(&nowhere().at(16.0).end("m1").recall("m1").until(17.0));
    assert!(violated.contains(&"EVICTION-03"), "{violated:?}");
}

#[test]
fn a_member_is_not_both_assigned_and_evicted_from_for_long() {
    holds("EVICTION-04", &moved().until(16.0));
    let both = || tainted().health("m2", "Unknown").at(15.2).task("m1").stamp("m1");
    holds("EVICTION-04", &both().at(26.1).assign(&["m2"]).until(26.2));
    shows("EVICTION-04", &both().until(26.3));
}

#[test]
fn a_healthy_placement_stays() {
    holds("PLACEMENT-01", &moved().until(16.0));
    shows("PLACEMENT-01", &HistoryBuilder::new().assign(&["m1", "m3"]).until(11.0));
}

#[test]
fn a_workload_that_grows_from_zero_may_be_placed_anew() {
    let one = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    let moves = |replicas: u64| {
        let history =
            HistoryBuilder::new().policy(one.clone(), replicas).divide(&[("m1", replicas)]).at(20.0);
        let grown = history.policy_replicas(4).binding().at(20.2).divide(&[("m2", 4)]);
        violations(&grown.until(20.4)).contains(&"PLACEMENT-01")
    };
    assert!(!moves(0));
    assert!(moves(2));
}

#[test]
fn a_choice_has_the_number_of_members_in_the_policy() {
    holds("PLACEMENT-02", &HistoryBuilder::new().until(11.0));
    shows("PLACEMENT-02", &HistoryBuilder::new().assign(&["m1", "m2", "m3"]).until(11.0));
}

#[test]
fn static_weights_do_not_look_at_the_number_of_members() {
    let divided = HistoryBuilder::new().divided().divide(&[("m1", 1), ("m2", 1), ("m3", 0)]);
    assert!(violations(&divided.until(11.0)).is_empty());
}
