//! What releases of the real system did wrong: each a mutant by the name that profiles know it by.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_controllers::rules::{Bug, Release, Rules};

use crate::Mutant;

/// The scenario that notices, and the guarantee that is violated; none where a step fails.
const NOTICED: [(Bug, &str, Option<&str>); 36] = [
    (Bug::ChosenWhileLeaving, "placement/not-chosen-while-leaving", Some("EVICTION-04")),
    (Bug::TasksLost, "eviction/two-members-at-once", Some("EVICTION-02")),
    (Bug::TaintsLost, "tainting/policy-beside-a-person", None),
    (Bug::GracePeriodLeaks, "application/grace-period-of-its-own", Some("EVICTION-02")),
    (Bug::CredentialsUndamped, "tainting/credentials-rotated", None),
    (Bug::TimeoutAwaitsScheduler, "eviction/no-alternative", Some("EVICTION-02")),
    (Bug::ExpiryForgetsPurgeMode, "toleration/directly-when-it-runs-out", None),
    (Bug::ClusterScopedForgetPurgeMode, "eviction/cluster-scoped-directly", None),
    (Bug::EarlierTasksUnseen, "eviction/controllers-restarted", Some("EVICTION-02")),
    (Bug::EarlierHealthCounts, "placement/divided-moves-to-the-survivor", Some("EVICTION-03")),
    (Bug::NothingReplaces, "eviction/no-alternative", None),
    (Bug::IllHealthRemembered, "application/fails-again-elsewhere", Some("EVICTION-12")),
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
    (Bug::ScaleUpShrinks, "1.18"),
    // Without a pace, placing and evicting would take turns without time passing.
    (Bug::RunOutTolerationAdmits, "1.18"),
    (Bug::TolerantTakeTurns, "1.18"),
];

/// Those that only a test of their rule shows, and why (`controllers/src/rules/release/tests.rs`).
#[cfg(test)]
const BY_THEIR_RULE: [(Bug, &str); 4] = [
    (Bug::TwoTasks, "only a schedule that knows no evictions brings a cluster back so soon"),
    (Bug::PlacementUnguarded, "the taint manager takes back at once what the scheduler brought back"),
    (
        Bug::SwapRestartsToleration,
        "nothing breaks a member for its own agent, so no taint takes another's place",
    ),
    (Bug::PartialListsReplace, "nothing breaks discovery alone"),
];

/// All that a scenario notices.
pub(crate) fn all() -> Vec<Mutant> {
    let mutant = |(bug, case, guarantee): (Bug, &'static str, Option<&'static str>)| {
        let release = AS_RELEASE.iter().find(|(of, _)| *of == bug).map(|(_, release)| *release);
        let rules = move || -> Arc<dyn Rules> {
            let like = release.map(Release::of).unwrap_or_default();
            Arc::new(Release { bugs: BTreeSet::from([bug]), ..like })
        };
        let profile = release.map_or("reference", |_| "reference-1.18");
        Mutant { profile, ..Mutant::new(bug.name(), case, guarantee, rules) }
    };
    NOTICED.into_iter().map(mutant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_bug_is_in_a_list() {
        let noticed = NOTICED.iter().map(|(bug, ..)| *bug);
        let mut listed: Vec<Bug> = noticed.chain(BY_THEIR_RULE.iter().map(|(bug, _)| *bug)).collect();
        listed.sort();
        assert!(listed.iter().copied().eq(Bug::all()), "{listed:?}");
    }
}
