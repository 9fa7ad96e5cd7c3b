//! The result of scheduling a binding: filter, score, select, assign. `trigger` decides when.
//!
//! karmada-io/karmada `pkg/scheduler/scheduler.go`, `core/generic_scheduler.go`, `helper.go`, of v1.5.0 and v1.18.2.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;

use super::assign::Selection;
use super::select::{Candidate, grouping_field};
use crate::api::{
    BindingStatus, Cluster, ClusterAffinity, ClusterAffinityTerm, Placement, ReplicaScheduling,
    ResourceBindingSpec, TargetCluster,
};
use crate::{
    AffinityClusters, Behaviour, Rules, field_values, is_reschedule_requested, is_set, with_room_for_a_set,
};

/// The reason why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// No cluster passes the filters. The present targets are removed.
    #[error("{0}")]
    Fit(String),
    /// Some clusters pass, but they have too little room. The present targets stay.
    #[error("{0}")]
    Unschedulable(String),
    /// Some clusters pass, but not as the placement requires. The present targets stay.
    #[error("{0}")]
    Failed(String),
}

/// The input of scheduling beside the binding.
#[derive(Clone, Debug)]
pub struct SchedulingInput<'a> {
    /// All clusters.
    pub clusters: &'a [Arc<Cluster>],
    /// The clusters of the other workloads of its affinity groups.
    pub affinity_clusters: AffinityClusters,
    /// The present time.
    pub now: Timestamp,
}

/// The result of scheduling a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The clusters, with their replicas.
    pub targets: Vec<TargetCluster>,
    /// The name of the affinity that was used of several; empty if there is only one.
    pub affinity: String,
}

/// Whether each cluster gets all replicas, which is the default.
#[must_use]
pub fn is_duplicated(placement: &Placement) -> bool {
    placement
        .replica_scheduling
        .as_ref()
        .is_none_or(|scheduling| scheduling.replica_scheduling_type == "Duplicated")
}

/// Whether replicas are divided over as few clusters as possible.
#[must_use]
pub fn is_aggregated(placement: &Placement) -> bool {
    let scheduling = placement.replica_scheduling.as_ref();
    scheduling.is_some_and(|scheduling| scheduling.replica_division_preference == "Aggregated")
}

/// Whether replicas are divided by the free room of clusters.
#[must_use]
pub fn is_divided_by_room(scheduling: &ReplicaScheduling) -> bool {
    scheduling.replica_scheduling_type == "Divided" && !is_static_weighted(scheduling)
}

/// Whether replicas are divided by static weights, which are equal if the policy gives none.
#[must_use]
pub fn is_static_weighted(scheduling: &ReplicaScheduling) -> bool {
    let weighted = matches!(scheduling.replica_division_preference.as_str(), "" | "Weighted");
    scheduling.replica_scheduling_type == "Divided"
        && weighted
        && scheduling.weight_preference.as_ref().is_none_or(|weights| weights.dynamic_weight.is_empty())
}

/// Schedules a binding.
/// Each step is a rule of its own, so that it can be replaced alone. Of several affinities, the one in use is tried
/// first, then those after it. An earlier one is not tried again (#4990), unless the placement no longer contains the
/// one in use, or a placement from scratch was requested (as from 1.19, #5425).
///
/// # Errors
/// No cluster passes, or the placement cannot be met. Of several affinities, it is the error of the first one tried.
pub fn schedule(
    rules: &dyn Rules,
    spec: &ResourceBindingSpec,
    status: &BindingStatus,
    input: &SchedulingInput<'_>,
) -> Result<Schedule, ScheduleError> {
    let Some(placement) = &spec.placement else {
        return Err(ScheduleError::Failed("the binding has no placement".into()));
    };
    let fresh = is_reschedule_requested(spec, status);
    let by = |tiers| Attempt { rules, spec, placement, tiers, input }.targets(fresh);
    let from_the_first = fresh && rules.behaviour().rebalances_from_the_first;
    let in_use = if from_the_first { "" } else { &status.scheduler_observed_affinity_name };
    let terms = rules.terms_to_try(&placement.cluster_affinities, in_use);
    let mut first = None;
    for term in terms {
        let overflow = term.overflow_affinities.iter().filter(|_| is_workload(spec));
        let overflow = overflow.map(|overflow| &overflow.affinity);
        match by(std::iter::once(&term.affinity).chain(overflow).collect()) {
            Ok(targets) => return Ok(Schedule { targets, affinity: term.affinity_name.clone() }),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    match first {
        Some(error) => Err(error),
        None => by(placement.cluster_affinity.iter().collect())
            .map(|targets| Schedule { targets, ..Schedule::default() }),
    }
}

/// Whether the object runs pods, possibly none at present.
/// The overflow affinities of an object that runs none do not count (`ClusterAffinity` of
/// `pkg/scheduler/framework/plugins/clusteraffinity`, `IsWorkload`; as from 1.18).
fn is_workload(spec: &ResourceBindingSpec) -> bool {
    spec.replicas > 0 || spec.replica_requirements.is_some() || !spec.components.is_empty()
}

/// Returns the affinities from the one in use on; all of them if none is in use or it no longer exists.
#[must_use]
pub fn terms_to_try<'a>(terms: &'a [ClusterAffinityTerm], in_use: &str) -> &'a [ClusterAffinityTerm] {
    let begin = terms.iter().position(|term| term.affinity_name == in_use).unwrap_or(0);
    &terms[begin..]
}

