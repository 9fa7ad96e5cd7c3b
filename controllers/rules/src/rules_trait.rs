//! The trait `Rules`: all rules of failover as methods. Most call the function of the same name.
//!
//! The documentation of a rule is that of its function. A rule that a release does not have leaves its input unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Taint, Toleration};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIResource, APIResourceList, Condition, OwnerReference,
};
use serde_json::{Map, Value};

// The signatures use every type of the rules and of their objects.
use super::*;
use crate::api::*;

/// Defines methods that call the functions of the same names.
/// After `=>`, the functions get a first argument that the methods do not have.
macro_rules! functions {
    ($(fn $name:ident $(<$life:lifetime>)? ($($given:ident: $type:ty),* $(,)?) $(-> $answer:ty)?;)*) => {
        $(fn $name $(<$life>)? (&self, $($given: $type),*) $(-> $answer)? {
            super::$name($($given),*)
        })*
    };
    (
        |$rules:ident| $first:expr =>
        $(fn $name:ident $(<$life:lifetime>)? ($($given:ident: $type:ty),* $(,)?) $(-> $answer:ty)?;)*
    ) => {
        $(fn $name $(<$life>)? (&self, $($given: $type),*) $(-> $answer)? {
            let $rules = self.as_rules();
            super::$name($first, $($given),*)
        })*
    };
}

/// Rules as a trait object.
/// Rules that call other rules are compiled once, and not for each implementation.
pub trait AsRules {
    /// Returns these rules.
    fn as_rules(&self) -> &dyn Rules;
}

impl<R: Rules> AsRules for R {
    fn as_rules(&self) -> &dyn Rules {
        self
    }
}

/// All rules that the controllers use.
/// An implementation that overrides one shows what that rule is for.
#[expect(missing_docs, reason = "each method is the function of the same name, which says what it does")]
pub trait Rules: AsRules + Send + Sync {
    /// The differences from other releases. This is not a rule: the rules depend on it.
    fn behaviour(&self) -> Behaviour {
        Behaviour::default()
    }

