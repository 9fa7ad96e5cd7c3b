//! When a binding is scheduled, and what comes out: filter, score, select, assign.
//!
//! karmada-io/karmada `pkg/scheduler/scheduler.go`, `core/generic_scheduler.go`, `helper.go`, of v1.5.0 and v1.18.2.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;

use super::select::{Candidate, grouping_field};
use super::{Behaviour, Rules, field_values};
use crate::api::{
    BindingStatus, Cluster, ClusterAffinity, ClusterAffinityTerm, Placement, ReplicaScheduling,
    ResourceBindingSpec, TargetCluster,
};

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// No cluster passes the filters. What was placed is taken back.
    #[error("{0}")]
    Fit(String),
    /// Some do, but they have too little room. What was placed stays.
    #[error("{0}")]
    Unschedulable(String),
    /// Some do, but not as the placement asks. What was placed stays.
    #[error("{0}")]
    Failed(String),
}

/// Where a workload goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The clusters, with their replicas.
    pub targets: Vec<TargetCluster>,
    /// Which of several affinities it is by; empty where there is but one.
    pub affinity: String,
}

/// Whether each cluster gets all replicas, which is also so where nothing is said.
#[must_use]
pub fn is_duplicated(placement: &Placement) -> bool {
    placement
        .replica_scheduling
        .as_ref()
        .is_none_or(|scheduling| scheduling.replica_scheduling_type == "Duplicated")
}

/// Whether replicas are divided over as few clusters as have room for them.
#[must_use]
pub fn is_aggregated(placement: &Placement) -> bool {
    let scheduling = placement.replica_scheduling.as_ref();
    scheduling.is_some_and(|scheduling| scheduling.replica_division_preference == "Aggregated")
}

/// Whether replicas are divided by weights that the policy says, or all the same.
#[must_use]
pub fn is_static_weighted(scheduling: &ReplicaScheduling) -> bool {
    let weighted = matches!(scheduling.replica_division_preference.as_str(), "" | "Weighted");
    scheduling.replica_scheduling_type == "Divided"
        && weighted
        && scheduling.weight_preference.as_ref().is_none_or(|weights| weights.dynamic_weight.is_empty())
}

/// Whether an event makes the scheduler work the binding out anew: a changed placement; a call for it; for what is
/// duplicated, or has no replicas, any event; for what is divided, only a sum of replicas that is not the one asked
/// for. So a divided workload does not move back when a cluster recovers. Never while scheduling is suspended (as
/// from 1.13).
#[must_use]
pub fn needs_scheduling(
    spec: &ResourceBindingSpec,
    status: &BindingStatus,
    applied: Option<&Placement>,
) -> bool {
    let Some(placement) = &spec.placement else { return false };
    let suspended = spec.suspension.as_ref().is_some_and(|suspension| suspension.scheduling);
    let assigned: i64 = spec.clusters.iter().map(|target| i64::from(target.replicas)).sum();
    !suspended
        && (placement_changed(placement, applied, &status.scheduler_observed_affinity_name)
            || is_duplicated(placement)
            || spec.replicas == 0
            || assigned != i64::from(spec.replicas)
            || asked_anew(spec, status))
}

/// Whether somebody asked for a placement from scratch since targets were last worked out (as from 1.10).
#[must_use]
pub fn asked_anew(spec: &ResourceBindingSpec, status: &BindingStatus) -> bool {
    let Some(asked) = &spec.reschedule_triggered_at else { return false };
    status.last_scheduled_time.as_ref().is_some_and(|last| asked.0 > last.0)
}

/// Whether a placement differs from the one that was applied. Of several affinities only the one in use counts: others
/// may come, go and change without anything being moved.
fn placement_changed(placement: &Placement, applied: Option<&Placement>, in_use: &str) -> bool {
    let Some(applied) = applied else { return true };
    let term = |of: &Placement| {
        of.cluster_affinities
            .iter()
            .find(|term| term.affinity_name == in_use)
            .map(|term| term.affinity.clone())
    };
    let same_term = !in_use.is_empty() && term(placement).is_some() && term(placement) == term(applied);
    let rest = |of: &Placement| Placement { cluster_affinities: Vec::new(), ..of.clone() };
    let same_terms = placement.cluster_affinities == applied.cluster_affinities || same_term;
    !same_terms || rest(placement) != rest(applied)
}