/// An attempt with one affinity and its overflow affinities.
struct Attempt<'a> {
    rules: &'a dyn Rules,
    spec: &'a ResourceBindingSpec,
    placement: &'a Placement,
    /// The preferred affinity, then those for the replicas that overflow it; empty: any cluster.
    tiers: Vec<&'a ClusterAffinity>,
    input: &'a SchedulingInput<'a>,
}

impl Attempt<'_> {
    fn targets(&self, fresh: bool) -> Result<Vec<TargetCluster>, ScheduleError> {
        let mut candidates = Vec::new();
        let mut accepted: BTreeMap<&str, (usize, &Cluster)> = BTreeMap::new();
        for cluster in self.input.clusters {
            if let Ok(tier) = self.tier(cluster) {
                accepted.insert(name_of(cluster), (tier, cluster));
                candidates.push(self.candidate(cluster, tier));
            }
        }
        if candidates.is_empty() {
            // In a large fleet most clusters are refused, so the reasons are collected only if they are reported.
            let refusals =
                self.input.clusters.iter().filter_map(|cluster| self.tier(cluster).err()).collect();
            return Err(ScheduleError::Fit(fit_message(self.input.clusters.len(), refusals)));
        }
        let (candidates, needed) = if is_set(self.spec) {
            (with_room_for_a_set(candidates)?, 1)
        } else {
            (candidates, self.spec.replicas)
        };
        let ranked = self.rules.ranked(candidates, self.rules.behaviour().ranks_by_room);
        let names = self.rules.select(self.placement, needed, &ranked)?;
        let mut selected: BTreeMap<usize, Vec<&Cluster>> = BTreeMap::new();
        for (tier, cluster) in names.iter().filter_map(|name| accepted.get(name.as_str())) {
            selected.entry(*tier).or_default().push(cluster);
        }
        let tiers: Vec<_> = selected.into_values().collect();
        self.rules.assign(&Selection { spec: self.spec, placement: self.placement, tiers: &tiers, fresh })
    }

    /// Returns the tier of a cluster.
    ///
    /// # Errors
    /// The reason why the cluster may not be chosen.
    fn tier(&self, cluster: &Cluster) -> Result<usize, Cow<'static, str>> {
        let (rules, spec, name) = (self.rules, self.spec, name_of(cluster));
        let is_target = spec.clusters.iter().any(|target| target.name == name);
        let refusal = rules.terminating_filter(cluster, is_target);
        let tier = refusal.map_or_else(|| self.tier_by_affinity(cluster), Err)?;
        let affinity_clusters = &self.input.affinity_clusters;
        let tolerations = &self.placement.cluster_tolerations;
        rules
            .taint_filter(tolerations, cluster, is_target, self.input.now)
            .or_else(|| rules.api_filter(&spec.resource, cluster, is_target))
            .or_else(|| rules.spread_filter(&self.placement.spread_constraints, cluster))
            .or_else(|| rules.eviction_filter(&spec.graceful_eviction_tasks, name))
            .or_else(|| rules.workload_affinity_filter(affinity_clusters, name, is_target))
            .or_else(|| rules.workload_anti_affinity_filter(affinity_clusters, name, is_target))
            .map_or(Ok(tier), Err)
    }

    fn tier_by_affinity(&self, cluster: &Cluster) -> Result<usize, Cow<'static, str>> {
        let refusal = |affinity| self.rules.affinity_filter(affinity, cluster);
        let Some(reason) = refusal(self.tiers.first().copied()) else { return Ok(0) };
        let overflow = self.tiers.iter().skip(1).position(|tier| refusal(Some(tier)).is_none());
        overflow.map(|tier| tier + 1).ok_or(reason)
    }

    /// Returns a cluster with the values that rank it.
    /// Its room is its present share of the workload plus the free room.
    fn candidate(&self, cluster: &Cluster, tier: usize) -> Candidate {
        let (spec, name) = (self.spec, cluster.name_any());
        let own = spec.clusters.iter().find(|target| target.name == name);
        let room = if is_set(spec) {
            self.rules.free_sets(spec, cluster).saturating_add(own.map_or(0, |_| 1))
        } else {
            let own = own.map_or(0, |target| i64::from(target.replicas));
            self.rules.free_replicas(spec, cluster).saturating_add(own)
        };
        let groups = grouping_field(self.placement).map(|field| field_values(cluster, field));
        Candidate {
            tier,
            score: self.rules.locality_score(&spec.clusters, &name),
            room,
            groups: groups.unwrap_or_default().into_iter().map(str::to_owned).collect(),
            name,
        }
    }
}

