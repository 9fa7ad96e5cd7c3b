//! For CI: JUnit XML, a suite for each group.

use indexmap::IndexMap;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::faults::{faults, line};
use super::model::NO_EFFECT;
use super::{COLUMNS, Case, Report, Status, failure};
use capsize_judge::guarantee::Outcome;
use capsize_judge::profile::Level;

/// The report as JUnit XML. A case that failed carries what the console says of it.
///
/// # Panics
/// Never: writing to memory does not fail.
#[must_use]
pub fn junit(report: &Report) -> String {
    let mut groups: IndexMap<&str, Vec<&Case>> = IndexMap::new();
    for case in &report.cases {
        groups.entry(&case.group).or_default().push(case);
    }
    let mut document = quick_junit::Report::new(format!("capsize {} {}", report.command, report.target));
    for (group, cases) in groups {
        let mut suite = TestSuite::new(group);
        for feature in &report.lacking_core {
            suite.add_property(("lacking-core", format!("{feature:?}").as_str()));
        }
        suite.add_test_cases(cases.into_iter().map(test_case));
        document.add_test_suite(suite);
    }
    document.to_string().expect("writing to memory does not fail")
}

fn test_case(case: &Case) -> TestCase {
    let mut test = TestCase::new(case.name.as_str(), status(case));
    test.set_classname(case.group.as_str());
    if let Some(level) = case.level {
        test.add_property(("level", level.name()));
    }
    let verdicts = case.judgement.iter().flat_map(|judgement| {
        judgement.verdicts.iter().map(|verdict| (verdict, verdict.spec.level(&judgement.dialect)))
    });
    for level in [Level::Core, Level::Extended] {
        let violated = verdicts.clone().filter(|(verdict, of)| *of == level && verdict.outcome.is_violated());
        let violated: Vec<&str> = violated.map(|(verdict, _)| verdict.spec.id).collect();
        if !violated.is_empty() {
            test.add_property((format!("{}-violated", level.name()).as_str(), violated.join(" ").as_str()));
        }
    }
    for (place, evidence) in faults(case).iter().enumerate() {
        test.add_property((format!("fault-{}", place + 1).as_str(), line(evidence).as_str()));
    }
    if let Some(wall) = case.wall {
        test.set_time(wall);
    }
    test
}

fn status(case: &Case) -> TestCaseStatus {
    match &case.status {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped(reason) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason.as_str());
            status
        }
        Status::NotExercised => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(NO_EFFECT);
            status
        }
        Status::Failed => {
            let violated = case.judgement.iter().flat_map(|judgement| &judgement.verdicts);
            let violated = violated.filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
            let what: Vec<_> = case
                .failures
                .iter()
                .map(|failure| failure.expected.clone())
                .chain(violated.map(|verdict| format!("{} {}", verdict.spec.id, verdict.spec.sentence)))
                .collect();
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(what.join("; ")).set_description(failure(case, COLUMNS));
            status
        }
    }
}
