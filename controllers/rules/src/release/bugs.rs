//! Named switches for bugs of releases of the real system; all are off by default.
//!
//! The rules do not contain bugs: `release` replaces a correct rule by one with the bug, so that scenarios can be shown
//! to detect it. Sources are issues and pull requests of karmada-io/karmada.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;

use crate::api::{ReleaseNumber, release_number};
use crate::bug_table::{UnknownBug, bugs};

bugs! {
    /// A bug of a release, with its name in profiles and the first release without it, if there is one.
    Bug, "", Option<ReleaseNumber>:

    /// A cluster is selected again while its eviction task still exists (#3469).
    ChosenWhileLeaving: "chosen-while-leaving", Some((1, 6));
    /// An eviction adds a second task for the same cluster (#3456).
    TwoTasks: "two-tasks", Some((1, 6));
    /// The graceful eviction controller overwrites tasks that were added since its read.
    /// The controller writes only the tasks that the controller read (#7290).
    TasksLost: "tasks-lost", Some((1, 18));
    /// The cluster taint policy controller overwrites changes of taints that were made since its read.
    /// The controller writes the taints that the controller read (#7346).
    TaintsLost: "taints-lost", Some((1, 18));
    /// The scheduler writes targets computed from what it read, although a cluster has been evicted since.
    PlacementUnguarded: "placement-unguarded", None;
    /// The grace period of a task also applies to the tasks after it (#7184).
    GracePeriodLeaks: "grace-period-leaks", Some((1, 17));
    /// Conditions of a member are written as they were before the probe.
    /// The write overwrites changes made since (#5227).
    ConditionsPutBack: "conditions-put-back", Some((1, 11));
    /// Each change of the Cluster of a member brings the next probe of the member forward.
    /// Changes that probes cause also bring the next probe forward (#6284).
    ReportsBringProbes: "reports-bring-probes", Some((1, 14));
    /// A member without credentials becomes not ready at once, without a threshold (#7426).
    CredentialsUndamped: "credentials-undamped", Some((1, 18));
    /// Tasks do not time out as long as the scheduler has not observed the binding (#3747).
    TimeoutAwaitsScheduler: "timeout-awaits-scheduler", Some((1, 14));
    /// If a toleration has expired, the eviction is graceful whatever the policy says (#6676).
    ExpiryForgetsPurgeMode: "expiry-forgets-purge-mode", Some((1, 15));
    /// The eviction of a cluster-scoped object is graceful whatever the policy says (#6491).
    ClusterScopedForgetPurgeMode: "cluster-scoped-forget-purge-mode", Some((1, 15));
    /// Tasks that existed before the controller started are not processed (#3475).
    EarlierTasksUnseen: "earlier-tasks-unseen", Some((1, 6));
    /// A report on an earlier schedule makes a target count as healthy.
    /// The old copy is therefore deleted too early (#3736).
    EarlierHealthCounts: "earlier-health-counts", None;
    /// If the workload fits no cluster, scheduling counts as successful.
    /// The empty result counts as a replacement, so that the old copy is deleted at once (until 1.6,
    /// `pkg/scheduler/scheduler.go`).
    NothingReplaces: "nothing-replaces", Some((1, 7));
    /// The time since which a workload is unhealthy in a cluster is kept beyond its eviction.
    /// The workload therefore has no time to start when the workload comes back (#3500).
    IllHealthRemembered: "ill-health-remembered", Some((1, 6));
    /// A direct purge leaves no task, so that the same cluster may be selected at once (#4208).
    PurgedWithoutTask: "purged-without-task", Some((1, 12));
    /// A second failover preserves the state of a copy that never worked.
    /// The second failover begins before the first failover has completed (#6232).
    StateReadAnew: "state-read-anew", None;
    /// The health of an object without a status is unknown, so that nothing replaces it (#4407).
    StatuslessUnknown: "statusless-unknown", Some((1, 9));
    /// A present target is removed by any untolerated taint of effect NoSchedule.
    /// The target is removed when the binding is next scheduled (#2449).
    TaintsDriveOut: "taints-drive-out", Some((1, 3));
    /// A target ranks no higher than another cluster if no target has replicas.
    /// Therefore a workload without replicas moves back when a cluster recovers (#3290).
    EmptyTargetsRankLast: "empty-targets-rank-last", Some((1, 6));
    /// A cluster whose discovery does not list the kind for a moment loses its copies (#5216).
    KindsDriveOut: "kinds-drive-out", Some((1, 12));
    /// Replicas on clusters that are no longer candidates count as placed (#4586, #7110).
    LostReplicasCount: "lost-replicas-count", Some((1, 9));
    /// Scaling up takes replicas away from a cluster (#6793).
    /// This is `Division::LargestWeight`, which the reference has.
    ScaleUpShrinks: "scale-up-shrinks", Some((1, 16));
    /// The scheduler observes the generation before its own patch.
    /// The scheduler observes no generation if there is nothing to do (#3455).
    OwnPatchUnobserved: "own-patch-unobserved", Some((1, 6));
    /// A label that is removed from a cluster is not noticed (#2912).
    LostLabelsUnnoticed: "lost-labels-unnoticed", Some((1, 5));
    /// A suspended binding is scheduled; in the real release when a cluster changes (#6356).
    SuspensionIgnored: "suspension-ignored", Some((1, 14));
    /// Bindings of other schedulers are scheduled (#4139).
    OtherSchedulersServed: "other-schedulers-served", Some((1, 8));
    /// An expired toleration admits the workload again, and the workload is evicted at once.
    /// The source is `pkg/scheduler/framework/plugins/tainttoleration`.
    RunOutTolerationAdmits: "run-out-toleration-admits", None;
    /// Workloads that tolerate a taint without a limit use up part of the eviction rate.
    /// This holds until 1.18.1 (`pkg/controllers/cluster/taint_manager.go`).
    TolerantTakeTurns: "tolerant-take-turns", Some((1, 19));
    /// A taint of ill health that replaces another such taint restarts tolerations.
    /// The source is `pkg/controllers/cluster/cluster_controller.go`.
    SwapRestartsToleration: "swap-restarts-toleration", Some((1, 14));
    /// The order in which cluster taint policies are listed decides which one is applied last (#6399).
    TaintPoliciesUnsorted: "taint-policies-unsorted", Some((1, 14));
    /// Requests to members have no time limit, so that one that never answers is never noticed (#6829).
    NoTimeLimit: "no-time-limit", Some((1, 16));
    /// An incomplete result of discovery replaces the known enablements (#7373).
    PartialListsReplace: "partial-lists-replace", None;
    /// A member whose agent is gone is never removed (#1847).
    SilentAgentsHoldUp: "silent-agents-hold-up", Some((1, 8));
    /// A change of a policy waits for a change of the template, although the policy is not lazy (#6674).
    PolicyChangesDropped: "policy-changes-dropped", Some((1, 15));
    /// Bindings have no finalizer, so that their Works may outlive them (#708).
    NoFinalizer: "no-finalizer", Some((0, 10));
    /// The dependencies of a workload leave a cluster when the eviction of the workload begins.
    /// The source is `pkg/dependenciesdistributor/dependencies_distributor.go`.
    DependenciesLeaveFirst: "dependencies-leave-first", None;
    /// The write of a template's dependencies overwrites all annotations of its binding.
    /// The write puts back the annotations that were read (#7208).
    AnnotationsPutBack: "annotations-put-back", Some((1, 17));
    /// The shares of a Job's completions are assigned to the wrong clusters (#7387).
    CompletionsMixedUp: "completions-mixed-up", Some((1, 18));
    /// An object deleted in a member is created again although dispatching is suspended (#6525).
    SuspendedIsMended: "suspended-is-mended", Some((1, 15));
    /// A Work that could not be applied is reported as applied (#3709).
    FailedIsApplied: "failed-is-applied", Some((1, 7));
    /// A Work whose object could not be created again is still reported as applied (#4341).
    FailedMendingUntold: "failed-mending-untold", Some((1, 9));
    /// The endpoints of a member are removed as soon as it is not ready (#6258).
    NotReadyCutsServices: "not-ready-cuts-services", Some((1, 14));
    /// The other workloads of an affinity group keep a workload from every other cluster.
    /// This also happens while the workload is being evicted from the clusters of the other workloads (#7479).
    GroupsBindEvicted: "groups-bind-evicted", None;
    /// An autoscaler stays in a member that its workload has left.
    /// This holds until 1.6 (`pkg/controllers/hpa/hpa_controller.go`).
    AutoscalersStay: "autoscalers-stay", Some((1, 7));
}