fn name_of(cluster: &Cluster) -> &str {
    cluster.metadata.name.as_deref().unwrap_or_default()
}

/// Returns reason and message of the condition `Scheduled` for a result.
#[must_use]
pub fn scheduled_condition(behaviour: Behaviour, error: Option<&ScheduleError>) -> (&'static str, String) {
    let reason = match error {
        None if behaviour.specific_reasons => "Success",
        Some(ScheduleError::Fit(_)) if behaviour.specific_reasons => "NoClusterFit",
        Some(ScheduleError::Unschedulable(_)) if behaviour.specific_reasons => "Unschedulable",
        Some(ScheduleError::Failed(_)) if behaviour.specific_reasons => "SchedulerError",
        None => "BindingScheduled",
        Some(_) => "BindingFailedScheduling",
    };
    let success = || {
        if behaviour.specific_reasons {
            "Binding has been scheduled successfully."
        } else {
            "Binding has been scheduled"
        }
    };
    (reason, error.map_or_else(|| success().into(), ToString::to_string))
}

/// `0/4 clusters are available: 1 …, 3 ….`, with the reasons in order.
fn fit_message(clusters: usize, mut refusals: Vec<Cow<'static, str>>) -> String {
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
    use crate::ReferenceRules;
    use crate::scheduling::samples::{binding, one_to_two, shown, terms, two_of_four};
    use crate::test_values::from_json;

    fn fleet(names: &[&str]) -> Vec<Arc<Cluster>> {
        let member = |name: &&str| {
            let mut cluster = Cluster::new(name, Default::default());
            cluster.status = from_json(json!({"apiEnablements": [
                {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
            ]}));
            Arc::new(cluster)
        };
        names.iter().map(member).collect()
    }

    fn input(clusters: &[Arc<Cluster>]) -> SchedulingInput<'_> {
        SchedulingInput {
            clusters,
            affinity_clusters: AffinityClusters::default(),
            now: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn the_worked_examples_come_out_as_described() {
        type Case<'a> = (&'a str, Value, i32, &'a str, &'a [&'a str], &'a str);
        let cases: [Case<'_>; 7] = [
            ("two of four, at first", two_of_four(), 2, "", &[], "m1:2 m2:2"),
            ("m2 fails", two_of_four(), 2, "m1:2", &["m2"], "m1:2 m3:2"),
            ("m1 fails", two_of_four(), 2, "m2:2", &["m1"], "m2:2 m3:2"),
            ("the survivor stays, whatever its name", two_of_four(), 2, "m5:2", &["m1"], "m5:2 m2:2"),
            ("one to two, at first", one_to_two(), 3, "", &[], "m2:2 m1:1"),
            ("m1 fails, m2 takes all", one_to_two(), 3, "m2:2", &["m1"], "m2:3"),
            ("no replicas, no numbers", two_of_four(), 0, "", &[], "m1:0 m2:0"),
        ];
        for (about, placement, replicas, targets, leaving, expected) in cases {
            let clusters = fleet(&["m1", "m2", "m3", "m4", "m5"]);
            let spec = binding(&placement, replicas, targets, leaving);
            let placed =
                schedule(&ReferenceRules, &spec, &BindingStatus::default(), &input(&clusters)).unwrap();
            assert_eq!(shown(&placed.targets), expected, "{about}");
        }
    }

    #[test]
    fn too_few_clusters_is_not_the_same_as_none() {
        let run = |names: &[&str]| {
            let spec = binding(&two_of_four(), 2, "", &["m1"]);
            schedule(&ReferenceRules, &spec, &BindingStatus::default(), &input(&fleet(names)))
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
    fn a_taint_keeps_newcomers_away_and_drives_nobody_out() {
        let mut clusters = fleet(&["m1", "m2", "m3"]);
        for cluster in &mut clusters[..2] {
            let taint = from_json(json!({"key": "k", "effect": "NoSchedule"}));
            Arc::make_mut(cluster).spec.taints = vec![taint];
        }
        let spec = binding(&two_of_four(), 2, "m1:2", &[]);
        let placed = schedule(&ReferenceRules, &spec, &BindingStatus::default(), &input(&clusters)).unwrap();
        assert_eq!(shown(&placed.targets), "m1:2 m3:2");
    }

    #[test]
    fn the_condition_says_why_where_the_release_does() {
        let errors = [ScheduleError::Fit, ScheduleError::Unschedulable, ScheduleError::Failed]
            .map(|of| of("why".into()));
        let reasons = |release: &str| {
            let outcomes = [None].into_iter().chain(errors.iter().map(Some));
            outcomes.map(|error| scheduled_condition(Behaviour::of(release), error).0).collect::<Vec<_>>()
        };
        let failed = "BindingFailedScheduling";
        assert_eq!(reasons("1.5"), ["BindingScheduled", failed, failed, failed]);
        assert_eq!(reasons("1.7"), ["Success", "NoClusterFit", "Unschedulable", "SchedulerError"]);
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
            let spec = binding(&placement, 1, "", &[]);
            let placed = schedule(&ReferenceRules, &spec, &status, &input(&fleet(names)));
            let placed =
                placed.as_ref().map(|placed| (placed.affinity.as_str(), placed.targets[0].name.as_str()));
            assert_eq!(placed.map_err(drop), expected, "{about}");
        }
    }

    #[test]
    fn what_the_preferred_clusters_have_no_room_for_flows_over() {
        let term = |name: &str, cluster: &str| json!({"affinityName": name, "clusterNames": [cluster]});
        let mut preferred = term("own", "m3");
        preferred["overflowAffinities"] = json!([term("rented", "m2"), term("dear", "m1")]);
        let placement = json!({"clusterAffinities": [preferred], "replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
        let mut clusters = fleet(&["m1", "m2", "m3"]);
        for (cluster, pods) in clusters.iter_mut().zip(["9", "2", "3"]) {
            let status = Arc::get_mut(cluster).unwrap().status.as_mut().unwrap();
            status.resource_summary = from_json(json!({"allocatable": {"pods": pods}}));
        }
        let cases = [
            (3, "m3:3"),
            (5, "m3:3 m2:2"),
            (6, "m3:3 m2:2 m1:1"),
            // An object without replicas needs no room, so that nothing of it flows over.
            (0, "m3:0"),
        ];
        for (replicas, expected) in cases {
            let spec = binding(&placement, replicas, "", &[]);
            let placed =
                schedule(&ReferenceRules, &spec, &BindingStatus::default(), &input(&clusters)).unwrap();
            assert_eq!((placed.affinity.as_str(), shown(&placed.targets).as_str()), ("own", expected));
        }
    }

    #[test]
    fn neighbours_keep_a_workload_away_or_draw_it_near() {
        let spec = binding(&two_of_four(), 2, "", &[]);
        let clusters = fleet(&["m1", "m2", "m3", "m5"]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let affinity_clusters =
            AffinityClusters { together: vec![names(&["m2", "m3", "m5"])], apart: names(&["m3"]) };
        let input = SchedulingInput { affinity_clusters, ..input(&clusters) };
        let placed = schedule(&ReferenceRules, &spec, &BindingStatus::default(), &input).unwrap();
        assert_eq!(shown(&placed.targets), "m2:2 m5:2");
    }

    #[test]
    fn the_condition_reports_as_the_release_does() {
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