/// The whole of it, each step by its rule, so that a change of one rule changes just that. Of several affinities, the
/// one in use is tried first, then those after it: there is no way back to an earlier one (#4990) but by a placement
/// that no longer has the one in use.
///
/// # Errors
/// No cluster passes, or the placement cannot be met: of several affinities, what the first of those tried said.
pub fn schedule<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    status: &BindingStatus,
    clusters: &[Arc<Cluster>],
    now: Timestamp,
) -> Result<Schedule, ScheduleError> {
    let Some(placement) = &spec.placement else {
        return Err(ScheduleError::Failed("the binding has no placement".into()));
    };
    let fresh = asked_anew(spec, status);
    let by = |affinity| by_affinity(rules, spec, placement, affinity, clusters, now, fresh);
    let terms = rules.terms_to_try(&placement.cluster_affinities, &status.scheduler_observed_affinity_name);
    let mut first = None;
    for term in terms {
        match by(Some(&term.affinity)) {
            Ok(targets) => return Ok(Schedule { targets, affinity: term.affinity_name.clone() }),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    match first {
        Some(error) => Err(error),
        None => {
            by(placement.cluster_affinity.as_ref()).map(|targets| Schedule { targets, ..Schedule::default() })
        }
    }
}

/// Of several affinities, those from the one in use on; all of them where none is in use, or it is no longer there.
#[must_use]
pub fn terms_to_try<'a>(terms: &'a [ClusterAffinityTerm], in_use: &str) -> &'a [ClusterAffinityTerm] {
    let begin = terms.iter().position(|term| term.affinity_name == in_use).unwrap_or(0);
    &terms[begin..]
}

fn by_affinity<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    placement: &Placement,
    affinity: Option<&ClusterAffinity>,
    clusters: &[Arc<Cluster>],
    now: Timestamp,
    fresh: bool,
) -> Result<Vec<TargetCluster>, ScheduleError> {
    let mut candidates = Vec::new();
    let mut refusals = Vec::new();
    for cluster in clusters {
        match refusal(rules, spec, placement, affinity, cluster, now) {
            Some(reason) => refusals.push(reason),
            None => candidates.push(candidate(rules, spec, placement, cluster)),
        }
    }
    if candidates.is_empty() {
        return Err(ScheduleError::Fit(fit_message(clusters.len(), refusals)));
    }
    let ranked = rules.ranked(candidates, rules.behaviour().ranks_by_room);
    let selected = rules.select(placement, spec.replicas, &ranked)?;
    let selected: Vec<&Cluster> = selected
        .iter()
        .filter_map(|name| clusters.iter().find(|cluster| cluster.name_any() == *name).map(AsRef::as_ref))
        .collect();
    rules.assign(spec, placement, &selected, fresh)
}

/// A cluster with what ranks it. Its room is what it has of the workload, and what is free.
fn candidate<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    placement: &Placement,
    cluster: &Cluster,
) -> Candidate {
    let name = cluster.name_any();
    let own = spec.clusters.iter().find(|target| target.name == name).map_or(0, |target| target.replicas);
    let groups = grouping_field(placement).map(|field| field_values(cluster, field)).unwrap_or_default();
    Candidate {
        score: rules.locality_score(&spec.clusters, &name),
        room: rules.free_replicas(spec, cluster).saturating_add(i64::from(own)),
        groups: groups.into_iter().map(str::to_owned).collect(),
        name,
    }
}

