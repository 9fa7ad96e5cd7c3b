//! When a binding is scheduled, and what comes out: filter, score, select, assign.
//!
//! karmada-io/karmada v1.5.0 `pkg/scheduler/scheduler.go`, `core/generic_scheduler.go`, `core/spreadconstraint/*`.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;

use super::Rules;
use crate::api::{Cluster, Placement, ReplicaScheduling, ResourceBindingSpec, TargetCluster};

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// No cluster passes the filters. What was placed is taken back.
    #[error("{0}")]
    Fit(String),
    /// Some do, but not as the placement asks. What was placed stays.
    #[error("{0}")]
    Unschedulable(String),
}

/// A cluster that passed the filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its rank: higher is better.
    pub score: i64,
}

/// Whether each cluster gets all replicas, which is also so where nothing is said.
#[must_use]
pub fn is_duplicated(placement: &Placement) -> bool {
    placement
        .replica_scheduling
        .as_ref()
        .is_none_or(|scheduling| scheduling.replica_scheduling_type == "Duplicated")
}

/// Whether replicas are divided by weights that the policy says, or all the same.
#[must_use]
pub fn is_static_weighted(scheduling: &ReplicaScheduling) -> bool {
    let weighted = matches!(scheduling.replica_division_preference.as_str(), "" | "Weighted");
    scheduling.replica_scheduling_type == "Divided"
        && weighted
        && scheduling.weight_preference.as_ref().is_none_or(|weights| weights.dynamic_weight.is_empty())
}

/// Whether an event makes the scheduler work the binding out anew: a changed placement; for what is duplicated, or
/// has no replicas, any event; for what is divided, only a sum of replicas that is not the one asked for. So a
/// divided workload does not move back when a cluster recovers.
#[must_use]
pub fn needs_scheduling(spec: &ResourceBindingSpec, applied: Option<&Placement>) -> bool {
    let Some(placement) = &spec.placement else { return false };
    let assigned: i64 = spec.clusters.iter().map(|target| i64::from(target.replicas)).sum();
    applied != Some(placement)
        || is_duplicated(placement)
        || spec.replicas == 0
        || assigned != i64::from(spec.replicas)
}

/// Clusters from best to worst: by score, then by name.
#[must_use]
pub fn ranked(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
    candidates
}

/// The clusters that are used, of those ranked: all of them without constraints, or with static weights; otherwise
/// as many as the constraint by cluster allows, but not fewer than it asks for.
///
/// # Errors
/// Too few clusters, or a constraint by something else, which is not supported.
pub fn select(placement: &Placement, ranked: &[Candidate]) -> Result<Vec<String>, ScheduleError> {
    let all = || ranked.iter().map(|candidate| candidate.name.clone());
    let static_weighted = placement.replica_scheduling.as_ref().is_some_and(is_static_weighted);
    if static_weighted || placement.spread_constraints.is_empty() {
        return Ok(all().collect());
    }
    let [constraint] = placement.spread_constraints.as_slice() else {
        return Err(ScheduleError::Unschedulable("just support one spread constraint, by cluster".into()));
    };
    if constraint.spread_by_field != "cluster" {
        return Err(ScheduleError::Unschedulable("just support cluster spread constraint".into()));
    }
    let at_least = usize::try_from(constraint.min_groups).unwrap_or(0);
    if ranked.len() < at_least {
        let message = format!(
            "the number of feasible clusters {} is less than spreadConstraint.MinGroups {at_least}",
            ranked.len()
        );
        return Err(ScheduleError::Unschedulable(message));
    }
    let at_most = usize::try_from(constraint.max_groups).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
    Ok(all().take(at_most).collect())
}

/// The whole of it, each step by its rule, so that a change of one rule changes just that.
///
/// # Errors
/// No cluster passes, or the placement cannot be met.
pub fn schedule<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    clusters: &[Arc<Cluster>],
    now: Timestamp,
) -> Result<Vec<TargetCluster>, ScheduleError> {
    let Some(placement) = &spec.placement else {
        return Err(ScheduleError::Unschedulable("the binding has no placement".into()));
    };
    let mut candidates = Vec::new();
    let mut refusals = Vec::new();
    for cluster in clusters {
        let name = cluster.name_any();
        match refusal(rules, spec, placement, cluster, now) {
            Some(reason) => refusals.push(reason),
            None => candidates.push(Candidate { score: rules.locality_score(&spec.clusters, &name), name }),
        }
    }
    if candidates.is_empty() {
        return Err(ScheduleError::Fit(fit_message(clusters.len(), refusals)));
    }
    let selected = rules.select(placement, &rules.ranked(candidates))?;
    let selected: Vec<&Cluster> = selected
        .iter()
        .filter_map(|name| clusters.iter().find(|cluster| cluster.name_any() == *name).map(AsRef::as_ref))
        .collect();
    rules.assign(spec, placement, &selected)
}

fn refusal<R: Rules + ?Sized>(
    rules: &R,
    spec: &ResourceBindingSpec,
    placement: &Placement,
    cluster: &Cluster,
    now: Timestamp,
) -> Option<String> {
    let name = &cluster.name_any();
    let is_target = spec.clusters.iter().any(|target| target.name == *name);
    rules
        .terminating_filter(cluster)
        .or_else(|| rules.affinity_filter(placement.cluster_affinity.as_ref(), cluster))
        .or_else(|| rules.taint_filter(&placement.cluster_tolerations, cluster, is_target, now))
        .or_else(|| rules.api_filter(&spec.resource, cluster, is_target))
        .or_else(|| rules.eviction_filter(&spec.graceful_eviction_tasks, name))
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
    use serde_json::{Value, json};

    use super::*;
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
            let placed = schedule(
                &Reference,
                &spec(&placement, replicas, targets, leaving),
                &clusters,
                Timestamp::UNIX_EPOCH,
            )
            .unwrap();
            let placed: Vec<_> =
                placed.iter().map(|target| (target.name.as_str(), target.replicas)).collect();
            assert_eq!(placed, expected, "{about}");
        }
    }

    #[test]
    fn too_few_clusters_is_not_the_same_as_none() {
        let run = |names: &[&str]| {
            schedule(&Reference, &spec(&two_of_four(), 2, &[], &["m1"]), &fleet(names), Timestamp::UNIX_EPOCH)
        };
        assert!(matches!(run(&["m1", "m2"]), Err(ScheduleError::Unschedulable(_))));
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
            assert_eq!(needs_scheduling(&spec, applied.as_ref()), expected, "{about}");
        }
    }
}
