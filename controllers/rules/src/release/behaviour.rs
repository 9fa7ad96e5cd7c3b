//! Named switches for the differences between releases.
//!
//! The reference is release 1.5 without its bugs. Each switch turns one difference on; its doc comment names the
//! releases that have it. Bugs of releases are in `bugs`.

use crate::api::{FORMER_PURGE_MODES_END, PurgeMode, ReleaseNumber, release_number};
use crate::{EvictsBy, Retries};

/// The differences between releases that the rules support. The default is the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// How replicas are divided by weight.
    pub division: Division,
    /// The number of regions (zones, providers) that a workload is spread over.
    /// The number is within the limits that the policy of the workload sets.
    pub grouping: Grouping,
    /// Among clusters with the same score, the cluster with more room ranks first.
    /// The room decides before the name. This holds as from 1.6 (`pkg/scheduler/core/spreadconstraint/util.go`).
    pub ranks_by_room: bool,
    /// Templates and bindings name their policy in annotations and have its permanent id as a label.
    /// This holds as from 1.8 (`pkg/detector/claim.go`). Before, the names were labels. Bindings and Works have ids of
    /// their own, too.
    pub permanent_ids: bool,
    /// Policies have a finalizer: a deleted policy stays until no object names the policy any more.
    /// This holds as from 1.10 (#4836). Before, a policy was deleted at once, and the marks of its templates stayed if
    /// no controller observed the deletion.
    pub policy_finalizers: bool,
    /// Works and copies have the generation of their template.
    /// A template reports the generation that all copies have observed. This holds as from 1.10
    /// (`resourcetemplate.karmada.io/generation`).
    pub reports_generation: bool,
    /// Every Work has the condition that reports whether dispatching is suspended; as from 1.11.
    pub always_reports_dispatching: bool,
    /// The controller `hpa` copies autoscalers to the members of their workloads.
    /// This holds until 1.6 (`pkg/controllers/hpa/hpa_controller.go`).
    pub copies_autoscalers: bool,
    /// Policies, Works and copies define the treatment of an object that a member already has.
    /// This holds as from 1.7 (`conflictResolution`).
    pub resolves_conflicts: bool,
    /// Overriders of commands and arguments also change Jobs; as from 1.6.
    /// The source is `pkg/util/overridemanager/commandargsoverride.go`.
    pub overrides_words_of_jobs: bool,
    /// How the bindings of dependencies inherit from those that require them.
    pub inheritance: Inheritance,
    /// The condition `Scheduled` has a specific reason.
    /// The reason is `Success`, `NoClusterFit`, `Unschedulable` or `SchedulerError`. This holds as from 1.7
    /// (`pkg/apis/work/v1alpha2/binding_types.go`). Before, there were only `BindingScheduled` and
    /// `BindingFailedScheduling`.
    pub specific_reasons: bool,
    /// A controller taints a cluster NoExecute if the cluster has not been ready for a time.
    /// This holds until 1.13 (#6389).
    pub taints_not_ready_clusters: bool,
    /// How gates and flags affect evictions.
    pub evicts_by: EvictsBy,
    /// The webhook adds tolerations of the health taints to policies; until 1.14 (#6444).
    pub adds_tolerations: bool,
    /// How workloads leave a cluster that is being removed.
    pub removal: Removal,
    /// The purge mode of the taint manager's tasks if neither policy nor flag sets one.
    /// There is none until 1.11. Later there is the same mode by two names (1.12, 1.15).
    pub purge_mode: Option<PurgeMode>,
    /// How a target is treated that is no longer known to serve the workload's kind.
    pub unserved_targets: UnservedTargets,
    /// When bindings that could not be scheduled are tried again, and in which order.
    pub retries: Retries,
    /// A request for a placement from scratch begins again at the first of several affinities.
    /// This holds as from 1.19 (#5425).
    pub rebalances_from_the_first: bool,
    /// `Immediately` and `Graciously` are names of purge modes; until 1.18 (#7792).
    /// Later, stored objects with these names are evicted gracefully.
    pub has_former_purge_modes: bool,
    /// Drifted copies are repaired whenever the watch of a member shows them.
    /// Drifted copies are also repaired in a member that is not ready. A copy that is created again is reported with a
    /// reason of its own. This holds until 1.18 (#7552).
    pub repairs_unready_members: bool,
    /// In the status of a template, an ingress point without a host name gets the name of its cluster.
    /// This holds until 1.13. Later, points stay as reported, each point once, in the order of host name and address
    /// (`pkg/resourceinterpreter/default/native/aggregatestatus.go`).
    pub names_ingress_points: bool,
    /// A complete Job also has the condition `SuccessCriteriaMet` if all clusters report this condition.
    /// This holds as from 1.16 (`pkg/util/helper/job.go`).
    pub reports_success_criteria: bool,
    /// The start of a Job is reported when it has begun in all clusters, and never changes then.
    /// This holds as from 1.17 (`pkg/util/helper/job.go`). Before, it is the first start that any cluster reports.
    pub keeps_start_of_jobs: bool,
    /// Policies with selectors of another namespace are refused; as from 1.17.
    /// The source is `pkg/util/validation/validation.go`. Before, such selectors selected nothing.
    pub refuses_foreign_selectors: bool,
    /// A copy with the label `karmada.io/managed` may be written and deleted by any Work.
    /// The Work that the copy names does not matter. This holds as from 1.10
    /// (`pkg/util/objectwatcher/objectwatcher.go`). Before, a Work could write and delete only a copy that named the
    /// Work.
    pub owns_managed_copies: bool,
    /// A workload that has requests and is scaled to zero leaves all clusters; as from 1.16.
    /// The source is `AssignReplicas` of `pkg/scheduler/core/common.go`. Before, the workload stayed on all selected
    /// clusters. The flag `--enable-empty-workload-propagation`, which is off by default, is not supported.
    pub empty_workloads_leave: bool,
    /// Only the copies of a divided workload have the assigned replicas; from 1.6 to 1.14.
    /// Other copies have the replicas of the template (`needReviseReplicas` of `pkg/controllers/binding/common.go`).
    pub revises_divided_only: bool,
    /// A Pod has one replica, so that a divided Pod goes to one cluster; as from 1.7.
    /// The source is `podReplica` of `pkg/resourceinterpreter/default/native/replica.go`. Before, a Pod was an object
    /// without replicas.
    pub pods_have_a_replica: bool,
    /// A Job has no more replicas than completions, whatever its parallelism is.
    /// This holds as from 1.11 (`jobReplica`).
    pub caps_jobs_by_completions: bool,
    /// A `ReplicaSet` has replicas, dependencies and an aggregated status; as from 1.16.
    /// Before, only its health was known.
    pub interprets_replica_sets: bool,
    /// Grades of nodes count as if the replicas were scheduled on such nodes; as from 1.18.
    /// A node then has room for 110 pods and for none of a resource that its grade leaves out
    /// (`getMaximumReplicasBasedOnResourceModels`). Before, grades that left out a requested resource did not count.
    pub schedules_on_grades: bool,
    /// Which zones of a cluster the operator `In` of an affinity must list.
    pub zones: Zones,
}