fn refusal<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    placement: &Placement,
    affinity: Option<&ClusterAffinity>,
    cluster: &Cluster,
    now: Timestamp,
) -> Option<String> {
    let name = &cluster.name_any();
    let is_target = spec.clusters.iter().any(|target| target.name == *name);
    rules
        .terminating_filter(cluster)
        .or_else(|| rules.affinity_filter(affinity, cluster))
        .or_else(|| rules.taint_filter(&placement.cluster_tolerations, cluster, is_target, now))
        .or_else(|| rules.api_filter(&spec.resource, cluster, is_target))
        .or_else(|| rules.spread_filter(&placement.spread_constraints, cluster))
        .or_else(|| rules.eviction_filter(&spec.graceful_eviction_tasks, name))
}

/// What the condition `Scheduled` says of an outcome: its reason and its message.
#[must_use]
pub fn scheduled_condition(behaviour: Behaviour, error: Option<&ScheduleError>) -> (&'static str, String) {
    let reason = match error {
        None if behaviour.tells_reasons => "Success",
        Some(ScheduleError::Fit(_)) if behaviour.tells_reasons => "NoClusterFit",
        Some(ScheduleError::Unschedulable(_)) if behaviour.tells_reasons => "Unschedulable",
        Some(ScheduleError::Failed(_)) if behaviour.tells_reasons => "SchedulerError",
        None => "BindingScheduled",
        Some(_) => "BindingFailedScheduling",
    };
    let success = || {
        if behaviour.tells_reasons {
            "Binding has been scheduled successfully."
        } else {
            "Binding has been scheduled"
        }
    };
    (reason, error.map_or_else(|| success().into(), ToString::to_string))
}

