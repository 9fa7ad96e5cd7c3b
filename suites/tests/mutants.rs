//! One rule of the reference made wrong at a time: the suite must notice, and point at the right guarantee.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::sync::Arc;
use std::time::Duration;

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_controllers::api::{
    AggregatedStatus, BindingSnapshot, Cluster, ClusterAffinity, ClusterAffinityTerm, ClusterTaintPolicy,
    GracefulEvictionTask, Overriders, Placement, ResourceBindingSpec, SpreadConstraint, TargetCluster,
};
use capsize_controllers::rules::{
    Candidate, Claim, Due, Heartbeat, NamePattern, ProbeRun, Ready, Refusal, Rules, ScheduleError, TaskFate,
    affinity_filter, assign, eviction_due, heartbeat, no_execute_taints, no_schedule_taints, owner,
    room_used, select, snapshot, taints_by_policies, task_fate,
};
use capsize_framework::guarantee::{Outcome, Verdict};
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

/// Fails unless `rules` fail the case called `id` and `guarantee` is violated in it.
fn is_caught(rules: impl Rules + 'static, id: &str, guarantee: &str) {
    let verdicts = fails(rules, id);
    let violated = |outcome: &Outcome| matches!(outcome, Outcome::Violated { .. });
    let violated: Vec<&str> = verdicts.iter().filter(|v| violated(&v.outcome)).map(|v| v.rule.id).collect();
    assert!(violated.contains(&guarantee), "{id} violates {violated:?}, expected {guarantee}");
}

/// Fails unless `rules` fail the case called `id`.
fn fails(rules: impl Rules + 'static, id: &str) -> Vec<Verdict> {
    let cases = conformance::cases().unwrap();
    let case = cases.iter().find(|case| case.id() == id).expect("there is such a case");
    let profile = targets::find("reference").unwrap();
    let implementation = Reference::deciding_by(Arc::new(rules));
    let outcome =
        run_case(case, Target { profile: &profile, implementation: &implementation }, Seed(1), false);
    assert_eq!(outcome.case.status, Status::Failed, "{id} does not notice");
    outcome.case.judgement.expect("a case that ran is judged").verdicts
}

#[test]
fn one_failed_probe_is_enough() {
    struct Mutant;
    impl Rules for Mutant {
        fn keeps_condition(
            &self,
            _: Option<ProbeRun>,
            _: ProbeRun,
            _: Option<bool>,
            _: Timestamp,
            _: Duration,
            _: Duration,
        ) -> bool {
            false
        }
    }
    is_caught(Mutant, "tainting/blip", "HEALTH-01");
}

#[test]
fn a_dead_member_is_not_avoided() {
    struct Mutant;
    impl Rules for Mutant {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let mut after = no_schedule_taints(ready, taints, now);
            after.retain(|taint| taints.contains(taint));
            after
        }
    }
    is_caught(Mutant, "eviction/partition", "TAINT-01");
}

#[test]
fn the_eviction_timeout_is_halved() {
    struct Mutant;
    impl Rules for Mutant {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            since: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            no_execute_taints(ready, since, timeout / 2, taints, now)
        }
    }
    is_caught(Mutant, "placement/two-of-four-candidates", "TAINT-02");
}

#[test]
fn the_taint_that_evicts_is_never_taken_away() {
    struct Mutant;
    impl Rules for Mutant {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            since: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut after = no_execute_taints(ready, since, timeout, taints, now);
            let kept = taints.iter().filter(|taint| taint.effect == "NoExecute" && !after.contains(taint));
            after.extend(kept.cloned().collect::<Vec<_>>());
            after
        }
    }
    is_caught(Mutant, "toleration/recovery-inside-the-toleration", "TAINT-04");
}

#[test]
fn tolerations_end_half_a_minute_late() {
    struct Mutant;
    impl Rules for Mutant {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> Due {
            match eviction_due(taints, tolerations) {
                Due::At(end) => Due::At(end + jiff::SignedDuration::from_secs(30)),
                due => due,
            }
        }
    }
    is_caught(Mutant, "toleration/of-its-own", "TOLERATION-01");
}

#[test]
fn tolerations_are_not_looked_at() {
    struct Mutant;
    impl Rules for Mutant {
        fn eviction_due(&self, taints: &[Taint], _: &[Toleration]) -> Due {
            if taints.iter().any(|taint| taint.effect == "NoExecute") { Due::AtOnce } else { Due::Never }
        }
    }
    is_caught(Mutant, "toleration/of-its-own", "TOLERATION-01");
}

