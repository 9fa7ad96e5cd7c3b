//! Tests the scenarios that distinguish the releases before 1.19 from later ones.
//! Each scenario passes on one side and fails on the other.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use capsize::{conformance, run, targets};
use capsize_clock::Seed;
use capsize_report::Status;
use capsize_runner::run::{Keep, Target, missing_requirement, run_case};

/// The scenarios that hold until 1.18.
const BEFORE: [&str; 5] = [
    "application/by-a-former-purge-mode",
    "delivery/deletion-while-not-ready",
    "delivery/drift-while-not-ready",
    "placement/rebalanced-within-its-group",
    "placement/room-appears",
];

/// The scenarios that hold as from 1.19.
const SINCE: [&str; 6] = [
    "application/former-purge-modes-refused",
    "delivery/deletion-waits-for-the-member",
    "delivery/drift-waits-for-the-member",
    "placement/higher-priority-first",
    "placement/rebalanced-to-the-first-group",
    "placement/room-appears-unnoticed",
];

/// Whether a scenario passes with the profile of one release and the behaviour of another.
fn passes(id: &str, profile: &str, behaviour: &str) -> bool {
    let case = conformance::cases().unwrap().into_iter().find(|case| case.id() == id).unwrap();
    let mut profile = targets::find(profile).unwrap();
    profile.behaviour = Some(behaviour.to_owned());
    let implementation = run::implementation(&profile).unwrap_or_else(|_| panic!("the profile is right"));
    let target = Target { profile: &profile, implementation: &*implementation };
    assert_eq!(missing_requirement(&case, target), None, "{id}");
    let outcome = run_case(&case, target, Seed(1), Keep::Nothing);
    assert_eq!(outcome.broken, None, "{id}");
    outcome.case.status != Status::Failed
}

#[test]
fn what_ended_with_1_18_fails_with_the_behaviour_of_1_19() {
    for id in BEFORE {
        assert!(passes(id, "reference-1.18", "1.18"), "{id} does not hold in 1.18");
        assert!(!passes(id, "reference-1.18", "1.19"), "{id} does not notice 1.19");
    }
}

#[test]
fn what_began_with_1_19_fails_with_the_behaviour_of_1_18() {
    for id in SINCE {
        assert!(passes(id, "reference-1.19", "1.19"), "{id} does not hold in 1.19");
        assert!(!passes(id, "reference-1.19", "1.18"), "{id} does not notice 1.18");
    }
}

#[test]
fn each_side_skips_the_scenarios_of_the_other() {
    let cases = conformance::cases().unwrap();
    for (profile, skipped) in [("reference-1.18", &SINCE[..]), ("reference-1.19", &BEFORE[..])] {
        let profile = targets::find(profile).unwrap();
        let implementation = run::implementation(&profile).unwrap_or_else(|_| panic!("the profile is right"));
        let target = Target { profile: &profile, implementation: &*implementation };
        for case in cases.iter().filter(|case| skipped.contains(&case.id().as_str())) {
            assert!(missing_requirement(case, target).is_some(), "{} {}", profile.name, case.id());
        }
    }
}
