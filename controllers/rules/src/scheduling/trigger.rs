//! When a binding is scheduled again, and by which scheduler.
//!
//! karmada-io/karmada `pkg/scheduler/{scheduler,event_handler,helper}.go`, of v1.5.0 and v1.18.2.

use super::schedule::is_duplicated;
use crate::api::{
    BindingStatus, CONDITION_SCHEDULED, Cluster, DEFAULT_SCHEDULER, Placement, ResourceBindingSpec,
};
use crate::{Removal, Zones, affinity_matches};

/// The state of the clusters of a binding's targets: that of the worst of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LostTargets {
    /// All clusters exist.
    #[default]
    Nothing,
    /// A cluster is being removed.
    Leaving,
    /// A cluster no longer exists.
    Gone,
}

/// Whether an event makes the scheduler compute the targets again.
/// A changed placement and a request for a placement from scratch do. Any event does for a duplicated workload or one
/// without replicas. For a divided workload, the assigned sum must differ from the requested replicas, or a target must
/// be gone, because nothing else removes such a target. Where the scheduler removes targets, it is enough that the
/// target is being removed. So a divided workload does not move back when a cluster recovers. A suspended binding (as from 1.13) is never scheduled, whatever the
/// event (#6356).
#[must_use]
pub fn needs_scheduling(
    removal: Removal,
    spec: &ResourceBindingSpec,
    status: &BindingStatus,
    applied: Option<&Placement>,
    lost: LostTargets,
) -> bool {
    let Some(placement) = &spec.placement else { return false };
    let suspended = spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling);
    !suspended
        && (placement_changed(placement, applied, &status.scheduler_observed_affinity_name)
            || is_duplicated(placement)
            || spec.replicas == 0
            || assigned(spec) != i64::from(spec.replicas)
            || lost == LostTargets::Gone
            || (lost == LostTargets::Leaving && removal == Removal::Scheduling)
            || is_reschedule_requested(spec, status)
            || lacks_scheduled_condition(status))
}

/// Whether a binding is scheduled for nothing but its replicas.
/// The metrics of the real scheduler count this as `ScaleSchedule`, and all else as `ReconcileSchedule`
/// (`pkg/scheduler/scheduler.go`, `IsBindingReplicasChanged` of `pkg/util/binding.go`).
#[must_use]
pub fn scales_only(spec: &ResourceBindingSpec, applied: Option<&Placement>) -> bool {
    let Some(placement) = spec.placement.as_ref().filter(|placement| applied == Some(placement)) else {
        return false;
    };
    if is_duplicated(placement) {
        return spec.clusters.iter().any(|target| target.replicas != spec.replicas);
    }
    assigned(spec) != i64::from(spec.replicas)
}

fn assigned(spec: &ResourceBindingSpec) -> i64 {
    spec.clusters.iter().map(|target| i64::from(target.replicas)).sum()
}

/// Returns true if a binding is for the scheduler of this name.
/// This is the scheduler that the policy names, or `default-scheduler`. Until 1.7 the name was not checked for bindings
/// that a cluster's change queued (`pkg/scheduler/event_handler.go`,
/// #4139).
#[must_use]
pub fn is_for_scheduler(spec: &ResourceBindingSpec, name: &str) -> bool {
    let meant = if spec.scheduler_name.is_empty() { DEFAULT_SCHEDULER } else { &spec.scheduler_name };
    meant == name
}

/// Returns true if a change of a cluster may matter to a binding.
/// The affinity of the binding must match the cluster after or before the change. A removed label is therefore noticed
/// too (`pkg/scheduler/event_handler.go`, #2912).
#[must_use]
pub fn concerns(
    zones: Zones,
    spec: &ResourceBindingSpec,
    before: Option<&Cluster>,
    after: Option<&Cluster>,
) -> bool {
    let Some(placement) = &spec.placement else { return true };
    let terms = placement.cluster_affinities.iter().flat_map(|term| {
        let overflow = term.overflow_affinities.iter().map(|overflow| &overflow.affinity);
        std::iter::once(&term.affinity).chain(overflow)
    });
    let affinities: Vec<_> = placement.cluster_affinity.iter().chain(terms).collect();
    let means =
        |cluster: &Cluster| affinities.iter().any(|affinity| affinity_matches(zones, affinity, cluster));
    affinities.is_empty() || before.into_iter().chain(after).any(means)
}

/// Returns the generation that the scheduler reports as observed.
/// This is the generation of the binding as the scheduler has `written` it. If nothing had to be written, this is the
/// generation that the scheduler `found` (#3455). The generation is never earlier than the generation `observed`
/// before.
#[must_use]
pub fn observed_generation(observed: i64, found: i64, written: Option<i64>) -> i64 {
    written.unwrap_or(found).max(observed)
}

