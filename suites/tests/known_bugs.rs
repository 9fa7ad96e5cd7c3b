//! One known bug of a release at a time: a scenario must notice, by a guarantee or by one of its steps.

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_controllers::rules::Bug;
use capsize_framework::guarantee::Outcome;
use capsize_framework::report::{Case, Status, failure};
use capsize_framework::run::{Target, run_case};

/// The scenario that notices, and the guarantee that is violated; none where a step fails.
const NOTICED: [(Bug, &str, Option<&str>); 36] = [
    (Bug::ChosenWhileLeaving, "placement/not-chosen-while-leaving", Some("EVICTION-04")),
    (Bug::TasksLost, "eviction/two-members-at-once", None),
    (Bug::TaintsLost, "tainting/policy-beside-a-person", None),
    (Bug::GracePeriodLeaks, "application/grace-period-of-its-own", None),
    (Bug::CredentialsUndamped, "tainting/credentials-rotated", None),
    (Bug::TimeoutAwaitsScheduler, "eviction/no-alternative", None),
    (Bug::ExpiryForgetsPurgeMode, "toleration/directly-when-it-runs-out", None),
    (Bug::ClusterScopedForgetPurgeMode, "eviction/cluster-scoped-directly", None),
    (Bug::EarlierTasksUnseen, "eviction/controllers-restarted", None),
    (Bug::EarlierHealthCounts, "placement/divided-moves-to-the-survivor", Some("EVICTION-03")),
    (Bug::NothingReplaces, "eviction/no-alternative", None),
    (Bug::IllHealthRemembered, "application/fails-again-elsewhere", None),
    (Bug::PurgedWithoutTask, "application/directly-with-its-state", None),
    (Bug::StateReadAnew, "application/state-handed-on", None),
    (Bug::StatuslessUnknown, "eviction/cluster-scoped", None),
    (Bug::TaintsDriveOut, "placement/cordoned-keeps-what-it-has", Some("PLACEMENT-01")),
    (Bug::KindsDriveOut, "placement/kinds-come-back", None),
    (Bug::LostReplicasCount, "placement/candidate-taken-away", None),
    (Bug::ScaleUpShrinks, "placement/grows-everywhere", None),
    (Bug::OwnPatchUnobserved, "placement/divided-moves-to-the-survivor", None),
    (Bug::LostLabelsUnnoticed, "placement/label-taken-away", None),
    (Bug::SuspensionIgnored, "placement/suspended", None),
    (Bug::OtherSchedulersServed, "placement/another-scheduler", None),
    (Bug::RunOutTolerationAdmits, "toleration/run-out", None),
    (Bug::TolerantTakeTurns, "toleration/for-ever-takes-no-turns", None),
    (Bug::TaintPoliciesUnsorted, "tainting/the-youngest-policy-decides", None),
    (Bug::NoTimeLimit, "eviction/partition", None),
    (Bug::SilentAgentsHoldUp, "membership/silent-member-deleted", None),
    (Bug::PolicyChangesDropped, "placement/candidate-taken-away", None),
    (Bug::NoFinalizer, "policy/template-deleted", None),
    (Bug::DependenciesLeaveFirst, "dependencies/stay-as-long-as-the-workload", None),
    (Bug::CompletionsMixedUp, "delivery/job", None),
    (Bug::SuspendedIsMended, "delivery/suspended-stays-deleted", None),
    (Bug::FailedIsApplied, "delivery/conflict", None),
    (Bug::FailedMendingUntold, "delivery/taken-over", None),
    (Bug::NotReadyCutsServices, "services/addresses-are-withdrawn", None),
];

/// Those for which the reference has to be as a release that does what the bug spoils.
const AS_RELEASE: [(Bug, &str); 3] = [
    (Bug::ScaleUpShrinks, "reference-1.18"),
    // Without a pace, placing and evicting would take turns without time passing.
    (Bug::RunOutTolerationAdmits, "reference-1.18"),
    (Bug::TolerantTakeTurns, "reference-1.18"),
];

/// Those that only a test of their rule shows, and why (`controllers/src/rules/release/tests.rs`).
const BY_THEIR_RULE: [(Bug, &str); 4] = [
    (Bug::TwoTasks, "only a schedule that knows no evictions brings a cluster back so soon"),
    (Bug::PlacementUnguarded, "the taint manager takes back at once what the scheduler brought back"),
    (
        Bug::SwapRestartsToleration,
        "nothing breaks a member for its own agent, so no taint takes another's place",
    ),
    (Bug::PartialListsReplace, "nothing breaks discovery alone"),
];

/// What a case comes to against the reference with `bug`, or as it should be.
fn outcome(bug: Bug, id: &str, with_it: bool) -> Case {
    let cases = conformance::cases().expect("the suite is right");
    let case = cases.iter().find(|case| case.id() == id).expect("there is such a case");
    let release = AS_RELEASE.iter().find(|(of, _)| *of == bug).map_or("reference", |(_, release)| release);
    let mut profile = targets::find(release).expect("it is shipped");
    profile.bugs = with_it.then(|| bug.name().to_owned()).into_iter().collect();
    let implementation = Reference::of(&profile).expect("the bug has its name");
    run_case(case, Target { profile: &profile, implementation: &implementation }, Seed(1), false).case
}

#[test]
fn every_known_bug_is_noticed() {
    let mut amiss = Vec::new();
    for (bug, id, guarantee) in NOTICED {
        let right = outcome(bug, id, false);
        if right.status != Status::Passed {
            amiss.push(format!("{id} fails without {}: {}", bug.name(), failure(&right)));
        }
        let wrong = outcome(bug, id, true);
        let verdicts = wrong.judgement.iter().flat_map(|judgement| &judgement.verdicts);
        let violated = verdicts.filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
        let violated: Vec<_> = violated.map(|verdict| verdict.rule.id).collect();
        let noticed = match guarantee {
            Some(guarantee) => violated.contains(&guarantee),
            None => !wrong.failures.is_empty(),
        };
        if !noticed {
            amiss.push(format!("{id} does not notice {}: {:?} {violated:?}", bug.name(), wrong.status));
        }
    }
    assert!(amiss.is_empty(), "{}", amiss.join("\n"));
}

#[test]
fn every_known_bug_is_in_a_list() {
    let listed = NOTICED.iter().map(|(bug, ..)| *bug).chain(BY_THEIR_RULE.iter().map(|(bug, _)| *bug));
    let mut listed: Vec<Bug> = listed.collect();
    listed.sort();
    assert!(listed.iter().copied().eq(Bug::all()), "{listed:?}");
}
