//! Tests of the measured times, and of double and missing copies.

use std::time::Duration;

use capsize_history::facts::WorkloadKey;
use capsize_judge::judge::Judgement;
use capsize_judge::numbers::{Outage, WorkloadEffect, WorkloadNumbers};

use crate::history_builder::HistoryBuilder;

fn outage(judgement: &Judgement) -> &Outage {
    let [outage] = judgement.numbers.outages.as_slice() else { panic!("{:?}", judgement.numbers.outages) };
    outage
}

fn copies(judgement: &Judgement) -> &WorkloadNumbers {
    &judgement.numbers.workloads[&WorkloadKey::new("Deployment", "default", "web")]
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64())
}

#[test]
fn every_length_of_time_counts_from_the_beginning_of_the_fault() {
    let history = HistoryBuilder::new().fault("refuse", "m1", "begin");
    let history = history.at(14.0).ready("m1", "False").at(20.0).taint("m1", "not-ready", "NoExecute");
    let history = history.at(25.0).evict("m1").at(25.5).assign(&["m2", "m3"]).at(26.0).runs("m3", 0);
    let history =
        history.at(27.0).runs("m3", 2).at(30.0).fault("refuse", "m1", "end").at(33.0).ready("m1", "True");
    let judgement = history.at(34.0).vanishes("m1").judged(50.0);
    let outage = outage(&judgement);
    assert_eq!((outage.member.as_str(), outage.fault.as_str()), ("m1", "refuse"));
    let observed = [outage.lasted, outage.detected, outage.tainted];
    assert_eq!(observed.map(seconds), [Some(20.0), Some(4.0), Some(10.0)]);
    let [WorkloadEffect { evicted, placed, served, gone, .. }] = outage.moves.as_slice() else {
        panic!("{outage:?}")
    };
    let observed = [evicted, placed, served, gone];
    assert_eq!(observed.map(|time| seconds(*time)), [Some(15.0), Some(15.5), Some(17.0), Some(24.0)]);
}

#[test]
fn an_outage_that_ends_before_its_detection_is_counted() {
    let history =
        HistoryBuilder::new().fault("partition", "m1", "begin").at(55.0).fault("partition", "m1", "end");
    let judgement = history.judged(60.0);
    assert_eq!((seconds(outage(&judgement).lasted), outage(&judgement).detected), (Some(45.0), None));
    let summary = &judgement.numbers.summary;
    assert_eq!((summary.undetected, summary.longest_undetected.as_secs()), (1, 45));
}

#[test]
fn a_fault_that_only_slows_a_member_is_no_outage() {
    let judgement = HistoryBuilder::new().fault("delay", "m1", "begin").judged(20.0);
    assert!(judgement.numbers.outages.is_empty());
}

#[test]
fn a_copy_too_many_counts_by_replicas_and_seconds() {
    // For four seconds, m3 runs two replicas beside those of m1 and m2.
    let history =
        HistoryBuilder::new().evict("m1").assign(&["m2", "m3"]).runs("m3", 2).at(14.0).vanishes("m1");
    let judgement = history.judged(20.0);
    assert!((copies(&judgement).double_run_seconds - 8.0).abs() < 1e-9, "{:?}", copies(&judgement));
}

#[test]
fn a_workload_that_is_ready_nowhere_is_distinguished_from_one_out_of_reach() {
    let history = HistoryBuilder::new().runs("m1", 0).runs("m2", 0).at(13.0).runs("m1", 2);
    let judgement = history.at(15.0).fault("refuse", "m1", "begin").judged(20.0);
    assert_eq!(copies(&judgement).zero_run.as_secs(), 3);
    assert_eq!(copies(&judgement).out_of_reach.as_secs(), 5);
}

#[test]
fn an_eviction_without_a_fault_is_one_too_many_and_a_return_undoes_a_move() {
    let history =
        HistoryBuilder::new().evict("m1").at(11.0).assign(&["m2", "m3"]).at(12.0).assign(&["m1", "m2"]);
    let judgement = history.judged(20.0);
    let WorkloadNumbers { evictions, extra_evictions, undone_moves, .. } = copies(&judgement);
    assert_eq!((*evictions, *extra_evictions, *undone_moves), (1, 1, 1));
    let caused = HistoryBuilder::new().fault("refuse", "m1", "begin").evict("m1").judged(20.0);
    assert_eq!((copies(&caused).evictions, copies(&caused).extra_evictions), (1, 0));
}