/// Whether a placement from scratch was requested since the targets were last computed (as from 1.10).
#[must_use]
pub fn is_reschedule_requested(spec: &ResourceBindingSpec, status: &BindingStatus) -> bool {
    let Some(asked) = &spec.reschedule_triggered_at else { return false };
    status.last_scheduled_time.as_ref().is_some_and(|last| asked.0 > last.0)
}

/// Whether the result of scheduling was never reported.
/// Targets are written first, and the write of the condition may get lost. The real scheduler does not repeat it.
fn lacks_scheduled_condition(status: &BindingStatus) -> bool {
    status.conditions.iter().all(|condition| condition.type_ != CONDITION_SCHEDULED)
}

/// Whether a placement differs from the one that was applied.
/// Of several affinities only the one in use counts: changes of the others do not move the workload.
fn placement_changed(placement: &Placement, applied: Option<&Placement>, in_use: &str) -> bool {
    let Some(applied) = applied else { return true };
    let term =
        |of: &Placement| of.cluster_affinities.iter().find(|term| term.affinity_name == in_use).cloned();
    let same_term = !in_use.is_empty() && term(placement).is_some() && term(placement) == term(applied);
    let rest = |of: &Placement| Placement { cluster_affinities: Vec::new(), ..of.clone() };
    let same_terms = placement.cluster_affinities == applied.cluster_affinities || same_term;
    !same_terms || rest(placement) != rest(applied)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kube::ResourceExt;
    use serde_json::json;

    use super::*;
    use crate::api::{Suspension, set_condition};
    use crate::scheduling::samples::{Terms, binding, one_to_two, terms, two_of_four};
    use crate::test_values::from_json;

    fn needed(spec: &ResourceBindingSpec, status: &BindingStatus, applied: Option<&Placement>) -> bool {
        needs_scheduling(Removal::Scheduling, spec, status, applied, LostTargets::Nothing)
    }

    /// The status that the scheduler writes for a placed binding.
    fn placed_status() -> BindingStatus {
        let mut status = BindingStatus::default();
        set_condition(&mut status.conditions, CONDITION_SCHEDULED, true, "", "", Timestamp::UNIX_EPOCH);
        status
    }

    #[test]
    fn a_placement_that_was_never_reported_is_computed_again() {
        let divided = binding(&one_to_two(), 3, "m2:2 m1:1", &[]);
        let applied = divided.placement.as_ref();
        assert!(needed(&divided, &BindingStatus::default(), applied));
        assert!(!needed(&divided, &placed_status(), applied));
        let elsewhere = ResourceBindingSpec { placement: None, ..divided };
        assert!(!needed(&elsewhere, &BindingStatus::default(), None), "what follows another is not placed");
    }

    #[test]
    fn only_duplicated_workloads_are_worked_out_anew_on_every_event() {
        let cases = [
            ("duplicated", two_of_four(), 2, "m1:2 m2:2", true, true),
            ("divided and complete", one_to_two(), 3, "m2:2 m1:1", true, false),
            ("divided, one part lost", one_to_two(), 3, "m2:2", true, true),
            ("divided, placement changed", one_to_two(), 3, "m2:2 m1:1", false, true),
            ("without replicas", one_to_two(), 0, "m2:0", true, true),
        ];
        for (about, placement, replicas, targets, applied, expected) in cases {
            let spec = binding(&placement, replicas, targets, &[]);
            let applied = spec.placement.clone().filter(|_| applied);
            assert_eq!(needed(&spec, &placed_status(), applied.as_ref()), expected, "{about}");
        }
    }

    #[test]
    fn it_is_for_the_sake_of_replicas_where_the_placement_is_the_one_that_was_applied() {
        let cases = [
            ("duplicated, as many as asked for", two_of_four(), "m1:3 m2:3", true, false),
            ("duplicated, more asked for", two_of_four(), "m1:2 m2:2", true, true),
            ("divided, as many as asked for", one_to_two(), "m1:1 m2:2", true, false),
            ("divided, more asked for", one_to_two(), "m1:1 m2:1", true, true),
            ("divided, placement changed", one_to_two(), "m1:1 m2:1", false, false),
        ];
        for (about, placement, targets, is_applied, expected) in cases {
            let spec = binding(&placement, 3, targets, &[]);
            let applied = spec.placement.as_ref().filter(|_| is_applied);
            assert_eq!(scales_only(&spec, applied), expected, "{about}");
        }
    }

    #[test]
    fn a_call_makes_it_anew_and_a_suspension_forbids_it() {
        let at = |second| Some(Time(Timestamp::from_second(second).unwrap()));
        let divided = binding(&one_to_two(), 3, "m2:2 m1:1", &[]);
        let status = |second| BindingStatus { last_scheduled_time: at(second), ..placed_status() };
        let asked = ResourceBindingSpec { reschedule_triggered_at: at(10), ..divided.clone() };
        let applied = divided.placement.as_ref();
        assert!(needed(&asked, &status(9), applied));
        assert!(!needed(&asked, &status(10), applied));
        assert!(!needed(&asked, &placed_status(), applied), "it is not known when it was scheduled");
        let suspension = Some(Suspension { scheduling: true, ..Suspension::default() });
        assert!(!needed(&ResourceBindingSpec { suspension, ..asked }, &status(9), None));
    }

    #[test]
    fn a_target_that_is_being_removed_matters_where_the_scheduler_is_to_move_it() {
        let divided = binding(&one_to_two(), 3, "m2:2 m1:1", &[]);
        for (removal, expected) in [(Removal::Tainting, false), (Removal::Scheduling, true)] {
            let (status, applied) = (placed_status(), divided.placement.as_ref());
            let needed = |lost| needs_scheduling(removal, &divided, &status, applied, lost);
            assert_eq!(needed(LostTargets::Leaving), expected, "{removal:?}");
            assert!(needed(LostTargets::Gone), "{removal:?}");
        }
    }

    #[test]
    fn a_binding_is_for_the_scheduler_that_it_names() {
        let named = |name: &str| ResourceBindingSpec { scheduler_name: name.into(), ..Default::default() };
        let cases = [("", true), ("default-scheduler", true), ("volcano", false)];
        for (name, expected) in cases {
            assert_eq!(is_for_scheduler(&named(name), "default-scheduler"), expected, "{name:?}");
        }
        assert!(is_for_scheduler(&named("volcano"), "volcano"));
    }

    #[test]
    fn a_cluster_concerns_bindings_that_selected_or_select_it() {
        let labelled = |label: &str| {
            let mut cluster = Cluster::new("m1", Default::default());
            cluster.labels_mut().insert("tier".into(), label.into());
            cluster
        };
        let gold = json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}});
        let groups = json!({"clusterAffinities": [
            {"affinityName": "a", "clusterNames": ["m2"]},
            {"affinityName": "b", "labelSelector": {"matchLabels": {"tier": "gold"}}}]});
        let (is_gold, is_iron) = (labelled("gold"), labelled("iron"));
        let cases = [
            ("any", json!({}), Some(&is_iron), Some(&is_iron), true),
            ("as it is", gold.clone(), Some(&is_iron), Some(&is_gold), true),
            ("as it was", gold.clone(), Some(&is_gold), Some(&is_iron), true),
            ("never", gold.clone(), Some(&is_iron), Some(&is_iron), false),
            ("a new one", gold.clone(), None, Some(&is_gold), true),
            ("one that is gone", gold, Some(&is_gold), None, true),
            ("by one of several", groups, None, Some(&is_gold), true),
        ];
        for (about, placement, before, after, expected) in cases {
            assert_eq!(
                concerns(Zones::All, &binding(&placement, 1, "", &[]), before, after),
                expected,
                "{about}"
            );
        }
    }

    #[test]
    fn what_the_scheduler_wrote_itself_is_observed() {
        assert_eq!(observed_generation(1, 2, Some(3)), 3);
        assert_eq!(observed_generation(1, 2, None), 2);
        assert_eq!(observed_generation(4, 2, Some(3)), 4);
    }

    #[test]
    fn only_the_affinity_in_use_makes_a_placement_another() {
        let of = |names: Terms<'_>| -> Placement { from_json(terms(names)) };
        let applied = of(&[("a", &["m1"]), ("b", &["m2"])]);
        let cases: [(&str, Terms<'_>, &str, bool); 7] = [
            ("the same", &[("a", &["m1"]), ("b", &["m2"])], "", false),
            ("another one changed", &[("a", &["m1"]), ("b", &["m3"])], "a", false),
            ("the one in use changed", &[("a", &["m1"]), ("b", &["m3"])], "b", true),
            ("the one in use is gone", &[("a", &["m1"])], "b", true),
            ("none is in use", &[("a", &["m1"])], "", true),
            ("the one in use never was there", &[("a", &["m1"])], "c", true),
            ("the order changed", &[("b", &["m2"]), ("a", &["m1"])], "a", false),
        ];
        for (about, names, in_use, expected) in cases {
            assert_eq!(placement_changed(&of(names), Some(&applied), in_use), expected, "{about}");
        }
        let other = Placement { replica_scheduling: None, ..applied.clone() };
        assert!(placement_changed(&other, Some(&applied), "a"));
    }
}
