//! The rules as one trait. Each default method is the function of the same name; see there for what it says. Where a
//! release does without, it leaves things as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Namespace, Taint, Toleration};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList, Condition};
use kube::api::DynamicObject;
use serde_json::{Map, Value};

// Every type of the rules and of their objects is named here.
use super::*;
use crate::api::*;

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

    fn complete_apis(&self, found: usize, whole: bool) -> (bool, &'static str, String) {
        super::complete_apis(found, whole)
    }

    fn heartbeat(
        &self,
        before: Option<&Heartbeat>,
        ready: Option<&Condition>,
        renewed: Option<Timestamp>,
        created: Timestamp,
        now: Timestamp,
    ) -> Heartbeat {
        super::heartbeat(before, ready, renewed, created, now)
    }

    fn silence(
        &self,
        heartbeat: &Heartbeat,
        grace: Duration,
        startup_grace: Duration,
        now: Timestamp,
    ) -> Option<(&'static str, &'static str)> {
        super::silence(heartbeat, grace, startup_grace, now)
    }

    fn not_ready_since(&self, heartbeat: &Heartbeat) -> Timestamp {
        super::not_ready_since(heartbeat)
    }

    fn abandons_works(&self, cluster: &Cluster) -> bool {
        super::abandons_works(cluster)
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
        if !self.behaviour().taints_by_itself {
            return taints.to_vec();
        }
        super::no_execute_taints(ready, since, timeout, taints, now)
    }

    fn terminating_taints(&self, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
        match self.behaviour().removal {
            Removal::Tainting => super::terminating_taints(taints, now),
            Removal::Scheduling => taints.to_vec(),
        }
    }

    fn taints_by_policies(
        &self,
        policies: &[&ClusterTaintPolicy],
        cluster: &Cluster,
        now: Timestamp,
    ) -> Vec<Taint> {
        super::taints_by_policies(policies, cluster, now)
    }

    fn validate_taint_policy(
        &self,
        spec: &ClusterTaintPolicySpec,
        no_execute_allowed: bool,
    ) -> Result<(), String> {
        super::validate_taint_policy(spec, no_execute_allowed)
    }

    fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> Due {
        super::eviction_due(taints, tolerations)
    }

    fn eviction_pause(&self, rate: Option<f64>) -> Duration {
        super::eviction_pause(rate)
    }

    fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
        super::evict(spec, cluster, task)
    }

    fn taint_task(
        &self,
        failover: Option<&ClusterFailover>,
        flag: Option<PurgeMode>,
        before: &[TargetCluster],
        report: Option<&AggregatedStatus>,
    ) -> Result<GracefulEvictionTask, String> {
        super::taint_task(failover, flag, before, report)
    }

    fn application_failover<'a>(
        &self,
        spec: &'a ResourceBindingSpec,
        has_health: bool,
    ) -> Option<&'a ApplicationFailover> {
        super::application_failover(spec, has_health)
    }

    fn unhealthy_since(
        &self,
        before: &UnhealthySince,
        spec: &ResourceBindingSpec,
        reports: &[AggregatedStatus],
        now: Timestamp,
    ) -> UnhealthySince {
        super::unhealthy_since(before, spec, reports, now)
    }

    fn tolerated_until(&self, failover: &ApplicationFailover, since: Timestamp) -> Timestamp {
        super::tolerated_until(failover, since)
    }

    fn application_task(
        &self,
        failover: &ApplicationFailover,
        producer: &str,
        before: &[TargetCluster],
        report: Option<&AggregatedStatus>,
    ) -> Result<GracefulEvictionTask, String> {
        super::application_task(failover, producer, before, report)
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

    fn claim_marks(&self, owner: Option<&Owner>) -> Value {
        super::claim_marks(self.behaviour(), owner)
    }

    fn claimed_by<'a>(
        &self,
        labels: &'a BTreeMap<String, String>,
        annotations: &'a BTreeMap<String, String>,
    ) -> Option<(bool, &'a str)> {
        super::claimed_by(self.behaviour(), labels, annotations)
    }

    fn skips_kind(&self, api_version: &str, kind: &str, also: &str) -> bool {
        super::skips_kind(api_version, kind, also)
    }

    fn skips_object(&self, kind: &str, namespace: &str, name: &str, patterns: &[String]) -> bool {
        super::skips_object(kind, namespace, name, patterns)
    }

    fn propagated_version<'a>(
        &self,
        versions: &'a [APIResourceList],
        kind: &str,
    ) -> Option<(&'a str, &'a APIResource)> {
        super::propagated_version(versions, kind)
    }

    fn activates(&self, preference: &str, touched: bool) -> bool {
        super::activates(preference, touched)
    }

    fn touched(&self, before: Option<&DynamicObject>, after: &DynamicObject) -> bool {
        super::touched(before, after)
    }

    fn dependencies(&self, kind: &str, template: &Value) -> Vec<Dependency> {
        super::dependencies(kind, template)
    }

    fn is_meant(&self, dependency: &Dependency, object: &Value) -> bool {
        super::is_meant(dependency, object)
    }

    fn snapshot(&self, namespace: &str, name: &str, spec: &ResourceBindingSpec) -> BindingSnapshot {
        super::snapshot(namespace, name, spec)
    }

    fn require(&self, required_by: &[BindingSnapshot], by: BindingSnapshot) -> Vec<BindingSnapshot> {
        super::require(required_by, by)
    }

    fn scales(&self, autoscaler: &HorizontalPodAutoscaler, template: &ObjectReference) -> bool {
        super::scales(autoscaler, template)
    }

    fn replicas_to_sync(
        &self,
        template: &Value,
        generation: i64,
        binding: &ResourceBindingSpec,
        status: &BindingStatus,
    ) -> Option<i64> {
        super::replicas_to_sync(template, generation, binding, status)
    }

    fn exported_service<'a>(&self, work: &'a Work) -> Option<(&'a str, &'a str)> {
        super::exported_service(work)
    }

    fn collected_service<'a>(&self, work: &'a Work) -> Option<(&'a str, &'a str)> {
        super::collected_service(work)
    }

    fn is_collected(&self, slice: &EndpointSlice, service_namespace: &str, service: &str) -> bool {
        super::is_collected(slice, service_namespace, service)
    }

    fn collected_slice(&self, slice: &EndpointSlice) -> Map<String, Value> {
        super::collected_slice(slice)
    }

    fn imported_slice(&self, work: &Work, cluster: &str) -> Option<Value> {
        super::imported_slice(work, cluster)
    }

    fn derived_service(&self, import: &ServiceImport) -> Option<Value> {
        super::derived_service(import)
    }

    fn default_tolerations(
        &self,
        given: &[Toleration],
        not_ready: Duration,
        unreachable: Duration,
    ) -> Vec<Toleration> {
        if !self.behaviour().adds_tolerations {
            return given.to_vec();
        }
        super::default_tolerations(given, not_ready, unreachable)
    }

    fn default_placement(&self, placement: &mut Placement) {
        super::default_placement(placement);
    }

    fn default_failover(&self, failover: &mut ApplicationFailover) {
        super::default_failover(failover);
    }

    fn default_selectors(&self, selectors: &mut [ResourceSelector], policy_namespace: &str) {
        super::default_selectors(selectors, policy_namespace);
    }

    fn needs_dependencies(&self, selectors: &[ResourceSelector]) -> bool {
        super::needs_dependencies(selectors)
    }

    fn validate_policy(
        &self,
        policy: &PropagationPolicySpec,
        before: Option<&PropagationPolicySpec>,
    ) -> Result<(), String> {
        super::validate_policy(policy, before)
    }

    fn validate_policy_name(&self, kind: &str, name: &str) -> Result<(), String> {
        super::validate_policy_name(kind, name)
    }

    fn validate_cluster_name(&self, name: &str) -> Result<(), String> {
        super::validate_cluster_name(name)
    }

    fn needs_scheduling(
        &self,
        spec: &ResourceBindingSpec,
        status: &BindingStatus,
        applied: Option<&Placement>,
        target_removed: bool,
    ) -> bool {
        super::needs_scheduling(self.behaviour().removal, spec, status, applied, target_removed)
    }

    fn is_for_scheduler(&self, spec: &ResourceBindingSpec, name: &str) -> bool {
        super::is_for_scheduler(spec, name)
    }

    fn concerns(
        &self,
        spec: &ResourceBindingSpec,
        before: Option<&Cluster>,
        after: Option<&Cluster>,
    ) -> bool {
        super::concerns(spec, before, after)
    }

    fn observed_generation(&self, observed: i64, found: i64, written: Option<i64>) -> i64 {
        super::observed_generation(observed, found, written)
    }

    fn schedule(
        &self,
        spec: &ResourceBindingSpec,
        status: &BindingStatus,
        scene: &Scene<'_>,
    ) -> Result<Schedule, ScheduleError> {
        super::schedule(self, spec, status, scene)
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
        super::api_filter(self.behaviour().unserved_targets, resource, cluster, is_target)
    }

    fn eviction_filter(&self, tasks: &[GracefulEvictionTask], cluster: &str) -> Refusal {
        super::eviction_filter(tasks, cluster)
    }

    fn affinity_groups(
        &self,
        placement: &Placement,
        labels: Option<&BTreeMap<String, String>>,
    ) -> Option<WorkloadAffinityGroups> {
        super::affinity_groups(placement, labels)
    }

    fn workload_affinity_filter(&self, neighbours: &Neighbours, cluster: &str, is_target: bool) -> Refusal {
        super::workload_affinity_filter(neighbours, cluster, is_target)
    }

    fn workload_anti_affinity_filter(
        &self,
        neighbours: &Neighbours,
        cluster: &str,
        is_target: bool,
    ) -> Refusal {
        super::workload_anti_affinity_filter(neighbours, cluster, is_target)
    }

    fn spread_filter(&self, constraints: &[SpreadConstraint], cluster: &Cluster) -> Refusal {
        super::spread_filter(constraints, cluster)
    }

    fn terminating_filter(&self, cluster: &Cluster, is_target: bool) -> Refusal {
        super::terminating_filter(self.behaviour().removal, cluster, is_target)
    }

    fn locality_score(&self, targets: &[TargetCluster], cluster: &str) -> i64 {
        super::locality_score(targets, cluster)
    }

    fn free_replicas(&self, spec: &ResourceBindingSpec, cluster: &Cluster) -> i64 {
        super::free_replicas(spec, cluster)
    }

    fn free_sets(&self, spec: &ResourceBindingSpec, cluster: &Cluster) -> i64 {
        super::free_sets(spec, cluster)
    }

    fn ranked(&self, candidates: Vec<Candidate>, by_room: bool) -> Vec<Candidate> {
        super::ranked(candidates, by_room)
    }

    fn select(
        &self,
        placement: &Placement,
        replicas: i32,
        ranked: &[Candidate],
    ) -> Result<Vec<String>, ScheduleError> {
        super::select(self.behaviour().grouping, placement, replicas, ranked)
    }

    fn assign(
        &self,
        spec: &ResourceBindingSpec,
        placement: &Placement,
        tiers: &[Vec<&Cluster>],
        fresh: bool,
    ) -> Result<Vec<TargetCluster>, ScheduleError> {
        super::assign(self, spec, placement, tiers, fresh)
    }

    fn still_assigned(&self, targets: &[TargetCluster], selected: &[&Cluster]) -> Vec<TargetCluster> {
        super::still_assigned(targets, selected)
    }

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

    fn work_targets(&self, spec: &ResourceBindingSpec) -> Vec<TargetCluster> {
        super::work_targets(spec)
    }

    fn carriers<'a>(&self, spec: &'a ResourceBindingSpec) -> BTreeSet<&'a str> {
        super::carriers(spec)
    }

    fn awaits_purge(&self, spec: &ResourceBindingSpec, holders: &BTreeSet<&str>) -> bool {
        super::awaits_purge(spec, holders)
    }

    fn is_dispatch_suspended(&self, suspension: Option<&Suspension>, cluster: &str) -> bool {
        super::is_dispatch_suspended(suspension, cluster)
    }

    fn completions(&self, spec: &ResourceBindingSpec, template: &Value) -> Option<BTreeMap<String, i32>> {
        super::completions(self, spec, template)
    }

    fn injected_state(&self, spec: &ResourceBindingSpec, cluster: &str) -> BTreeMap<String, String> {
        super::injected_state(spec, cluster)
    }

    fn overrides_for<'a>(
        &self,
        policies: &[OverridePolicyRef<'a>],
        object: &Value,
        cluster: &Cluster,
    ) -> Vec<(&'a str, &'a Overriders)> {
        super::overrides_for(policies, object, cluster)
    }

    fn override_object(&self, object: &mut Value, overriders: &Overriders) -> Result<(), String> {
        super::override_object(object, overriders)
    }

    fn validate_overrides(&self, spec: &OverridePolicySpec) -> Result<(), String> {
        super::validate_overrides(spec)
    }

    fn manifest(&self, delivery: &Delivery<'_>) -> Result<Map<String, Value>, String> {
        super::manifest(self, delivery)
    }

    fn prune(&self, manifest: &mut Map<String, Value>) {
        super::prune(manifest);
    }

    fn retained(&self, wanted: &Map<String, Value>, present: &Value) -> Map<String, Value> {
        super::retained(wanted, present)
    }

    fn is_synced(&self, namespace: &Namespace, skipped: &[String]) -> bool {
        super::is_synced(namespace, skipped)
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

    fn is_as_said(&self, present: &Value, wanted: &Value) -> bool {
        super::is_as_said(present, wanted)
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

    fn has_health(&self, kind: &str) -> bool {
        super::has_health(kind)
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
        template: &Value,
        reports: &[AggregatedStatus],
        now: Timestamp,
    ) -> Option<Map<String, Value>> {
        super::template_status(kind, template, reports, now)
    }
}