/// Which zones of a cluster the operator `In` of an affinity must list.
/// The source is `matchZones` of `pkg/util/selector.go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zones {
    /// All of them; until 1.17.
    All,
    /// Any of them; as from 1.18 (#6431).
    Any,
}

/// How a target is treated that is no longer known to serve the workload's kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnservedTargets {
    /// It stays a target; as from 1.15 (#6462).
    #[default]
    Stay,
    /// The target stays unless `CompleteAPIEnablements` confirms that discovery was complete.
    /// This holds from 1.12 to 1.14 (#5216).
    StayInDoubt,
    /// The cluster is no longer a target, so that a failed discovery deletes the workload there.
    /// This holds until 1.11, where the deletion is a bug.
    Leave,
}

/// How replicas are divided by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Shares are rounded down, and the remaining replicas go one by one to the largest weights.
    /// Equal weights are ordered by name. This holds until 1.7.
    LargestWeight,
    /// The same, but of equal weights those with more replicas before come first; from 1.8 to 1.15.
    /// The real system orders the others at random, and these rules by name.
    LargestWeightThenMost,
    /// By Webster's method: the next seat goes to the largest weight per half seat.
    /// This holds as from 1.16 (#6793).
    Webster,
}

/// How many regions a workload is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Exactly the minimum of the policy; until 1.5.
    Fewest,
    /// Any number within the limits; the best combination wins; as from 1.6.
    WithinLimits,
}

/// How the binding of a dependency inherits `preserveResourcesOnDeletion` and `conflictResolution`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// Nothing; from 1.7, which has `conflictResolution`, to 1.11.
    Nothing,
    /// The values that are set; from 1.12 to 1.15, and in the reference, which has both fields.
    AsGiven,
    /// The values that win, with `false` and `Abort` for those that are not set; as from 1.16.
    Resolved,
}

