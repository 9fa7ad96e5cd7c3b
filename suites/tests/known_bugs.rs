//! One known bug of a release at a time: a scenario must notice, by a guarantee or by one of its steps.

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_controllers::rules::Bug;
use capsize_framework::guarantee::Outcome;
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};

/// The scenario that notices, and the guarantee that is violated; none where a step fails.
const NOTICED: [(Bug, &str, Option<&str>); 10] = [
    (Bug::ChosenWhileLeaving, "placement/not-chosen-while-leaving", Some("EVICTION-04")),
    (Bug::EarlierHealthCounts, "placement/divided-moves-to-the-survivor", Some("EVICTION-03")),
    (Bug::NothingReplaces, "eviction/no-alternative", None),
    (Bug::TaintsDriveOut, "placement/cordoned-keeps-what-it-has", Some("PLACEMENT-01")),
    (Bug::KindsDriveOut, "placement/kinds-come-back", None),
    (Bug::LostReplicasCount, "placement/candidate-taken-away", None),
    (Bug::LostLabelsUnnoticed, "placement/label-taken-away", None),
    (Bug::SuspensionIgnored, "placement/suspended", None),
    (Bug::OtherSchedulersServed, "placement/another-scheduler", None),
    (Bug::OwnPatchUnobserved, "placement/divided-moves-to-the-survivor", None),
];

/// Those that only a test of their rule shows, and why (`controllers/src/rules/release.rs`).
const BY_THEIR_RULE: [(Bug, &str); 3] = [
    (Bug::TwoTasks, "only a schedule that knows no evictions brings a cluster back so soon"),
    (Bug::RunOutTolerationAdmits, "placing and evicting would take turns without time passing"),
    (Bug::FailedIsApplied, "nothing fails to be applied"),
];

#[test]
fn every_known_bug_is_noticed() {
    let (cases, profile) = (conformance::cases().expect("the suite is right"), targets::find("reference"));
    let mut profile = profile.expect("it is shipped");
    for (bug, id, guarantee) in NOTICED {
        let case = cases.iter().find(|case| case.id() == id).expect("there is such a case");
        profile.bugs = [bug.name().to_owned()].into();
        let implementation = Reference::of(&profile).expect("the bug has its name");
        let target = Target { profile: &profile, implementation: &implementation };
        let outcome = run_case(case, target, Seed(1), false).case;
        assert_eq!(outcome.status, Status::Failed, "{id} does not notice {}", bug.name());
        let verdicts = outcome.judgement.expect("a case that ran is judged").verdicts;
        let violated = verdicts.iter().filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
        let violated: Vec<_> = violated.map(|verdict| verdict.rule.id).collect();
        match guarantee {
            Some(guarantee) => assert!(violated.contains(&guarantee), "{}: {violated:?}", bug.name()),
            None => assert!(!outcome.failures.is_empty(), "{}: no step fails", bug.name()),
        }
    }
}

#[test]
fn every_known_bug_is_in_a_list() {
    let listed = NOTICED.iter().map(|(bug, ..)| *bug).chain(BY_THEIR_RULE.iter().map(|(bug, _)| *bug));
    let mut listed: Vec<Bug> = listed.collect();
    listed.sort();
    assert!(listed.iter().copied().eq(Bug::all()), "{listed:?}");
}