impl Bug {
    /// The bugs of a release (`1.13.10`, `v1.18.2`).
    #[must_use]
    pub fn of(release: &str) -> BTreeSet<Self> {
        let number = release_number(release);
        let has = |first_without: &Option<ReleaseNumber>| first_without.is_none_or(|first| number < first);
        KNOWN.iter().filter(|(.., first_without)| has(first_without)).map(|(bug, ..)| *bug).collect_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_a_name_of_its_own() {
        for bug in Bug::all() {
            assert_eq!(bug.name().parse(), Ok(bug));
        }
        let names: BTreeSet<_> = Bug::all().map(Bug::name).collect();
        assert_eq!(names.len(), KNOWN.len());
        let unknown = "no-such-bug".parse::<Bug>().unwrap_err().to_string();
        assert!(unknown.starts_with("there is no bug `no-such-bug`: there are chosen-while-leaving, "));
    }

    #[test]
    fn a_release_has_the_bugs_that_later_ones_fixed() {
        let has = |release: &str, bug: Bug| Bug::of(release).contains(&bug);
        let cases = [
            ("1.5.0", Bug::ChosenWhileLeaving, true),
            ("1.6.0", Bug::ChosenWhileLeaving, false),
            ("1.5.0", Bug::TaintsDriveOut, false),
            ("v1.11.2", Bug::KindsDriveOut, true),
            ("1.12", Bug::KindsDriveOut, false),
            ("1.18.2", Bug::EarlierHealthCounts, true),
        ];
        for (release, bug, expected) in cases {
            assert_eq!(has(release, bug), expected, "{release}: {}", bug.name());
        }
    }
}