    functions! {
        |rules| rules.behaviour() =>
        fn event(action: &ReportedAction<'_>) -> Option<Event>;
    }

    // Clusters: readiness and taints.

    functions! {
        fn readiness(probe: Probe) -> Readiness;
        fn probe_run(before: Option<ProbeRun>, ready: bool, now: Timestamp) -> ProbeRun;
        fn is_damped(probe: Probe) -> bool;
        fn brings_probe_forward(before: Option<&Cluster>, after: &Cluster) -> bool;
        fn collects_status(ready: bool, answers: bool) -> bool;
        fn keeps_condition(
            before: Option<ProbeRun>,
            run: ProbeRun,
            current: Option<bool>,
            now: Timestamp,
            success_threshold: Duration,
            failure_threshold: Duration,
        ) -> bool;
        fn member_timeout(configured: Duration) -> Duration;
        fn complete_apis(found: usize, whole: bool) -> (bool, &'static str, String);
        fn replaces_enablements(complete: bool, known: usize) -> bool;
        fn heartbeat(
            before: Option<&Heartbeat>,
            ready: Option<&Condition>,
            renewed: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> Heartbeat;
        fn silence(
            heartbeat: &Heartbeat, grace: Duration, startup_grace: Duration, now: Timestamp,
        ) -> Option<(&'static str, &'static str)>;
        fn falls_silent(cluster: &Cluster) -> bool;
        fn not_ready_since(heartbeat: &Heartbeat) -> Timestamp;
        fn taints_after(gates: Gates, timeout: Duration) -> Duration;
        fn abandons_works(cluster: &Cluster) -> bool;
        fn no_schedule_taints(ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint>;
        fn with_kept_remedies(before: Option<&ClusterStatus>, report: ClusterStatus) -> ClusterStatus;
    }

    fn no_execute_taints(
        &self,
        ready: Ready<'_>,
        since: Timestamp,
        timeout: Duration,
        taints: &[Taint],
        now: Timestamp,
    ) -> Vec<Taint> {
        if !self.behaviour().taints_not_ready_clusters {
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

    // Rules that match affinities.

    functions! {
        |rules| rules.behaviour().zones =>
        fn taints_by_policies(
            policies: &[&ClusterTaintPolicy], cluster: &Cluster, now: Timestamp,
        ) -> Vec<Taint>;
        fn concerns(spec: &ResourceBindingSpec, before: Option<&Cluster>, after: Option<&Cluster>) -> bool;
        fn affinity_filter(affinity: Option<&ClusterAffinity>, cluster: &Cluster) -> Refusal;
        fn static_weights(list: &[StaticWeight], clusters: &[&Cluster]) -> Vec<(String, i64)>;
        fn overrides_for<'a>(
            policies: &[OverridePolicyRef<'a>], object: &Value, cluster: &Cluster,
        ) -> Vec<(&'a str, &'a Overriders)>;
    }

    // Evictions: tolerations, eviction tasks, failover of applications.

    functions! {
        fn eviction_due(taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime;
        fn counts_against_eviction_rate(taints: &[Taint], due: EvictionTime) -> bool;
        fn eviction_pause(rate: Option<f64>) -> Duration;
        fn evict(spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool;
        fn application_failover<'a>(
            spec: &'a ResourceBindingSpec, has_health: bool,
        ) -> Option<&'a ApplicationFailover>;
        fn unhealthy_since(
            before: &UnhealthySince, spec: &ResourceBindingSpec, reports: &[AggregatedStatus], now: Timestamp,
        ) -> UnhealthySince;
        fn tolerated_until(failover: &ApplicationFailover, since: Timestamp) -> Timestamp;
        fn wakes_for_tasks(before: Option<&ResourceBindingSpec>, after: &ResourceBindingSpec) -> bool;
        fn processes_tasks(scheduled: bool) -> bool;
        fn task_timeouts(tasks: &[GracefulEvictionTask], timeout: Duration) -> Vec<Duration>;
        fn task_outcome(
            task: &GracefulEvictionTask, replaced: bool, timeout: Duration, now: Timestamp,
        ) -> TaskOutcome;
        fn is_replaced(scheduled: bool, targets: &[TargetCluster], reports: &[AggregatedStatus]) -> bool;
        fn inherited_state<'a>(tasks: &'a [GracefulEvictionTask]) -> Option<&'a BTreeMap<String, String>>;
    }

    fn evicts_for_taints(&self, gates: Gates) -> bool {
        super::evicts_for_taints(gates, self.behaviour().evicts_by)
    }

    fn awaits_workloads(&self, gates: Gates) -> bool {
        super::awaits_workloads(gates, self.behaviour().evicts_by)
    }

    fn evict_or_drop(
        &self,
        gates: Gates,
        spec: &mut ResourceBindingSpec,
        cluster: &str,
        task: GracefulEvictionTask,
    ) -> bool {
        let by = self.behaviour().evicts_by;
        super::evict_or_drop(gates, by, spec, cluster, task, |spec, cluster, task| {
            self.evict(spec, cluster, task)
        })
    }

    functions! {
        |rules| rules =>
        fn taint_task(
            spec: &ResourceBindingSpec, due: EvictionTime, flag: Option<PurgeMode>, report: Option<&AggregatedStatus>,
        ) -> Result<GracefulEvictionTask, String>;
        fn application_task(
            failover: &ApplicationFailover, producer: &str, spec: &ResourceBindingSpec, report: Option<&AggregatedStatus>,
        ) -> Result<GracefulEvictionTask, String>;
    }

    // Policies and templates: claims, dependencies, autoscalers.

    functions! {
        fn selects(
            selectors: &[ResourceSelector], policy_namespace: Option<&str>, template: &Value,
        ) -> Option<Match>;
        fn owner<'a>(claims: &'a [Claim], claimed: Option<(bool, &str)>) -> Option<&'a Claim>;
        fn skips_kind(api_version: &str, kind: &str, also: &str) -> bool;
        fn skips_object(kind: &str, namespace: &str, name: &str, patterns: &[NamePattern]) -> bool;
        fn propagated_version<'a>(
            versions: &'a [APIResourceList], kind: &str,
        ) -> Option<(&'a str, &'a APIResource)>;
        fn activates(preference: &str, touched: bool) -> bool;
        fn touched(before: Option<&RawObject>, after: &RawObject) -> bool;
        fn suspension_of_binding(
            policy: Option<&DispatchSuspension>, present: Option<&Suspension>,
        ) -> Option<Suspension>;
        fn owners_of_binding(template: &ObjectReference) -> Vec<OwnerReference>;
        fn has_finalizer(spec: &ResourceBindingSpec) -> bool;
        fn is_dependency(dependency: &ResourceSelector, object: &Value) -> bool;
        fn require(required_by: &[BindingSnapshot], by: BindingSnapshot) -> Vec<BindingSnapshot>;
        fn scales(autoscaler: &Autoscaler, template: &ObjectReference) -> bool;
        fn autoscaler_targets<'a>(
            claimed: bool, workload: Option<&'a ResourceBindingSpec>,
        ) -> BTreeSet<&'a str>;
        fn keeps_autoscaler(
            exists: bool, claimed: bool, workload: Option<&ResourceBindingSpec>, cluster: &str,
        ) -> bool;
        fn delivered_autoscaler<'a>(work: &'a Work) -> Option<(&'a str, &'a str)>;
        fn replicas_to_sync(
            template: &Value, generation: i64, binding: &ResourceBindingSpec, status: &BindingStatus,
        ) -> Option<i64>;
    }

    functions! {
        |rules| rules.behaviour() =>
        fn dependencies(kind: &str, template: &Value) -> Vec<ResourceSelector>;
        fn replica_requirements(kind: &str, template: &Value) -> Option<ReplicaRequirements>;
        fn free_replicas(spec: &ResourceBindingSpec, cluster: &Cluster) -> i64;
        fn template_replicas(kind: &str, template: &Value) -> i32;
        fn claim_marks(owner: Option<&Owner>) -> Value;
        fn policy_finalizer(kind: &str) -> Option<&'static str>;
        fn claimed_by<'a>(
            labels: &'a BTreeMap<String, String>, annotations: &'a BTreeMap<String, String>,
        ) -> Option<(bool, &'a str)>;
    }

    // Scheduling: when, on which clusters, how many replicas.

    functions! {
        fn observed_workloads(
            spec: &WorkloadRebalancerSpec, status: Option<&WorkloadRebalancerStatus>,
        ) -> Vec<ObservedWorkload>;
        fn is_new_request(made: Timestamp, reported: Option<Timestamp>) -> bool;
        fn rebalance_expires(spec: &WorkloadRebalancerSpec, status: &WorkloadRebalancerStatus) -> Option<Timestamp>;
        fn is_for_scheduler(spec: &ResourceBindingSpec, name: &str) -> bool;
        fn observed_generation(observed: i64, found: i64, written: Option<i64>) -> i64;
        fn terms_to_try<'a>(terms: &'a [ClusterAffinityTerm], in_use: &str) -> &'a [ClusterAffinityTerm];
        fn taint_filter(
            tolerations: &[Toleration], cluster: &Cluster, is_target: bool, now: Timestamp,
        ) -> Refusal;
        fn eviction_filter(tasks: &[GracefulEvictionTask], cluster: &str) -> Refusal;
        fn spread_filter(constraints: &[SpreadConstraint], cluster: &Cluster) -> Refusal;
        fn affinity_groups(
            placement: &Placement, labels: Option<&BTreeMap<String, String>>,
        ) -> Option<WorkloadAffinityGroups>;
        fn binds_group(tasks: &[GracefulEvictionTask], clusters: &BTreeSet<String>) -> bool;
        fn workload_affinity_filter(affinity_clusters: &AffinityClusters, cluster: &str, is_target: bool) -> Refusal;
        fn workload_anti_affinity_filter(affinity_clusters: &AffinityClusters, cluster: &str, is_target: bool) -> Refusal;
        fn locality_score(targets: &[TargetCluster], cluster: &str) -> i64;
        fn free_sets(spec: &ResourceBindingSpec, cluster: &Cluster) -> i64;
        fn ranked(candidates: Vec<Candidate>, by_room: bool) -> Vec<Candidate>;
        fn still_assigned(targets: &[TargetCluster], selected: &[&Cluster]) -> Vec<TargetCluster>;
        fn room_used(
            replicas: i32, room: Vec<(String, i64)>, aggregated: bool, used: &[TargetCluster],
        ) -> Result<Vec<(String, i64)>, ScheduleError>;
    }

    functions! {
        |rules| rules.behaviour().removal =>
        fn needs_scheduling(
            spec: &ResourceBindingSpec, status: &BindingStatus, applied: Option<&Placement>, lost: LostTargets,
        ) -> bool;
        fn terminating_filter(cluster: &Cluster, is_target: bool) -> Refusal;
    }

    functions! {
        |rules| rules =>
        fn schedule(
            spec: &ResourceBindingSpec, status: &BindingStatus, input: &SchedulingInput<'_>,
        ) -> Result<Schedule, ScheduleError>;
        fn assign(selection: &Selection<'_>) -> Result<Vec<TargetCluster>, ScheduleError>;
    }

    functions! {
        |rules| rules.behaviour().retries =>
        fn retry(error: &ScheduleError) -> Retry;
        fn queue_priority(spec: &ResourceBindingSpec) -> i32;
        fn schedule_priority(
            wanted: Option<&PolicySchedulePriority>, classes: &[PriorityClass],
        ) -> Result<Option<SchedulePriority>, String>;
    }

    functions! {
        |rules| rules.behaviour() =>
        fn scheduled_condition(error: Option<&ScheduleError>) -> (&'static str, String);
    }

    functions! {
        |rules| rules.behaviour().unserved_targets =>
        fn api_filter(resource: &ObjectReference, cluster: &Cluster, is_target: bool) -> Refusal;
    }

    functions! {
        |rules| rules.behaviour().grouping =>
        fn select(
            placement: &Placement, replicas: i32, ranked: &[Candidate],
        ) -> Result<Vec<String>, ScheduleError>;
    }

    functions! {
        |rules| rules.behaviour().division =>
        fn divide(
            replicas: i32, weights: Vec<(String, i64)>, last: &[TargetCluster], template_uid: &str,
        ) -> Vec<TargetCluster>;
    }

    // Works: their targets and manifests, and the status of copies.

    functions! {
        fn work_targets(spec: &ResourceBindingSpec) -> Vec<TargetCluster>;
        fn is_dispatch_suspended(suspension: Option<&Suspension>, cluster: &str) -> bool;
        fn holds_back(work: &Work, mending: bool) -> bool;
        fn remedy_actions(remedies: &[&Remedy], cluster: &Cluster) -> Vec<String>;
        fn prune(manifest: &mut Map<String, Value>);
        fn retained(wanted: &Map<String, Value>, present: &Value) -> Map<String, Value>;
        fn is_synced(namespace: &Namespace, skipped: &[NamePattern]) -> bool;
        fn covers(present: &Value, wanted: &Value) -> bool;
        fn matches_manifest(present: &Value, wanted: &Value) -> bool;
        fn copy_removal(cluster: Option<&Cluster>) -> CopyRemoval;
        fn belongs_to_work(object: &Value, work_namespace: &str, work_name: &str) -> bool;
        fn health(object: &Value) -> Health;
        fn has_health(api_version: &str, kind: &str) -> bool;
        fn aggregated_status(works: &[Arc<Work>]) -> Vec<AggregatedStatus>;
        fn replacing_reports(before: &[AggregatedStatus], reports: Vec<AggregatedStatus>) -> Vec<AggregatedStatus>;
        fn reports_on_works(reports: &[AggregatedStatus], works: &[Arc<Work>]) -> Vec<AggregatedStatus>;
        fn fully_applied(clusters_with_work: &BTreeSet<&str>, reports: &[AggregatedStatus]) -> bool;
    }

    functions! {
        |rules| rules.behaviour() =>
        fn injected_state(spec: &ResourceBindingSpec, cluster: &str) -> BTreeMap<String, String>;
        fn holds_up_removal(spec: &ResourceBindingSpec, cluster: &str) -> bool;
        fn inherited(requirers: &[&ResourceBindingSpec]) -> Option<InheritedFields>;
        fn inheritance_conflicts(requirers: &[&ResourceBindingSpec]) -> Vec<&'static str>;
        fn snapshot(namespace: &str, name: &str, spec: &ResourceBindingSpec) -> BindingSnapshot;
        fn clusters_with_work<'a>(spec: &'a ResourceBindingSpec) -> BTreeSet<&'a str>;
        fn copy_replicas(spec: &ResourceBindingSpec, target: &TargetCluster) -> Option<i32>;
        fn awaits_purge(spec: &ResourceBindingSpec, holders: &BTreeSet<&str>) -> bool;
        fn applied_condition(
            was_applied: bool, mending: bool, outcome: Result<WriteOutcome, &str>,
        ) -> Option<(bool, &'static str, String)>;
        fn dispatching_condition(reported: bool, suspended: bool) -> Option<(bool, &'static str, &'static str)>;
        fn binding_mark(binding: BindingRef<'_>) -> (&'static str, String);
        fn ignores_copy(object: &Value, work_namespace: &str, work_name: &str) -> bool;
        fn may_write_copy(object: &Value, work_namespace: &str, work_name: &str) -> bool;
        fn override_object(object: &mut Value, overriders: &Overriders) -> Result<(), String>;
        fn reflected_status(kind: &str, object: &Value) -> Option<Map<String, Value>>;
        fn template_status(
            kind: &str, template: &Value, reports: &[AggregatedStatus], now: Timestamp,
        ) -> Option<Map<String, Value>>;
    }

    functions! {
        |rules| rules =>
        fn completions(spec: &ResourceBindingSpec, template: &Value) -> Option<BTreeMap<String, i32>>;
        fn manifest(delivery: &Delivery<'_>) -> Result<Map<String, Value>, String>;
    }

    // Services of several clusters.

    functions! {
        fn exported_service<'a>(work: &'a Work) -> Option<(&'a str, &'a str)>;
        fn collected_service<'a>(work: &'a Work) -> Option<(&'a str, &'a str)>;
        fn is_collected(slice: &RawObject, service_namespace: &str, service: &str) -> bool;
        fn collected_slice(slice: &RawObject) -> serde_json::Result<Map<String, Value>>;
        fn keeps_slices(cluster: &Cluster) -> bool;
        fn imported_slice(work: &Work, cluster: &str) -> Option<Value>;
        fn derived_service(import: &ServiceImport) -> Option<Value>;
    }

    // Guarded writes, validation and defaults.

    functions! {
        fn unguarded_write_delay(write: Write) -> Option<Duration>;
        fn validate_taint_policy(spec: &ClusterTaintPolicySpec, no_execute_allowed: bool) -> Result<(), String>;
        fn validate_overrides(spec: &OverridePolicySpec) -> Result<(), String>;
        fn validate_policy_name(kind: &str, name: &str) -> Result<(), String>;
        fn validate_cluster_name(name: &str) -> Result<(), String>;
        fn needs_dependencies(selectors: &[ResourceSelector]) -> bool;
        fn default_placement(placement: &mut Placement);
        fn default_models(models: &mut Vec<ResourceModel>);
        fn default_selectors(selectors: &mut [ResourceSelector], policy_namespace: &str);
    }

    functions! {
        |rules| rules.behaviour() =>
        fn validate_policy(
            policy: &PropagationPolicySpec, before: Option<&PropagationPolicySpec>,
        ) -> Result<(), String>;
        fn validate_selectors(selectors: &[ResourceSelector], policy_namespace: &str) -> Result<(), String>;
        fn default_failover(failover: &mut ApplicationFailover);
        fn identify(kind: &str, object: &mut Value, id: &str);
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
}