/// `0/4 clusters are available: 1 …, 3 ….`, with the reasons in order.
fn fit_message(clusters: usize, mut refusals: Vec<String>) -> String {
    if clusters == 0 {
        return "0/0 clusters are available: no clusters exist.".into();
    }
    refusals.sort();
    let groups = refusals.chunk_by(|a, b| a == b).map(|group| format!("{} {}", group.len(), group[0]));
    format!("0/{clusters} clusters are available: {}.", groups.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::Suspension;
    use crate::rules::Reference;

    fn fleet(names: &[&str]) -> Vec<Arc<Cluster>> {
        let member = |name: &&str| {
            let mut cluster = Cluster::new(name, Default::default());
            cluster.status = serde_json::from_value(json!({"apiEnablements": [
                {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
            ]}))
            .unwrap();
            Arc::new(cluster)
        };
        names.iter().map(member).collect()
    }

    fn spec(
        placement: &Value,
        replicas: i32,
        targets: &[(&str, i32)],
        leaving: &[&str],
    ) -> ResourceBindingSpec {
        let clusters: Vec<Value> =
            targets.iter().map(|(name, replicas)| json!({"name": name, "replicas": replicas})).collect();
        let tasks: Vec<Value> = leaving
            .iter()
            .map(
                |name| json!({"fromCluster": name, "reason": "TaintUntolerated", "producer": "TaintManager"}),
            )
            .collect();
        serde_json::from_value(json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
            "replicas": replicas, "placement": placement, "clusters": clusters, "gracefulEvictionTasks": tasks,
        }))
        .unwrap()
    }

    fn two_of_four() -> Value {
        json!({
            "clusterAffinity": {"clusterNames": ["m1", "m2", "m3", "m5"]},
            "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
            "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
        })
    }

    fn one_to_two() -> Value {
        json!({
            "clusterAffinity": {"clusterNames": ["m1", "m2"]},
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": [
                    {"targetCluster": {"clusterNames": ["m1"]}, "weight": 1},
                    {"targetCluster": {"clusterNames": ["m2"]}, "weight": 2}]}},
        })
    }

    #[test]
    fn the_worked_examples_come_out_as_described() {
        type Placed<'a> = &'a [(&'a str, i32)];
        type Case<'a> = (&'a str, Value, i32, Placed<'a>, &'a [&'a str], Placed<'a>);
        let cases: [Case<'_>; 7] = [
            ("two of four, at first", two_of_four(), 2, &[], &[], &[("m1", 2), ("m2", 2)]),
            ("m2 fails", two_of_four(), 2, &[("m1", 2)], &["m2"], &[("m1", 2), ("m3", 2)]),
            ("m1 fails", two_of_four(), 2, &[("m2", 2)], &["m1"], &[("m2", 2), ("m3", 2)]),
            (
                "the survivor stays, whatever its name",
                two_of_four(),
                2,
                &[("m5", 2)],
                &["m1"],
                &[("m5", 2), ("m2", 2)],
            ),
            ("one to two, at first", one_to_two(), 3, &[], &[], &[("m2", 2), ("m1", 1)]),
            ("m1 fails, m2 takes all", one_to_two(), 3, &[("m2", 2)], &["m1"], &[("m2", 3)]),
            ("no replicas, no numbers", two_of_four(), 0, &[], &[], &[("m1", 0), ("m2", 0)]),
        ];
        for (about, placement, replicas, targets, leaving, expected) in cases {
            let clusters = fleet(&["m1", "m2", "m3", "m4", "m5"]);
            let spec = spec(&placement, replicas, targets, leaving);
            let placed =
                schedule(&Reference, &spec, &BindingStatus::default(), &clusters, Timestamp::UNIX_EPOCH)
                    .unwrap();
            let placed: Vec<_> =
                placed.targets.iter().map(|target| (target.name.as_str(), target.replicas)).collect();
            assert_eq!(placed, expected, "{about}");
        }
    }

    #[test]
    fn too_few_clusters_is_not_the_same_as_none() {
        let run = |names: &[&str]| {
            let spec = spec(&two_of_four(), 2, &[], &["m1"]);
            schedule(&Reference, &spec, &BindingStatus::default(), &fleet(names), Timestamp::UNIX_EPOCH)
        };
        assert!(matches!(run(&["m1", "m2"]), Err(ScheduleError::Failed(_))));
        assert_eq!(
            run(&["m1", "m4"]),
            Err(ScheduleError::Fit(
                "0/2 clusters are available: 1 cluster(s) did not match the placement cluster affinity \
                 constraint, 1 cluster(s) is in the process of eviction."
                    .into()
            ))
        );
    }

    #[test]
    fn only_duplicated_workloads_are_worked_out_anew_on_every_event() {
        let cases = [
            ("duplicated", two_of_four(), 2, vec![("m1", 2), ("m2", 2)], true, true),
            ("divided and complete", one_to_two(), 3, vec![("m2", 2), ("m1", 1)], true, false),
            ("divided, one part lost", one_to_two(), 3, vec![("m2", 2)], true, true),
            ("divided, placement changed", one_to_two(), 3, vec![("m2", 2), ("m1", 1)], false, true),
            ("without replicas", one_to_two(), 0, vec![("m2", 0)], true, true),
        ];
        for (about, placement, replicas, targets, applied, expected) in cases {
            let spec = spec(&placement, replicas, &targets, &[]);
            let applied = spec.placement.clone().filter(|_| applied);
            let needed = needs_scheduling(&spec, &BindingStatus::default(), applied.as_ref());
            assert_eq!(needed, expected, "{about}");
        }
    }

    #[test]
    fn a_call_makes_it_anew_and_a_suspension_forbids_it() {
        let at = |second| Some(Time(Timestamp::from_second(second).unwrap()));
        let divided = spec(&one_to_two(), 3, &[("m2", 2), ("m1", 1)], &[]);
        let status = |second| BindingStatus { last_scheduled_time: at(second), ..BindingStatus::default() };
        let asked = ResourceBindingSpec { reschedule_triggered_at: at(10), ..divided.clone() };
        let applied = divided.placement.as_ref();
        assert!(needs_scheduling(&asked, &status(9), applied));
        assert!(!needs_scheduling(&asked, &status(10), applied));
        assert!(!needs_scheduling(&asked, &BindingStatus::default(), applied), "it was never scheduled");
        let suspension = Some(Suspension { scheduling: true });
        assert!(!needs_scheduling(&ResourceBindingSpec { suspension, ..asked }, &status(9), None));
    }

    type Terms<'a> = &'a [(&'a str, &'a [&'a str])];

    fn terms(names: Terms<'_>) -> Value {
        let term =
            |(name, clusters): &(&str, &[&str])| json!({"affinityName": name, "clusterNames": clusters});
        json!({
            "clusterAffinities": names.iter().map(term).collect::<Vec<_>>(),
            "replicaScheduling": {"replicaSchedulingType": "Divided"},
        })
    }

    #[test]
    fn affinities_are_tried_in_order_and_never_back() {
        let placement = terms(&[("first", &["m1"]), ("second", &["m2", "m3"]), ("third", &["m4"])]);
        type Case<'a> = (&'a str, &'a [&'a str], &'a str, Result<(&'a str, &'a str), ()>);
        let cases: [Case<'_>; 5] = [
            ("the first that does", &["m1", "m2", "m4"], "", Ok(("first", "m1"))),
            ("the next where it does not", &["m2", "m4"], "", Ok(("second", "m2"))),
            ("not back", &["m1", "m4"], "second", Ok(("third", "m4"))),
            ("from the start if the one in use is gone", &["m1", "m4"], "fourth", Ok(("first", "m1"))),
            ("none", &["m1"], "second", Err(())),
        ];
        for (about, names, in_use, expected) in cases {
            let status =
                BindingStatus { scheduler_observed_affinity_name: in_use.into(), ..BindingStatus::default() };
            let spec = spec(&placement, 1, &[], &[]);
            let placed = schedule(&Reference, &spec, &status, &fleet(names), Timestamp::UNIX_EPOCH);
            let placed =
                placed.as_ref().map(|placed| (placed.affinity.as_str(), placed.targets[0].name.as_str()));
            assert_eq!(placed.map_err(drop), expected, "{about}");
        }
    }

    #[test]
    fn only_the_affinity_in_use_makes_a_placement_another() {
        let of = |names: Terms<'_>| -> Placement { serde_json::from_value(terms(names)).unwrap() };
        let applied = of(&[("a", &["m1"]), ("b", &["m2"])]);
        let cases: [(&str, Terms<'_>, &str, bool); 6] = [
            ("the same", &[("a", &["m1"]), ("b", &["m2"])], "", false),
            ("another one changed", &[("a", &["m1"]), ("b", &["m3"])], "a", false),
            ("the one in use changed", &[("a", &["m1"]), ("b", &["m3"])], "b", true),
            ("the one in use is gone", &[("a", &["m1"])], "b", true),
            ("none is in use", &[("a", &["m1"])], "", true),
            ("the order changed", &[("b", &["m2"]), ("a", &["m1"])], "a", false),
        ];
        for (about, names, in_use, expected) in cases {
            assert_eq!(placement_changed(&of(names), Some(&applied), in_use), expected, "{about}");
        }
        let other = Placement { replica_scheduling: None, ..applied.clone() };
        assert!(placement_changed(&other, Some(&applied), "a"));
    }

    #[test]
    fn the_condition_tells_what_the_release_tells() {
        let (old, new) = (Behaviour::default(), Behaviour::of("1.18.2"));
        let fit = ScheduleError::Fit("0/1".into());
        let full = ScheduleError::Unschedulable("full".into());
        let failed = ScheduleError::Failed("failed".into());
        let cases = [
            (old, None, "BindingScheduled", "Binding has been scheduled"),
            (old, Some(&fit), "BindingFailedScheduling", "0/1"),
            (new, None, "Success", "Binding has been scheduled successfully."),
            (new, Some(&fit), "NoClusterFit", "0/1"),
            (new, Some(&full), "Unschedulable", "full"),
            (new, Some(&failed), "SchedulerError", "failed"),
        ];
        for (behaviour, error, reason, message) in cases {
            assert_eq!(scheduled_condition(behaviour, error), (reason, message.to_owned()));
        }
    }
}
