//! Wrong rules about where a workload goes, and how many replicas of it.

use std::sync::Arc;

use capsize_rules::api::{
    BindingStatus, Cluster, ClusterAffinity, ClusterAffinityTerm, GracefulEvictionTask, ObjectReference,
    Placement, ResourceBindingSpec, SpreadConstraint, StaticWeight, TargetCluster,
};
use capsize_rules::{
    Candidate, LostTargets, Refusal, Rules, ScheduleError, Selection, affinity_filter, assign, ranked,
    room_used, select, static_weights,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Toleration;

mutants! {
    a_member_that_is_being_left_is_chosen_again("placement/not-chosen-while-leaving", "EVICTION-04") {
        fn eviction_filter(&self, _: &[GracefulEvictionTask], _: &str) -> Refusal {
            None
        }
    }

    the_present_members_do_not_count("placement/two-members-in-turn", "PLACEMENT-01") {
        fn locality_score(&self, _: &[TargetCluster], _: &str) -> i64 {
            0
        }
    }

    one_member_too_many_is_chosen("placement/two-of-four-candidates", "PLACEMENT-02") {
        fn select(
            &self,
            placement: &Placement,
            replicas: i32,
            ranked: &[Candidate],
        ) -> Result<Vec<String>, ScheduleError> {
            let mut selected = select(self.behaviour().grouping, placement, replicas, ranked)?;
            selected.extend(ranked.get(selected.len()).map(|candidate| candidate.name.clone()));
            Ok(selected)
        }
    }

    regions_and_zones_are_not_looked_at("placement/spread-over-regions", "PLACEMENT-10") {
        fn select(
            &self,
            placement: &Placement,
            replicas: i32,
            ranked: &[Candidate],
        ) -> Result<Vec<String>, ScheduleError> {
            let mut placement = placement.clone();
            placement.spread_constraints.retain(|constraint| constraint.spread_by_field == "cluster");
            select(self.behaviour().grouping, &placement, replicas, ranked)
        }
    }

    members_of_no_provider_count_too("placement/members-without-a-provider", "PLACEMENT-10") {
        fn spread_filter(&self, _: &[SpreadConstraint], _: &Cluster) -> Refusal {
            None
        }

        fn select(
            &self,
            placement: &Placement,
            replicas: i32,
            ranked: &[Candidate],
        ) -> Result<Vec<String>, ScheduleError> {
            // A member without a provider is a group of its own.
            let mut ranked = ranked.to_vec();
            for candidate in ranked.iter_mut().filter(|candidate| candidate.groups.is_empty()) {
                candidate.groups.push(candidate.name.clone());
            }
            select(self.behaviour().grouping, placement, replicas, &ranked)
        }
    }

    all_members_have_the_same_room("placement/room-divides", "REPLICAS-12") {
        fn free_replicas(&self, _: &ResourceBindingSpec, _: &Cluster) -> i64 {
            100
        }
    }

    aggregated_is_as_weighted("placement/aggregated", "REPLICAS-11") {
        fn room_used(
            &self,
            replicas: i32,
            room: Vec<(String, i64)>,
            _: bool,
            used: &[TargetCluster],
        ) -> Result<Vec<(String, i64)>, ScheduleError> {
            room_used(replicas, room, false, used)
        }
    }

    every_division_is_fresh("placement/room-divides", "REPLICAS-12") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            assign(self, &Selection { fresh: true, ..*selection })
        }
    }

    affinities_are_tried_from_the_first_each_time("placement/affinity-groups", "PLACEMENT-09") {
        fn terms_to_try<'a>(&self, terms: &'a [ClusterAffinityTerm], _: &str) -> &'a [ClusterAffinityTerm] {
            terms
        }
    }

    only_the_first_affinity_counts("placement/affinity-groups", "PLACEMENT-14") {
        fn terms_to_try<'a>(&self, terms: &'a [ClusterAffinityTerm], _: &str) -> &'a [ClusterAffinityTerm] {
            &terms[..terms.len().min(1)]
        }
    }

    fields_are_not_looked_at("placement/fields-choose", "PLACEMENT-04") {
        fn affinity_filter(&self, affinity: Option<&ClusterAffinity>, cluster: &Cluster) -> Refusal {
            let affinity =
                affinity.map(|affinity| ClusterAffinity { field_selector: None, ..affinity.clone() });
            affinity_filter(self.behaviour().zones, affinity.as_ref(), cluster)
        }
    }

    one_member_too_few_is_chosen("placement/two-of-four-candidates", "PLACEMENT-02") {
        fn select(
            &self,
            placement: &Placement,
            replicas: i32,
            ranked: &[Candidate],
        ) -> Result<Vec<String>, ScheduleError> {
            let mut selected = select(self.behaviour().grouping, placement, replicas, ranked)?;
            selected.pop();
            Ok(selected)
        }
    }

    a_replica_is_lost("placement/divided-moves-to-the-survivor", "REPLICAS-03") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut targets = assign(self, selection)?;
            if let Some(most) = targets.iter_mut().max_by_key(|target| target.replicas) {
                most.replicas -= i32::from(most.replicas > 1);
            }
            Ok(targets)
        }
    }

    duplicated_replicas_are_one_too_few("placement/two-of-four-candidates", "REPLICAS-02") {
        fn assign(&self, selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError> {
            let mut fewer = selection.spec.clone();
            fewer.replicas -= i32::from(fewer.replicas > 1);
            assign(self, &Selection { spec: &fewer, ..*selection })
        }
    }

    a_tainted_member_is_chosen("placement/lost-member-not-chosen", "PLACEMENT-03") {
        fn taint_filter(&self, _: &[Toleration], _: &Cluster, _: bool, _: Timestamp) -> Refusal {
            None
        }
    }

    affinities_are_not_looked_at("dependencies/come-and-go", "PLACEMENT-07") {
        fn affinity_filter(&self, _: Option<&ClusterAffinity>, _: &Cluster) -> Refusal {
            None
        }
    }

    served_kinds_are_not_looked_at("placement/only-where-the-kind-is-served", "PLACEMENT-05") {
        fn api_filter(&self, _: &ObjectReference, _: &Cluster, _: bool) -> Refusal {
            None
        }
    }

    weights_are_equal("placement/divided-moves-to-the-survivor", "REPLICAS-06") {
        fn static_weights(&self, list: &[StaticWeight], clusters: &[&Cluster]) -> Vec<(String, i64)> {
            let weights = static_weights(self.behaviour().zones, list, clusters);
            weights.into_iter().map(|(cluster, _)| (cluster, 1)).collect()
        }
    }

    evicted_workloads_are_not_placed_again("eviction/partition", "PLACEMENT-08") {
        fn needs_scheduling(
            &self,
            spec: &ResourceBindingSpec,
            _: &BindingStatus,
            _: Option<&Placement>,
            _: LostTargets,
        ) -> bool {
            spec.clusters.is_empty() && spec.graceful_eviction_tasks.is_empty()
        }
    }

    the_last_by_name_is_the_first_choice("application/cluster-scoped", "PLACEMENT-12") {
        fn ranked(&self, candidates: Vec<Candidate>, by_room: bool) -> Vec<Candidate> {
            let mut ranked = ranked(candidates, by_room);
            ranked.reverse();
            ranked
        }
    }
}
