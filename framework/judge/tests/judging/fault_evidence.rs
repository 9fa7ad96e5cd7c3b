//! Tests of the effects of faults, as the marks and the reactions in a history show them.

use std::time::Duration;

use capsize_history::FaultKind;
use capsize_history::facts::Health;
use capsize_judge::fault_evidence::{FaultCounts, Reaction};
use serde_json::json;

use crate::history_builder::HistoryBuilder;

fn end(requests: u64) -> serde_json::Value {
    json!({"fault": "refuse", "cluster": "m1", "state": "end", "requests": requests, "messages": 0, "watches": 0})
}

#[test]
fn a_fault_has_its_counts_and_the_first_reaction() {
    let history = HistoryBuilder::new().at(10.0).fault("refuse", "m1", "begin").at(40.0).ready("m1", "False");
    let judgement =
        history.at(50.0).taint("m1", "not-ready", "NoSchedule").at(60.0).mark(end(14)).judged(70.0);
    let [fault] = &judgement.faults[..] else { panic!("{:?}", judgement.faults) };
    assert_eq!((fault.fault, fault.member.as_deref()), (FaultKind::Refuse, Some("m1")));
    assert_eq!((fault.began, fault.ended), (Duration::from_secs(10), Some(Duration::from_secs(60))));
    assert_eq!(fault.counts, Some(FaultCounts { requests: 14, messages: 0, watches: 0 }));
    assert_eq!(fault.reaction, Some((Reaction::Reported(Health::NotReady), Duration::from_secs(30))));
    assert!(!judgement.faults_had_no_effect());
}

#[test]
fn a_history_whose_faults_hit_nothing_shows_no_effect() {
    let idle = HistoryBuilder::new().at(10.0).fault("refuse", "m1", "begin").at(11.0).mark(end(0));
    assert!(idle.judged(20.0).faults_had_no_effect());
    let two = HistoryBuilder::new().at(10.0).fault("refuse", "m1", "begin").at(11.0).mark(end(0));
    let two = two.at(12.0).fault("refuse", "m1", "begin").at(13.0).mark(end(1));
    assert!(!two.judged(20.0).faults_had_no_effect());
    // Nobody counted, and there is no fault at all.
    let uncounted =
        HistoryBuilder::new().at(10.0).fault("refuse", "m1", "begin").at(11.0).fault("refuse", "m1", "end");
    assert!(!uncounted.judged(20.0).faults_had_no_effect());
    assert!(!HistoryBuilder::new().judged(20.0).faults_had_no_effect());
}