#[test]
fn a_healthy_replacement_is_not_noticed() {
    struct Mutant;
    impl Rules for Mutant {
        fn is_replaced(&self, _: bool, _: &[TargetCluster], _: &[AggregatedStatus]) -> bool {
            false
        }
    }
    is_caught(Mutant, "placement/two-of-four-candidates", "EVICTION-01");
}

#[test]
fn the_graceful_timeout_is_halved() {
    struct Mutant;
    impl Rules for Mutant {
        fn task_fate(
            &self,
            task: &GracefulEvictionTask,
            replaced: bool,
            timeout: Duration,
            now: Timestamp,
        ) -> TaskFate {
            task_fate(task, replaced, timeout / 2, now)
        }
    }
    is_caught(Mutant, "eviction/replacement-never-ready", "EVICTION-02");
}

#[test]
fn the_old_copy_goes_before_the_new_one_is_healthy() {
    struct Mutant;
    impl Rules for Mutant {
        fn is_replaced(&self, scheduled: bool, _: &[TargetCluster], _: &[AggregatedStatus]) -> bool {
            scheduled
        }
    }
    is_caught(Mutant, "eviction/replacement-slow", "EVICTION-03");
}

#[test]
fn a_member_that_is_being_left_is_chosen_again() {
    struct Mutant;
    impl Rules for Mutant {
        fn eviction_filter(&self, _: &[GracefulEvictionTask], _: &str) -> Refusal {
            None
        }
    }
    is_caught(Mutant, "placement/not-chosen-while-leaving", "EVICTION-04");
}

#[test]
fn where_a_workload_is_does_not_count() {
    struct Mutant;
    impl Rules for Mutant {
        fn locality_score(&self, _: &[TargetCluster], _: &str) -> i64 {
            0
        }
    }
    is_caught(Mutant, "placement/two-members-in-turn", "PLACEMENT-01");
}

#[test]
fn one_member_too_many_is_chosen() {
    struct Mutant;
    impl Rules for Mutant {
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
    is_caught(Mutant, "placement/two-of-four-candidates", "PLACEMENT-02");
}

#[test]
fn regions_and_zones_are_not_looked_at() {
    struct Mutant;
    impl Rules for Mutant {
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
    fails(Mutant, "placement/spread-over-regions");
    fails(Mutant, "placement/spread-over-zones");
}

#[test]
fn members_of_no_provider_count_too() {
    struct Mutant;
    impl Rules for Mutant {
        fn spread_filter(&self, _: &[SpreadConstraint], _: &Cluster) -> Refusal {
            None
        }

        fn select(
            &self,
            placement: &Placement,
            replicas: i32,
            ranked: &[Candidate],
        ) -> Result<Vec<String>, ScheduleError> {
            // Each is a group of its own where it names none.
            let mut ranked = ranked.to_vec();
            for candidate in ranked.iter_mut().filter(|candidate| candidate.groups.is_empty()) {
                candidate.groups.push(candidate.name.clone());
            }
            select(self.behaviour().grouping, placement, replicas, &ranked)
        }
    }
    fails(Mutant, "placement/members-without-a-provider");
}

#[test]
fn all_members_have_the_same_room() {
    struct Mutant;
    impl Rules for Mutant {
        fn free_replicas(&self, _: &ResourceBindingSpec, _: &Cluster) -> i64 {
            100
        }
    }
    fails(Mutant, "placement/room-divides");
    fails(Mutant, "placement/too-little-room");
}

#[test]
fn aggregated_is_as_weighted() {
    struct Mutant;
    impl Rules for Mutant {
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
    fails(Mutant, "placement/aggregated");
}

#[test]
fn what_is_placed_is_divided_anew() {
    struct Mutant;
    impl Rules for Mutant {
        fn assign(
            &self,
            spec: &ResourceBindingSpec,
            placement: &Placement,
            tiers: &[Vec<&Cluster>],
            _: bool,
        ) -> Result<Vec<TargetCluster>, ScheduleError> {
            assign(self, spec, placement, tiers, true)
        }
    }
    fails(Mutant, "placement/room-divides");
}

#[test]
fn affinities_are_tried_from_the_first_each_time() {
    struct Mutant;
    impl Rules for Mutant {
        fn terms_to_try<'a>(&self, terms: &'a [ClusterAffinityTerm], _: &str) -> &'a [ClusterAffinityTerm] {
            terms
        }
    }
    fails(Mutant, "placement/affinity-groups");
}

#[test]
fn only_the_first_affinity_counts() {
    struct Mutant;
    impl Rules for Mutant {
        fn terms_to_try<'a>(&self, terms: &'a [ClusterAffinityTerm], _: &str) -> &'a [ClusterAffinityTerm] {
            &terms[..terms.len().min(1)]
        }
    }
    fails(Mutant, "placement/affinity-groups");
}

