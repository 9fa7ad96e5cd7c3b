//! Clocks with wrong times: verdicts that remain the same, and undecided ones.

use serde_json::json;

use crate::history_builder::{BuiltHistoryVerdicts, HistoryBuilder};
use crate::inexact_times::undecided;
use crate::member_health::{moved, tainted};
use crate::outcomes::{breaks, holds, violations};

/// Sets the clock of the control plane by this number of seconds.
fn set(history: HistoryBuilder, seconds: f64) -> HistoryBuilder {
    history.mark(json!({"fault": "skew", "state": "begin", "seconds": seconds}))
}

/// Corrects the clock again.
fn right(history: HistoryBuilder, seconds: f64) -> HistoryBuilder {
    history.mark(json!({"fault": "skew", "state": "end", "seconds": seconds}))
}

#[test]
fn a_toleration_may_be_over_as_much_earlier_or_later_as_the_clock_was_set() {
    let evicted = |by: f64, at: f64| set(tainted(), by).at(at).evict("m1").until(at + 0.7);
    undecided("TOLERATION-01", &evicted(3.0, 13.8));
    breaks("TOLERATION-01", &evicted(0.05, 13.8));
    breaks("TOLERATION-01", &evicted(-2.0, 11.8));
    let stays = |by: f64, until: f64| set(tainted(), by).until(until);
    assert_eq!(violations(&stays(-3.0, 18.9)), [""; 0]);
    breaks("TOLERATION-01", &stays(-3.0, 19.1));
    // A stamp from before the correction of the clock may also count for longer.
    let back = right(set(tainted(), -3.0).at(11.0), -3.0);
    assert_eq!(violations(&back.until(18.9)), [""; 0]);
}

#[test]
fn a_toleration_without_end_lasts_by_every_clock() {
    let patient =
        HistoryBuilder::new().patient().assign(&["m1", "m2"]).taint("m1", "maintenance", "NoExecute");
    breaks("TOLERATION-01", &set(patient, 600.0).at(40.0).evict("m1").until(41.0));
}

#[test]
fn the_timeout_of_a_task_counts_by_the_clock() {
    undecided("EVICTION-02", &set(moved(), 5.0).at(30.0).end("m1").until(37.0));
    breaks("EVICTION-02", &set(moved(), 5.0).at(29.0).end("m1").until(37.0));
    let late = |until: f64| violations(&set(moved(), 5.0).until(until));
    assert_eq!(late(41.2), [""; 0]);
    assert_eq!(late(41.4), ["EVICTION-02"]);
}

#[test]
fn a_workload_may_return_while_its_toleration_may_last_by_a_clock_that_was_set() {
    let back = |by: f64, key: &'static str, left: f64| {
        let all = json!({"spreadConstraints": []});
        let history = HistoryBuilder::new().policy(all, 2).assign(&["m1", "m2", "m3"]).healthy("m3").at(11.0);
        let history = history.mark(json!({"step": "taint", "cluster": "m1"})).taint("m1", key, "NoExecute");
        let history = set(history, by).at(left).evict("m1").stamp("m1").at(left + 0.2).end("m1");
        violations(&history.at(17.0).assign(&["m1", "m2", "m3"]).until(18.0))
    };
    assert_eq!(back(-5.0, "not-ready", 16.2), [""; 0]);
    assert_eq!(back(-0.5, "not-ready", 16.2), ["PLACEMENT-16"]);
    assert!(back(-5.0, "maintenance", 11.2).contains(&"PLACEMENT-16"), "the taint was never tolerated");
}

#[test]
fn controllers_whose_clock_is_set_are_neither_away_nor_hindered() {
    let observed = |by: f64, at: f64| -> BuiltHistoryVerdicts {
        let failed = set(HistoryBuilder::new(), by).fault("refuse", "m1", "begin").at(11.0);
        let failed = right(failed, by).at(at).ready("m1", "False");
        failed.taint("m1", "not-ready", "NoSchedule").until(at + 0.1)
    };
    // The threshold counts in the process, and not by the clock that is set.
    holds("HEALTH-01", &observed(600.0, 14.0));
    breaks("HEALTH-01", &observed(600.0, 12.8));
    breaks("HEALTH-01", &set(HistoryBuilder::new(), 600.0).fault("refuse", "m1", "begin").until(19.1));
}

#[test]
fn a_member_whose_clock_is_wrong_is_as_much_in_reach_as_ever() {
    let skewed = || HistoryBuilder::new().fault("skew", "m1", "begin");
    breaks("HEALTH-01", &skewed().fault("refuse", "m1", "begin").until(19.1));
    let tainted = skewed().mark(json!({"step": "taint", "cluster": "m1"}));
    breaks("TOLERATION-01", &tainted.taint("m1", "not-ready", "NoExecute").until(16.1));
}

#[test]
fn an_agent_whose_clock_was_set_may_report_nothing_new() {
    let unknown = |history: HistoryBuilder| history.at(30.0).ready("m3", "Unknown").until(30.1);
    let pulled = || HistoryBuilder::new().pulls("m3").fault("refuse", "m1", "begin").at(11.0);
    let violated = |observed: BuiltHistoryVerdicts| violations(&observed).contains(&"HEALTH-02");
    assert!(violated(unknown(pulled())));
    assert!(violated(unknown(set(pulled(), 600.0))));
    assert!(!violated(unknown(pulled().fault("skew", "m3", "begin"))));
}