/// How workloads leave a cluster that is being removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// A taint evicts them gracefully, as from any tainted cluster; until 1.13 (#6403).
    Tainting,
    /// The scheduler treats the cluster as one that no longer fits; as from 1.14.
    Scheduling,
}

impl Behaviour {
    /// Returns the behaviour of the real system in this release (`1.13.10`, `v1.18.2`).
    /// Only what has a switch differs.
    #[must_use]
    pub fn of(release: &str) -> Self {
        Self::since(release_number(release))
    }

    /// As `of`, without parsing a text, because the default is created by many rules for each object.
    pub(crate) fn since(release: ReleaseNumber) -> Self {
        Self {
            division: match release {
                release if release >= (1, 16) => Division::Webster,
                release if release >= (1, 8) => Division::LargestWeightThenMost,
                _ => Division::LargestWeight,
            },
            grouping: if release >= (1, 6) { Grouping::WithinLimits } else { Grouping::Fewest },
            ranks_by_room: release >= (1, 6),
            permanent_ids: release >= (1, 8),
            policy_finalizers: release >= (1, 10),
            reports_generation: release >= (1, 10),
            always_reports_dispatching: release >= (1, 11),
            copies_autoscalers: release < (1, 7),
            resolves_conflicts: release >= (1, 7),
            overrides_words_of_jobs: release >= (1, 6),
            inheritance: match release {
                release if release >= (1, 16) => Inheritance::Resolved,
                release if ((1, 7)..(1, 12)).contains(&release) => Inheritance::Nothing,
                _ => Inheritance::AsGiven,
            },
            specific_reasons: release >= (1, 7),
            unserved_targets: match release {
                release if ((1, 12)..(1, 15)).contains(&release) => UnservedTargets::StayInDoubt,
                _ => UnservedTargets::Stay,
            },
            purge_mode: match release {
                release if release >= (1, 15) => Some(PurgeMode::Gracefully),
                release if release >= (1, 12) => Some(PurgeMode::Graciously),
                _ => None,
            },
            taints_not_ready_clusters: release < (1, 14),
            evicts_by: if release < (1, 14) { EvictsBy::TaintManager } else { EvictsBy::Everything },
            adds_tolerations: release < (1, 15),
            removal: if release >= (1, 14) { Removal::Scheduling } else { Removal::Tainting },
            retries: if release >= (1, 19) { Retries::ByPriority } else { Retries::RateLimited },
            rebalances_from_the_first: release >= (1, 19),
            has_former_purge_modes: release < FORMER_PURGE_MODES_END,
            repairs_unready_members: release < (1, 19),
            names_ingress_points: release < (1, 14),
            reports_success_criteria: release >= (1, 16),
            keeps_start_of_jobs: release >= (1, 17),
            refuses_foreign_selectors: release >= (1, 17),
            owns_managed_copies: release >= (1, 10),
            empty_workloads_leave: release >= (1, 16),
            revises_divided_only: ((1, 6)..(1, 15)).contains(&release),
            pods_have_a_replica: release >= (1, 7),
            caps_jobs_by_completions: release >= (1, 11),
            interprets_replica_sets: release >= (1, 16),
            schedules_on_grades: release >= (1, 18),
            zones: if release >= (1, 18) { Zones::Any } else { Zones::All },
        }
    }

    /// Whether this purge mode deletes the old copy before there is a new one.
    #[must_use]
    pub fn is_direct(&self, mode: PurgeMode) -> bool {
        mode == PurgeMode::Directly || mode == PurgeMode::Immediately && self.has_former_purge_modes
    }

