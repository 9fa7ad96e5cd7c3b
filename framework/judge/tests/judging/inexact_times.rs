//! Tests with inexact recorders: results that are not certain are undecided.

use capsize_judge::guarantee::{Outcome, Verdict};
use serde_json::json;

use crate::history_builder::{BuiltHistoryVerdicts, HistoryBuilder};
use crate::outcomes::{breaks, holds, ids, violations};

/// From now on, facts about a cluster may be this many seconds old.
fn seen_after(history: HistoryBuilder, on: &str, latency: f64) -> HistoryBuilder {
    history.mark(json!({"observer": {"on": on, "latency": latency}}))
}

/// m1 fails at 10 s and is reported at `at`, observed up to `latency` late.
/// The report must come between 12.9 s and 19 s.
fn observed(at: f64, latency: f64) -> BuiltHistoryVerdicts {
    let history = seen_after(HistoryBuilder::new(), "control-plane", latency).fault("refuse", "m1", "begin");
    history.at(at).ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(at + 0.1)
}

pub(crate) fn undecided(id: &str, verdicts: &[Verdict]) {
    assert_eq!(violations(verdicts), [""; 0]);
    let doubted = ids(verdicts, |outcome| matches!(outcome, Outcome::Undecided { .. }));
    assert!(doubted.contains(&id), "{id} is not among the undecided guarantees: {doubted:?}");
}

#[test]
fn a_lower_bound_within_the_uncertainty_is_undecided() {
    breaks("HEALTH-01", &observed(12.8, 0.0));
    holds("HEALTH-01", &observed(13.5, 0.0));
    // A late observation happened even earlier. The threshold counts from a mark, which is exact.
    breaks("HEALTH-01", &observed(12.8, 0.02));
    undecided("HEALTH-01", &observed(13.5, 2.0));
    holds("HEALTH-01", &observed(13.5, 0.2));
}

#[test]
fn an_upper_bound_within_the_uncertainty_is_undecided() {
    let exact = json!({"observer": {"on": "control-plane", "latency": 0.3, "clockOffset": -0.1}});
    let observed = |at: f64| {
        let history = HistoryBuilder::new().mark(exact.clone()).fault("refuse", "m1", "begin").at(at);
        history.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(at)
    };
    holds("HEALTH-01", &observed(18.8));
    undecided("HEALTH-01", &observed(18.95));
    undecided("HEALTH-01", &observed(19.3));
    breaks("HEALTH-01", &observed(19.5));
}

#[test]
fn a_deadline_passes_only_when_the_arrival_would_have_been_observed() {
    let silent = |until: f64| {
        seen_after(HistoryBuilder::new(), "control-plane", 2.0).fault("refuse", "m1", "begin").until(until)
    };
    assert!(violations(&silent(20.9)).is_empty());
    breaks("HEALTH-01", &silent(21.1));
}

#[test]
fn a_deadline_after_the_end_of_the_history_does_not_count() {
    let open = HistoryBuilder::new().fault("refuse", "m1", "begin").until(18.9);
    let observed = open.iter().find(|verdict| verdict.spec.id == "HEALTH-01").unwrap();
    assert!(matches!(observed.outcome, Outcome::NotExercised), "{:?}", observed.outcome);
}

#[test]
fn an_inexact_member_does_not_affect_reports_of_others() {
    let history = seen_after(HistoryBuilder::new(), "m3", 60.0).fault("refuse", "m1", "begin");
    breaks("HEALTH-01", &history.until(19.1));
}

#[test]
fn an_excuse_may_come_as_late_as_it_can_be_observed() {
    // m3 is dropped without an observed reason; its removal is observed two seconds later.
    let dropped = |latency: f64| {
        seen_after(HistoryBuilder::new(), "control-plane", latency).assign(&["m2", "m3"]).at(12.0)
    };
    breaks("PLACEMENT-01", &dropped(0.0).until(13.0));
    assert!(violations(&dropped(5.0).until(13.0)).is_empty());
    breaks("PLACEMENT-01", &dropped(5.0).until(15.1));
}

#[test]
fn a_list_after_a_silence_may_join_several_changes() {
    let silent = || seen_after(HistoryBuilder::new().at(11.0), "control-plane", 3e9);
    let listed = |silence: f64| seen_after(silent().at(20.0), "control-plane", silence);
    let dropped =
        |history: HistoryBuilder| seen_after(history.assign(&["m2", "m3"]).at(20.1), "control-plane", 0.0);
    assert!(violations(&dropped(listed(9.0)).until(30.0)).is_empty());
    let later = seen_after(listed(9.0).at(20.1), "control-plane", 0.0);
    breaks("PLACEMENT-01", &later.at(21.0).assign(&["m2", "m3"]).until(30.0));
    breaks("PLACEMENT-01", &HistoryBuilder::new().at(20.0).assign(&["m2", "m3"]).until(30.0));
}

#[test]
fn a_clock_that_was_set_back_makes_every_later_time_undecided() {
    let history = HistoryBuilder::new().fault("refuse", "m1", "begin").at(3.0).ready("m1", "False").at(3.1);
    undecided("HEALTH-01", &history.taint("m1", "not-ready", "NoSchedule").until(500.0));
    // Guarantees without times are still judged.
    let both = HistoryBuilder::new().at(3.0).taint("m1", "not-ready", "NoSchedule");
    breaks("TAINT-05", &both.taint("m1", "unreachable", "NoSchedule").until(4.0));
}

#[test]
fn an_entry_slightly_out_of_order_counts_as_old_as_possible() {
    let observed = |before: f64, at: f64| {
        let history =
            HistoryBuilder::new().fault("refuse", "m1", "begin").at(before).ready("m2", "True").at(at);
        history.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(13.3)
    };
    holds("HEALTH-01", &observed(13.0, 12.95));
    undecided("HEALTH-01", &observed(12.95, 12.86));
}

#[test]
fn nothing_is_late_if_faults_are_not_marked() {
    let failed = |history: HistoryBuilder| history.at(20.0).ready("m1", "False").until(40.0);
    undecided("TAINT-01", &failed(HistoryBuilder::unmarked()));
    assert!(violations(&failed(HistoryBuilder::new())).contains(&"TAINT-01"));
}

#[test]
fn actions_under_way_at_the_beginning_of_a_history_are_not_judged() {
    let failed = |history: HistoryBuilder| history.at(20.0).ready("m1", "False").until(40.0);
    // The end of a fault without its beginning.
    let before = failed(HistoryBuilder::new().fault("refuse", "m2", "end"));
    assert_eq!(violations(&before), [""; 0]);
    let after =
        HistoryBuilder::new().at(20.0).ready("m1", "False").at(40.0).fault("refuse", "m2", "end").until(41.0);
    assert_eq!(violations(&after), [""; 0]);
}

#[test]
fn silence_is_no_violation_if_faults_are_not_marked() {
    let unmarked = HistoryBuilder::unmarked().pulls("m1").at(12.0).ready("m1", "Unknown");
    let unmarked = unmarked.taint("m1", "unreachable", "NoSchedule").until(13.0);
    assert!(violations(&unmarked).is_empty());
    let marked =
        HistoryBuilder::new().fault("refuse", "m2", "begin").fault("refuse", "m2", "end").pulls("m1");
    let marked = marked.at(12.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
    breaks("HEALTH-02", &marked.until(13.0));
}