#[test]
fn fields_are_not_looked_at() {
    struct Mutant;
    impl Rules for Mutant {
        fn affinity_filter(&self, affinity: Option<&ClusterAffinity>, cluster: &Cluster) -> Refusal {
            let affinity =
                affinity.map(|affinity| ClusterAffinity { field_selector: None, ..affinity.clone() });
            affinity_filter(affinity.as_ref(), cluster)
        }
    }
    fails(Mutant, "placement/fields-choose");
}

#[test]
fn nothing_is_overridden() {
    struct Mutant;
    impl Rules for Mutant {
        fn override_object(&self, _: &mut Value, _: &Overriders) -> Result<(), String> {
            Ok(())
        }
    }
    fails(Mutant, "placement/overridden");
}

#[test]
fn leases_are_not_looked_at() {
    struct Mutant;
    impl Rules for Mutant {
        fn heartbeat(
            &self,
            before: Option<&Heartbeat>,
            ready: Option<&Condition>,
            _: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> Heartbeat {
            heartbeat(before, ready, None, created, now)
        }
    }
    fails(Mutant, "membership/pulled");
}

#[test]
fn silence_is_not_noticed() {
    struct Mutant;
    impl Rules for Mutant {
        fn silence(
            &self,
            _: &Heartbeat,
            _: Duration,
            _: Duration,
            _: Timestamp,
        ) -> Option<(&'static str, &'static str)> {
            None
        }
    }
    fails(Mutant, "tainting/silent-agent");
}

#[test]
fn a_silent_agent_is_waited_for() {
    struct Mutant;
    impl Rules for Mutant {
        fn abandons_works(&self, _: &Cluster) -> bool {
            false
        }
    }
    fails(Mutant, "membership/silent-member-deleted");
}

#[test]
fn a_policy_is_never_lazy() {
    struct Mutant;
    impl Rules for Mutant {
        fn activates(&self, _: &str, _: bool) -> bool {
            true
        }
    }
    fails(Mutant, "policy/lazy");
}

#[test]
fn whoever_has_the_highest_priority_takes_a_template() {
    struct Mutant;
    impl Rules for Mutant {
        fn owner<'a>(&self, claims: &'a [Claim], _: Option<(bool, &str)>) -> Option<&'a Claim> {
            owner(claims, None)
        }
    }
    fails(Mutant, "policy/taken-by-a-higher-priority");
}

#[test]
fn what_a_workload_depends_on_leaves_before_it() {
    struct Mutant;
    impl Rules for Mutant {
        fn snapshot(&self, namespace: &str, name: &str, spec: &ResourceBindingSpec) -> BindingSnapshot {
            let placed = ResourceBindingSpec { graceful_eviction_tasks: Vec::new(), ..spec.clone() };
            snapshot(namespace, name, &placed)
        }
    }
    fails(Mutant, "dependencies/stay-as-long-as-the-workload");
}

#[test]
fn policies_never_take_taints_away() {
    struct Mutant;
    impl Rules for Mutant {
        fn taints_by_policies(
            &self,
            policies: &[&ClusterTaintPolicy],
            cluster: &Cluster,
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut taints = cluster.spec.taints.clone();
            let after = taints_by_policies(policies, cluster, now);
            taints.extend(after.into_iter().filter(|taint| !cluster.spec.taints.contains(taint)));
            taints
        }
    }
    fails(Mutant, "tainting/by-a-policy");
}

#[test]
fn every_namespace_is_synced() {
    struct Mutant;
    impl Rules for Mutant {
        fn is_synced(&self, _: &Namespace, _: &[NamePattern]) -> bool {
            true
        }
    }
    fails(Mutant, "namespaces/everywhere");
}