    /// Whether this purge mode keeps the old copy until the new one is healthy.
    /// A grace period may be given only then.
    #[must_use]
    pub fn is_graceful(&self, mode: PurgeMode) -> bool {
        mode == PurgeMode::Gracefully || mode == PurgeMode::Graciously && self.has_former_purge_modes
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::since((1, 5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The behaviour of release 1.5.
    fn oldest() -> Behaviour {
        Behaviour {
            division: Division::LargestWeight,
            grouping: Grouping::Fewest,
            ranks_by_room: false,
            permanent_ids: false,
            policy_finalizers: false,
            reports_generation: false,
            always_reports_dispatching: false,
            copies_autoscalers: true,
            resolves_conflicts: false,
            overrides_words_of_jobs: false,
            inheritance: Inheritance::AsGiven,
            specific_reasons: false,
            taints_not_ready_clusters: true,
            evicts_by: EvictsBy::TaintManager,
            adds_tolerations: true,
            removal: Removal::Tainting,
            purge_mode: None,
            unserved_targets: UnservedTargets::Stay,
            retries: Retries::RateLimited,
            rebalances_from_the_first: false,
            has_former_purge_modes: true,
            repairs_unready_members: true,
            names_ingress_points: true,
            reports_success_criteria: false,
            keeps_start_of_jobs: false,
            refuses_foreign_selectors: false,
            owns_managed_copies: false,
            empty_workloads_leave: false,
            revises_divided_only: false,
            pods_have_a_replica: false,
            caps_jobs_by_completions: false,
            interprets_replica_sets: false,
            schedules_on_grades: false,
            zones: Zones::All,
        }
    }

    /// The first release with each set of switches, until 1.13.
    fn until_1_13() -> [(&'static str, Behaviour); 6] {
        let old = oldest();
        let ranked = Behaviour {
            grouping: Grouping::WithinLimits,
            ranks_by_room: true,
            overrides_words_of_jobs: true,
            revises_divided_only: true,
            ..old
        };
        let reporting = Behaviour {
            inheritance: Inheritance::Nothing,
            specific_reasons: true,
            resolves_conflicts: true,
            copies_autoscalers: false,
            pods_have_a_replica: true,
            ..ranked
        };
        let identified =
            Behaviour { permanent_ids: true, division: Division::LargestWeightThenMost, ..reporting };
        let counted = Behaviour {
            reports_generation: true,
            policy_finalizers: true,
            owns_managed_copies: true,
            ..identified
        };
        let dispatching =
            Behaviour { always_reports_dispatching: true, caps_jobs_by_completions: true, ..counted };
        let graciously = Behaviour {
            purge_mode: Some(PurgeMode::Graciously),
            inheritance: Inheritance::AsGiven,
            ..dispatching
        };
        let in_doubt = Behaviour { unserved_targets: UnservedTargets::StayInDoubt, ..graciously };
        [
            ("1.6.1", ranked),
            ("1.7.0", reporting),
            ("1.8", identified),
            ("1.10", counted),
            ("1.11", dispatching),
            ("1.13.10", in_doubt),
        ]
    }

    /// The same as from 1.14.
    fn as_from_1_14(before: Behaviour) -> [(&'static str, Behaviour); 6] {
        let asked = Behaviour {
            taints_not_ready_clusters: false,
            evicts_by: EvictsBy::Everything,
            removal: Removal::Scheduling,
            names_ingress_points: false,
            ..before
        };
        let newest = Behaviour {
            purge_mode: Some(PurgeMode::Gracefully),
            unserved_targets: UnservedTargets::Stay,
            adds_tolerations: false,
            revises_divided_only: false,
            ..asked
        };
        let seats = Behaviour {
            division: Division::Webster,
            inheritance: Inheritance::Resolved,
            reports_success_criteria: true,
            empty_workloads_leave: true,
            interprets_replica_sets: true,
            ..newest
        };
        let started = Behaviour { keeps_start_of_jobs: true, refuses_foreign_selectors: true, ..seats };
        let any_zone = Behaviour { zones: Zones::Any, schedules_on_grades: true, ..started };
        let by_priority = Behaviour {
            retries: Retries::ByPriority,
            rebalances_from_the_first: true,
            has_former_purge_modes: false,
            repairs_unready_members: false,
            ..any_zone
        };
        [
            ("1.14", asked),
            ("1.15.0", newest),
            ("1.16", seats),
            ("1.17", started),
            ("v1.18.2", any_zone),
            ("1.19.0", by_priority),
        ]
    }

    #[test]
    fn a_switch_is_on_for_the_releases_that_have_it() {
        let earlier = until_1_13();
        let [.., (_, last)] = earlier;
        for (release, expected) in earlier.into_iter().chain(as_from_1_14(last)) {
            assert_eq!(Behaviour::of(release), expected, "{release}");
        }
        assert_eq!(Behaviour::default(), oldest());
    }

    #[test]
    fn former_names_of_purge_modes_mean_the_same_until_1_18() {
        use PurgeMode::{Directly, Gracefully, Graciously, Immediately, Never};
        for (release, mode, direct, graceful) in [
            ("1.18", Directly, true, false),
            ("1.18", Immediately, true, false),
            ("1.18", Graciously, false, true),
            ("1.19", Directly, true, false),
            ("1.19", Immediately, false, false),
            ("1.19", Gracefully, false, true),
            ("1.19", Graciously, false, false),
            ("1.19", Never, false, false),
        ] {
            let behaviour = Behaviour::of(release);
            assert_eq!(behaviour.is_direct(mode), direct, "{release} {mode:?}");
            assert_eq!(behaviour.is_graceful(mode), graceful, "{release} {mode:?}");
        }
    }
}
