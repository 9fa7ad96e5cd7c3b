//! The known bugs of Karmada releases: each is a mutant with the name that profiles use for it.

use std::sync::Arc;

use capsize_rules::{Bug, Release, Rules};
use capsize_sorted::CollectSorted;

use crate::Mutant;

/// The bug, the scenario that notices it, and the guarantee that names the cause.
const NOTICED: [(Bug, &str, &str); 39] = [
    (Bug::ChosenWhileLeaving, "placement/not-chosen-while-leaving", "EVICTION-04"),
    (Bug::TasksLost, "eviction/two-members-at-once", "EVICTION-02"),
    (Bug::TaintsLost, "tainting/policy-beside-a-person", "TAINT-09"),
    (Bug::GracePeriodLeaks, "application/grace-period-of-its-own", "EVICTION-02"),
    (Bug::CredentialsUndamped, "tainting/credentials-rotated", "HEALTH-01"),
    (Bug::TimeoutAwaitsScheduler, "eviction/no-alternative", "EVICTION-02"),
    (Bug::ExpiryForgetsPurgeMode, "toleration/directly-when-it-runs-out", "EVICTION-14"),
    (Bug::ClusterScopedForgetPurgeMode, "eviction/cluster-scoped-directly", "EVICTION-14"),
    (Bug::EarlierTasksUnseen, "eviction/controllers-restarted", "EVICTION-02"),
    (Bug::EarlierHealthCounts, "placement/divided-moves-to-the-survivor", "EVICTION-03"),
    (Bug::NothingReplaces, "eviction/no-alternative", "EVICTION-03"),
    (Bug::IllHealthRemembered, "application/fails-again-elsewhere", "EVICTION-12"),
    (Bug::PurgedWithoutTask, "application/directly-with-its-state", "PLACEMENT-01"),
    (Bug::StateReadAnew, "application/state-handed-on", "EVICTION-15"),
    (Bug::StatuslessUnknown, "eviction/cluster-scoped", "LIVENESS-06"),
    (Bug::TaintsDriveOut, "placement/cordoned-keeps-what-it-has", "PLACEMENT-01"),
    (Bug::KindsDriveOut, "placement/kinds-come-back", "PLACEMENT-01"),
    (Bug::LostReplicasCount, "placement/candidate-taken-away", "PLACEMENT-15"),
    (Bug::ScaleUpShrinks, "placement/grows-everywhere", "REPLICAS-06"),
    (Bug::OwnPatchUnobserved, "placement/divided-moves-to-the-survivor", "LIVENESS-01"),
    (Bug::LostLabelsUnnoticed, "placement/label-taken-away", "PLACEMENT-07"),
    (Bug::SuspensionIgnored, "placement/suspended", "PLACEMENT-13"),
    (Bug::OtherSchedulersServed, "placement/another-scheduler", "PLACEMENT-13"),
    (Bug::RunOutTolerationAdmits, "toleration/run-out", "PLACEMENT-16"),
    (Bug::TolerantTakeTurns, "toleration/for-ever-takes-no-turns", "TOLERATION-01"),
    (Bug::TaintPoliciesUnsorted, "tainting/the-youngest-policy-decides", "TAINT-08"),
    (Bug::NoTimeLimit, "eviction/partition", "HEALTH-01"),
    (Bug::SilentAgentsHoldUp, "membership/silent-member-deleted", "LIVENESS-05"),
    (Bug::PolicyChangesDropped, "placement/candidate-taken-away", "POLICY-01"),
    (Bug::NoFinalizer, "policy/template-deleted", "DELIVERY-02"),
    (Bug::DependenciesLeaveFirst, "dependencies/stay-as-long-as-the-workload", "DELIVERY-10"),
    (Bug::AnnotationsPutBack, "dependencies/recorded-beside-the-scheduler", "TOLERATION-01"),
    (Bug::CompletionsMixedUp, "delivery/job", "DELIVERY-11"),
    (Bug::SuspendedIsMended, "delivery/suspended-stays-deleted", "DELIVERY-14"),
    (Bug::FailedIsApplied, "delivery/conflict", "DELIVERY-06"),
    (Bug::FailedMendingUntold, "delivery/taken-over", "DELIVERY-04"),
    (Bug::NotReadyCutsServices, "services/addresses-are-withdrawn", "SERVICES-01"),
    (Bug::GroupsBindEvicted, "placement/together-until-one-is-evicted", "LIVENESS-08"),
    (Bug::AutoscalersStay, "autoscaling/follows-its-workload", "DELIVERY-16"),
];

/// The bugs that need the behaviour of a release, because the bug changes that behaviour.
const AS_RELEASE: [(Bug, &str); 3] = [
    (Bug::ScaleUpShrinks, "1.18"),
    // Without a pace, placement and eviction would alternate without time passing.
    (Bug::RunOutTolerationAdmits, "1.18"),
    (Bug::TolerantTakeTurns, "1.18"),
];

/// The bugs that only a test of their rule shows, and the reason.
/// The tests are in `controllers/rules/src/release/tests.rs`.
#[cfg(test)]
const BY_THEIR_RULE: [(Bug, &str); 7] = [
    (Bug::TwoTasks, "only a scheduler that ignores evictions brings a cluster back so soon"),
    (
        Bug::EmptyTargetsRankLast,
        "a step of placement/stays-without-replicas notices; no guarantee binds an object without replicas",
    ),
    (Bug::ConditionsPutBack, "a step of tainting/condition-of-a-person notices"),
    (Bug::ReportsBringProbes, "the history does not record how often a member is probed"),
    (
        Bug::PlacementUnguarded,
        "the taint manager undoes at once the assignment that the scheduler brought back",
    ),
    (Bug::SwapRestartsToleration, "no fault breaks a member for its own agent, so no taint replaces another"),
    (Bug::PartialListsReplace, "no fault breaks discovery alone"),
];

/// All bugs that a scenario notices.
pub(crate) fn all() -> Vec<Mutant> {
    let mutant = |(bug, case, guarantee): (Bug, &'static str, &'static str)| {
        let release = AS_RELEASE.iter().find(|(of, _)| *of == bug).map(|(_, release)| *release);
        let rules = move || -> Arc<dyn Rules> {
            let like = release.map(Release::of).unwrap_or_default();
            Arc::new(Release { bugs: [bug].collect_sorted(), ..like })
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
