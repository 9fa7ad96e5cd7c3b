//! What a release does otherwise than another, as named switches.
//!
//! The reference is release 1.5 with the bugs taken out. A switch turns one difference on; its doc comment says which
//! releases have it. What a release does and should not is in `bugs`.

use crate::api::{PurgeMode, ReleaseNumber, release_number};
use crate::rules::EvictsBy;

/// The differences between releases that the rules know. The default is the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// How replicas are divided by weight.
    pub division: Division,
    /// How many regions (zones, providers) a workload is spread over, within the limits that its policy sets.
    pub grouping: Grouping,
    /// Of clusters with the same score, the one with more room ranks first, before the name decides; as from 1.6
    /// (`pkg/scheduler/core/spreadconstraint/util.go`).
    pub ranks_by_room: bool,
    /// Template and binding name their policy in annotations and carry its permanent id as a label; as from 1.8
    /// (`pkg/detector/claim.go`). Before, the names were labels. Bindings and Works have ids of their own, too.
    pub permanent_ids: bool,
    /// A policy that is deleted stays until nothing says any more that it belongs to it; as from 1.10 (#4836). Before, it
    /// went at once, and what became of the marks was lost where no controller saw it go.
    pub policy_finalizers: bool,
    /// Works and copies say which generation of the template they are of, and the template what all copies have caught up
    /// with; as from 1.10 (`resourcetemplate.karmada.io/generation`).
    pub reports_generation: bool,
    /// Every Work tells whether it is held back; as from 1.11.
    pub always_reports_dispatching: bool,
    /// The controller `hpa` copies autoscalers to the members of their workloads; until 1.6
    /// (`pkg/controllers/hpa/hpa_controller.go`).
    pub copies_autoscalers: bool,
    /// Policies say, and Works and copies with them, what becomes of an object that a member already has; as from 1.7
    /// (`conflictResolution`).
    pub resolves_conflicts: bool,
    /// The condition `Scheduled` says what went wrong: `Success`, `NoClusterFit`, `Unschedulable`, `SchedulerError`;
    /// as from 1.7 (`pkg/apis/work/v1alpha2/binding_types.go`). Before, only `BindingScheduled` and
    /// `BindingFailedScheduling`.
    pub specific_reasons: bool,
    /// A cluster that has not been ready for long is tainted with NoExecute without anybody asking for it; until 1.13
    /// (#6389).
    pub taints_not_ready_clusters: bool,
    /// What the switches mean for evictions.
    pub evicts_by: EvictsBy,
    /// The webhook adds tolerations of the health taints to policies; until 1.14 (#6444).
    pub adds_tolerations: bool,
    /// What makes workloads leave a cluster that is being removed.
    pub removal: Removal,
    /// What the tasks of the taint manager say of the old copy where neither policy nor flag does: nothing until 1.11, and
    /// then the same by two names (1.12, 1.15).
    pub purge_mode: Option<PurgeMode>,
    /// What becomes of a target that is not known any more to serve the workload's kind.
    pub unserved_targets: UnservedTargets,
}

/// What becomes of a target that is not known any more to serve the workload's kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnservedTargets {
    /// It stays a target; as from 1.15 (#6462).
    #[default]
    Stay,
    /// It stays one unless `CompleteAPIEnablements` says that nothing was overlooked; from 1.12 to 1.14 (#5216).
    StayInDoubt,
    /// It is one no more, so that a hiccup of discovery deletes what runs there; until 1.11, and a bug of those.
    Leave,
}

/// How replicas are divided by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Shares rounded down, and what is left over one by one to the heaviest; until 1.15.
    LargestWeight,
    /// Seat by seat (Webster's method): whoever has the most weight for each half seat more; as from 1.16 (#6793).
    Webster,
}

/// How many regions a workload is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// As many as it must be spread over at least, never more; until 1.5.
    Fewest,
    /// Any number within the limits, whichever combination is best; as from 1.6.
    WithinLimits,
}

/// What makes workloads leave a cluster that is being removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// A taint, so that they leave as they leave any tainted cluster: gracefully; until 1.13 (#6403).
    Tainting,
    /// The scheduler, which takes the cluster for one that does not fit any more; as from 1.14.
    Scheduling,
}

impl Behaviour {
    /// As the real system in this release (`1.13.10`, `v1.18.2`), as far as the switches go.
    #[must_use]
    pub fn of(release: &str) -> Self {
        Self::since(release_number(release))
    }

    /// As `of`. Asked by many rules for each object, so that no text is read here.
    fn since(release: ReleaseNumber) -> Self {
        Self {
            division: if release >= (1, 16) { Division::Webster } else { Division::LargestWeight },
            grouping: if release >= (1, 6) { Grouping::WithinLimits } else { Grouping::Fewest },
            ranks_by_room: release >= (1, 6),
            permanent_ids: release >= (1, 8),
            policy_finalizers: release >= (1, 10),
            reports_generation: release >= (1, 10),
            always_reports_dispatching: release >= (1, 11),
            copies_autoscalers: release < (1, 7),
            resolves_conflicts: release >= (1, 7),
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
        }
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

    #[test]
    fn a_switch_is_on_for_the_releases_that_have_it() {
        let old = Behaviour {
            division: Division::LargestWeight,
            grouping: Grouping::Fewest,
            ranks_by_room: false,
            permanent_ids: false,
            policy_finalizers: false,
            reports_generation: false,
            always_reports_dispatching: false,
            copies_autoscalers: true,
            resolves_conflicts: false,
            specific_reasons: false,
            taints_not_ready_clusters: true,
            evicts_by: EvictsBy::TaintManager,
            adds_tolerations: true,
            removal: Removal::Tainting,
            purge_mode: None,
            unserved_targets: UnservedTargets::Stay,
        };
        let ranked = Behaviour { grouping: Grouping::WithinLimits, ranks_by_room: true, ..old };
        let telling = Behaviour {
            specific_reasons: true,
            resolves_conflicts: true,
            copies_autoscalers: false,
            ..ranked
        };
        let identified = Behaviour { permanent_ids: true, ..telling };
        let counted = Behaviour { reports_generation: true, policy_finalizers: true, ..identified };
        let dispatching = Behaviour { always_reports_dispatching: true, ..counted };
        let graciously = Behaviour { purge_mode: Some(PurgeMode::Graciously), ..dispatching };
        let in_doubt = Behaviour { unserved_targets: UnservedTargets::StayInDoubt, ..graciously };
        let asked = Behaviour {
            taints_not_ready_clusters: false,
            evicts_by: EvictsBy::Everything,
            removal: Removal::Scheduling,
            ..in_doubt
        };
        let newest = Behaviour {
            purge_mode: Some(PurgeMode::Gracefully),
            unserved_targets: UnservedTargets::Stay,
            adds_tolerations: false,
            ..asked
        };
        let cases = [
            ("v1.5.0", old),
            ("1.6.1", ranked),
            ("1.7.0", telling),
            ("1.8", identified),
            ("1.10", counted),
            ("1.11", dispatching),
            ("1.13.10", in_doubt),
            ("1.14", asked),
            ("1.15.0", newest),
            ("v1.18.2", Behaviour { division: Division::Webster, ..newest }),
        ];
        for (release, expected) in cases {
            assert_eq!(Behaviour::of(release), expected, "{release}");
        }
        assert_eq!(Behaviour::default(), old);
    }
}
