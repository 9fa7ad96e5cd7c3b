//! The rules as one trait. Each default method is the function of the same name; see there for what it says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Taint, Toleration};
use serde_json::{Map, Value};

use super::{
    Behaviour, Candidate, Claim, Due, Match, OverridePolicyRef, Probe, ProbeRun, Readiness, Ready, Refusal,
    Schedule, ScheduleError, TaskFate,
};
use crate::api::{
    AggregatedStatus, BindingStatus, Cluster, ClusterAffinity, ClusterAffinityTerm, GracefulEvictionTask,
    Health, ObjectReference, OverridePolicySpec, Overriders, Placement, ReplicaRequirements,
    ResourceBindingSpec, ResourceSelector, SpreadConstraint, StaticWeight, TargetCluster, Work,
};

/// The rules as they should be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl Rules for Reference {}

/// All judgements that the controllers make. Override one to see what it is good for.
#[expect(missing_docs, reason = "each method is the function of the same name, which says what it does")]
pub trait Rules: Send + Sync {
    /// What is as in another release. Not a rule: the rules ask for it.
    fn behaviour(&self) -> Behaviour {
        Behaviour::default()
    }

    fn readiness(&self, probe: Probe) -> Readiness {
        super::readiness(probe)
    }

    fn probe_run(&self, before: Option<ProbeRun>, ready: bool, now: Timestamp) -> ProbeRun {
        super::probe_run(before, ready, now)
    }

    fn keeps_condition(
        &self,
        before: Option<ProbeRun>,
        run: ProbeRun,
        current: Option<bool>,
        now: Timestamp,
        success_threshold: Duration,
        failure_threshold: Duration,
    ) -> bool {
        super::keeps_condition(before, run, current, now, success_threshold, failure_threshold)
    }

    fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
        super::no_schedule_taints(ready, taints, now)
    }

    fn no_execute_taints(
        &self,
        ready: Ready<'_>,
        since: Timestamp,
        timeout: Duration,
        taints: &[Taint],
        now: Timestamp,
    ) -> Vec<Taint> {
        super::no_execute_taints(ready, since, timeout, taints, now)
    }

    fn terminating_taints(&self, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
        super::terminating_taints(taints, now)
    }

    fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> Due {
        super::eviction_due(taints, tolerations)
    }

    fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str) -> bool {
        super::evict(spec, cluster)
    }

    fn task_fate(
        &self,
        task: &GracefulEvictionTask,
        replaced: bool,
        timeout: Duration,
        now: Timestamp,
    ) -> TaskFate {
        super::task_fate(task, replaced, timeout, now)
    }

    fn is_replaced(&self, scheduled: bool, targets: &[TargetCluster], reports: &[AggregatedStatus]) -> bool {
        super::is_replaced(scheduled, targets, reports)
    }

    fn selects(
        &self,
        selectors: &[ResourceSelector],
        policy_namespace: Option<&str>,
        template: &Value,
    ) -> Option<Match> {
        super::selects(selectors, policy_namespace, template)
    }

    fn owner<'a>(&self, claims: &'a [Claim], claimed: Option<(bool, &str)>) -> Option<&'a Claim> {
        super::owner(claims, claimed)
    }

    fn default_tolerations(
        &self,
        given: &[Toleration],
        not_ready: Duration,
        unreachable: Duration,
    ) -> Vec<Toleration> {
        super::default_tolerations(given, not_ready, unreachable)
    }

    fn default_placement(&self, placement: &mut Placement) {
        super::default_placement(placement);
    }

    /// # Errors
    /// See [`super::validate_placement`].
    fn validate_placement(&self, placement: &Placement) -> Result<(), String> {
        super::validate_placement(placement)
    }

    fn needs_scheduling(
        &self,
        spec: &ResourceBindingSpec,
        status: &BindingStatus,
        applied: Option<&Placement>,
    ) -> bool {
        super::needs_scheduling(spec, status, applied)
    }

    /// # Errors
    /// See [`super::schedule`].
    fn schedule(
        &self,
        spec: &ResourceBindingSpec,
        status: &BindingStatus,
        clusters: &[Arc<Cluster>],
        now: Timestamp,
    ) -> Result<Schedule, ScheduleError> {
        super::schedule(self, spec, status, clusters, now)
    }

    fn terms_to_try<'a>(&self, terms: &'a [ClusterAffinityTerm], in_use: &str) -> &'a [ClusterAffinityTerm] {
        super::terms_to_try(terms, in_use)
    }

    fn scheduled_condition(&self, error: Option<&ScheduleError>) -> (&'static str, String) {
        super::scheduled_condition(self.behaviour(), error)
    }

    fn affinity_filter(&self, affinity: Option<&ClusterAffinity>, cluster: &Cluster) -> Refusal {
        super::affinity_filter(affinity, cluster)
    }

    fn taint_filter(
        &self,
        tolerations: &[Toleration],
        cluster: &Cluster,
        is_target: bool,
        now: Timestamp,
    ) -> Refusal {
        super::taint_filter(tolerations, cluster, is_target, now)
    }

    fn api_filter(&self, resource: &ObjectReference, cluster: &Cluster, is_target: bool) -> Refusal {
        super::api_filter(resource, cluster, is_target)
    }

    fn eviction_filter(&self, tasks: &[GracefulEvictionTask], cluster: &str) -> Refusal {
        super::eviction_filter(tasks, cluster)
    }

    fn spread_filter(&self, constraints: &[SpreadConstraint], cluster: &Cluster) -> Refusal {
        super::spread_filter(constraints, cluster)
    }

    fn terminating_filter(&self, cluster: &Cluster) -> Refusal {
        super::terminating_filter(cluster)
    }

    fn locality_score(&self, targets: &[TargetCluster], cluster: &str) -> i64 {
        super::locality_score(targets, cluster)
    }

    fn free_replicas(&self, spec: &ResourceBindingSpec, cluster: &Cluster) -> i64 {
        super::free_replicas(spec, cluster)
    }

    fn ranked(&self, candidates: Vec<Candidate>, by_room: bool) -> Vec<Candidate> {
        super::ranked(candidates, by_room)
    }

    /// # Errors
    /// See [`super::select`].
    fn select(
        &self,
        placement: &Placement,
        replicas: i32,
        ranked: &[Candidate],
    ) -> Result<Vec<String>, ScheduleError> {
        super::select(placement, replicas, ranked)
    }

    /// # Errors
    /// See [`super::assign`].
    fn assign(
        &self,
        spec: &ResourceBindingSpec,
        placement: &Placement,
        selected: &[&Cluster],
        fresh: bool,
    ) -> Result<Vec<TargetCluster>, ScheduleError> {
        super::assign(self, spec, placement, selected, fresh)
    }

    /// # Errors
    /// See [`super::room_used`].
    fn room_used(
        &self,
        replicas: i32,
        room: Vec<(String, i64)>,
        aggregated: bool,
        used: &[TargetCluster],
    ) -> Result<Vec<(String, i64)>, ScheduleError> {
        super::room_used(replicas, room, aggregated, used)
    }

    fn static_weights(&self, list: &[StaticWeight], clusters: &[&Cluster]) -> Vec<(String, i64)> {
        super::static_weights(list, clusters)
    }

    fn divide(&self, replicas: i32, weights: Vec<(String, i64)>, template_uid: &str) -> Vec<TargetCluster> {
        super::divide(self.behaviour().division, replicas, weights, template_uid)
    }

    fn carriers<'a>(&self, spec: &'a ResourceBindingSpec) -> BTreeSet<&'a str> {
        super::carriers(spec)
    }

    fn overrides_for<'a>(
        &self,
        policies: &[OverridePolicyRef<'a>],
        object: &Value,
        cluster: &Cluster,
    ) -> Vec<(&'a str, &'a Overriders)> {
        super::overrides_for(policies, object, cluster)
    }

    /// # Errors
    /// See [`super::override_object`].
    fn override_object(&self, object: &mut Value, overriders: &Overriders) -> Result<(), String> {
        super::override_object(object, overriders)
    }

    /// # Errors
    /// See [`super::validate_overrides`].
    fn validate_overrides(&self, spec: &OverridePolicySpec) -> Result<(), String> {
        super::validate_overrides(spec)
    }

    /// # Errors
    /// See [`super::manifest`].
    fn manifest(
        &self,
        template: &Value,
        binding: (&str, &str),
        target: &TargetCluster,
        overriders: &[&Overriders],
    ) -> Result<Map<String, Value>, String> {
        super::manifest(self, template, binding, target, overriders)
    }

    fn replica_requirements(&self, kind: &str, template: &Value) -> Option<ReplicaRequirements> {
        super::replica_requirements(kind, template)
    }

    fn template_replicas(&self, kind: &str, template: &Value) -> i32 {
        super::template_replicas(kind, template)
    }

    fn covers(&self, present: &Value, wanted: &Value) -> bool {
        super::covers(present, wanted)
    }

    fn belongs_to_work(&self, object: &Value, work_namespace: &str, work_name: &str) -> bool {
        super::belongs_to_work(object, work_namespace, work_name)
    }

    fn reflected_status(&self, kind: &str, object: &Value) -> Option<Map<String, Value>> {
        super::reflected_status(kind, object)
    }

    fn health(&self, kind: &str, object: &Value) -> Health {
        super::health(kind, object)
    }

    fn aggregated_status(&self, works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
        super::aggregated_status(works)
    }

    fn fully_applied(&self, carriers: &BTreeSet<&str>, reports: &[AggregatedStatus]) -> bool {
        super::fully_applied(carriers, reports)
    }

    fn template_status(
        &self,
        kind: &str,
        generation: i64,
        reports: &[AggregatedStatus],
    ) -> Option<Map<String, Value>> {
        super::template_status(kind, generation, reports)
    }
}
