//! Snapshots of the reports.

use std::time::Duration;

use capsize_judge::guarantee::Catalogue;
use capsize_report::{COLUMNS, Case, Failure, Report, Status};

use crate::history_builder::HistoryBuilder;

/// One case that passes, one with a violation and an unmet expectation, and one that is skipped.
fn run() -> Report {
    let spared = HistoryBuilder::new()
        .taint("m1", "not-ready", "NoExecute")
        .at(11.0)
        .untaint("m1", "NoExecute")
        .judged(20.0);
    let early = HistoryBuilder::new().fault("refuse", "m1", "begin").at(12.5).ready("m1", "False");
    let early = early.at(12.6).taint("m1", "not-ready", "NoSchedule").judged(13.0);
    let unmet = Failure {
        expected: "evicted: {workload: web, from: victim, within: bound}".into(),
        place: "suites/conformance/tainting/early.yaml:12:5".into(),
        seen: "web is still assigned to m1 after 16 s".into(),
        at: Duration::from_secs(13),
        timeline: Vec::new(),
        faults: Vec::new(),
    };
    let early = Case {
        failures: vec![unmet],
        replay: "capsize run tainting/early --seed 7".into(),
        ..Case::judged("tainting", "early", early)
    };
    let skipped = Case {
        status: Status::Skipped("the target lacks ClusterTaintPolicies".into()),
        judgement: None,
        span: Duration::ZERO,
        ..Case::judged("tainting", "by-policy", HistoryBuilder::new().judged(10.0))
    };
    Report {
        command: "run".into(),
        about: vec!["embedded".into(), "seed 7".into()],
        target: "reference 1.5".into(),
        cases: vec![Case::judged("toleration", "spared", spared), early, skipped],
        wall: Some(Duration::from_millis(4)),
        ..Report::default()
    }
}

#[test]
fn a_run_is_summed_up_on_the_console() {
    insta::assert_snapshot!(capsize_report::summary(&run(), COLUMNS));
}

#[test]
fn a_check_reports_every_verdict() {
    insta::assert_snapshot!(capsize_report::checked(&run(), COLUMNS));
}

#[test]
fn a_run_is_reported_as_json() {
    let mut run = run();
    for judgement in run.cases.iter_mut().filter_map(|case| case.judgement.as_mut()) {
        // One or two of each verdict: the others have the same fields.
        let shown = ["HEALTH-01", "HEALTH-02", "HEALTH-03", "HEALTH-08", "TAINT-01"];
        judgement.verdicts.retain(|verdict| shown.contains(&verdict.spec.id));
    }
    insta::assert_snapshot!(capsize_report::json(&run));
}

#[test]
fn a_run_is_reported_as_junit() {
    insta::assert_snapshot!(capsize_report::junit(&run()));
}

#[test]
fn a_guarantee_is_explained_with_its_bound() {
    let specs = Catalogue::specs();
    insta::assert_snapshot!(capsize_report::specs(
        &specs[..1],
        None,
        &capsize_report::Traces::new(),
        COLUMNS
    ));
    let mut ids: Vec<_> = specs.iter().map(|spec| spec.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), specs.len());
}
