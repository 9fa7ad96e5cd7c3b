//! The rules of a release: the reference with the release's differences and, optionally, bugs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::{Behaviour, Bug, Division, UnservedTargets};
use crate::api::{
    AggregatedStatus, BindingSnapshot, BindingStatus, CONDITION_APPLIED, Cluster, ClusterTaintPolicy,
    GracefulEvictionTask, Health, NO_EXECUTE, ObjectReference, Placement, PurgeMode, ResourceBindingSpec,
    TargetCluster, Work,
};
use crate::{EvictionTime, LostTargets, Probe, Ready, Refusal, Rules, UnhealthySince, Write, WriteOutcome};

/// The reference: the rules without bugs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceRules;

impl Rules for ReferenceRules {}

/// The rules of a release.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// How the release differs from the reference.
    pub behaviour: Behaviour,
    /// The bugs of the release.
    pub bugs: BTreeSet<Bug>,
}

impl Release {
    /// Returns the rules of a release without its bugs.
    #[must_use]
    pub fn of(release: &str) -> Self {
        Self { behaviour: Behaviour::of(release), bugs: BTreeSet::new() }
    }

    /// Returns the rules of a release with its known bugs.
    #[must_use]
    pub fn with_bugs_of(release: &str) -> Self {
        Self { bugs: Bug::of(release), ..Self::of(release) }
    }

    /// Returns the reference with one bug.
    #[must_use]
    pub fn with(bug: Bug) -> Self {
        Self { bugs: [bug].collect_sorted(), ..Self::default() }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bugs.contains(&bug)
    }
}

impl Rules for Release {
    fn behaviour(&self) -> Behaviour {
        self.behaviour
    }

    fn eviction_filter(&self, tasks: &[GracefulEvictionTask], cluster: &str) -> Refusal {
        let tasks = if self.has(Bug::ChosenWhileLeaving) { &[] } else { tasks };
        crate::eviction_filter(tasks, cluster)
    }

    fn binds_group(&self, tasks: &[GracefulEvictionTask], clusters: &BTreeSet<String>) -> bool {
        self.has(Bug::GroupsBindEvicted) || crate::binds_group(tasks, clusters)
    }

    fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
        let direct = task.purge_mode.is_some_and(|mode| self.behaviour.is_direct(mode));
        if !(self.has(Bug::TwoTasks) || self.has(Bug::PurgedWithoutTask) && direct) {
            return crate::evict(spec, cluster, task);
        }
        let before = std::mem::take(&mut spec.graceful_eviction_tasks);
        let evicted = crate::evict(spec, cluster, task);
        if !self.has(Bug::TwoTasks) {
            spec.graceful_eviction_tasks.clear();
        }
        spec.graceful_eviction_tasks.splice(0..0, before);
        evicted
    }

    fn is_replaced(&self, scheduled: bool, targets: &[TargetCluster], reports: &[AggregatedStatus]) -> bool {
        if targets.is_empty() && self.has(Bug::NothingReplaces) {
            return true;
        }
        if !self.has(Bug::EarlierHealthCounts) {
            return crate::is_replaced(scheduled, targets, reports);
        }
        let healthy = |target: &TargetCluster| {
            let of_target = |report: &&AggregatedStatus| report.cluster_name == target.name;
            reports.iter().find(of_target).is_some_and(|report| report.health == Health::Healthy)
        };
        scheduled && !targets.is_empty() && targets.iter().all(healthy)
    }

    fn taint_filter(
        &self,
        tolerations: &[Toleration],
        cluster: &Cluster,
        is_target: bool,
        now: Timestamp,
    ) -> Refusal {
        let is_target = is_target && !self.has(Bug::TaintsDriveOut);
        // At the minimum time, no toleration has expired.
        let now = if self.has(Bug::RunOutTolerationAdmits) { Timestamp::MIN } else { now };
        crate::taint_filter(tolerations, cluster, is_target, now)
    }

    fn api_filter(&self, resource: &ObjectReference, cluster: &Cluster, is_target: bool) -> Refusal {
        let unserved = match self.has(Bug::KindsDriveOut) {
            true => UnservedTargets::Leave,
            false => self.behaviour.unserved_targets,
        };
        crate::api_filter(unserved, resource, cluster, is_target)
    }

    fn locality_score(&self, targets: &[TargetCluster], cluster: &str) -> i64 {
        let empty = targets.iter().all(|target| target.replicas <= 0);
        if empty && self.has(Bug::EmptyTargetsRankLast) { 0 } else { crate::locality_score(targets, cluster) }
    }

    fn still_assigned(&self, targets: &[TargetCluster], selected: &[&Cluster]) -> Vec<TargetCluster> {
        if self.has(Bug::LostReplicasCount) {
            return targets.to_vec();
        }
        crate::still_assigned(targets, selected)
    }

    fn observed_generation(&self, observed: i64, found: i64, written: Option<i64>) -> i64 {
        if self.has(Bug::OwnPatchUnobserved) {
            return if written.is_some() { found } else { observed };
        }
        crate::observed_generation(observed, found, written)
    }

    fn concerns(
        &self,
        spec: &ResourceBindingSpec,
        before: Option<&Cluster>,
        after: Option<&Cluster>,
    ) -> bool {
        let before = before.filter(|_| !self.has(Bug::LostLabelsUnnoticed));
        crate::concerns(self.behaviour.zones, spec, before, after)
    }

    fn needs_scheduling(
        &self,
        spec: &ResourceBindingSpec,
        status: &BindingStatus,
        applied: Option<&Placement>,
        lost: LostTargets,
    ) -> bool {
        let mut spec = spec.clone();
        if let Some(suspension) = &mut spec.suspension {
            suspension.scheduling &= !self.has(Bug::SuspensionIgnored);
        }
        crate::needs_scheduling(self.behaviour.removal, &spec, status, applied, lost)
    }

    fn is_for_scheduler(&self, spec: &ResourceBindingSpec, name: &str) -> bool {
        self.has(Bug::OtherSchedulersServed) || crate::is_for_scheduler(spec, name)
    }

    fn aggregated_status(&self, works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
        if !self.has(Bug::FailedIsApplied) {
            return crate::aggregated_status(works);
        }
        let mut works = works.to_vec();
        for status in works.iter_mut().filter_map(|work| Arc::make_mut(work).status.as_mut()) {
            let applied =
                status.conditions.iter_mut().filter(|condition| condition.type_ == CONDITION_APPLIED);
            applied.for_each(|condition| condition.status = "True".into());
        }
        crate::aggregated_status(&works)
    }

    fn reports_on_works(&self, reports: &[AggregatedStatus], works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
        if self.has(Bug::EarlierHealthCounts) {
            reports.to_vec()
        } else {
            crate::reports_on_works(reports, works)
        }
    }

    fn is_damped(&self, probe: Probe) -> bool {
        !(self.has(Bug::CredentialsUndamped) && probe == Probe::NoClient) && crate::is_damped(probe)
    }

    fn brings_probe_forward(&self, before: Option<&Cluster>, after: &Cluster) -> bool {
        self.has(Bug::ReportsBringProbes) || crate::brings_probe_forward(before, after)
    }

    fn member_timeout(&self, configured: Duration) -> Duration {
        if self.has(Bug::NoTimeLimit) { Duration::MAX } else { crate::member_timeout(configured) }
    }

    fn replaces_enablements(&self, complete: bool, known: usize) -> bool {
        self.has(Bug::PartialListsReplace) || crate::replaces_enablements(complete, known)
    }

    fn abandons_works(&self, cluster: &Cluster) -> bool {
        !self.has(Bug::SilentAgentsHoldUp) && crate::abandons_works(cluster)
    }

    fn no_execute_taints(
        &self,
        ready: Ready<'_>,
        since: Timestamp,
        timeout: Duration,
        taints: &[Taint],
        now: Timestamp,
    ) -> Vec<Taint> {
        if !self.behaviour.taints_not_ready_clusters {
            return taints.to_vec();
        }
        let mut after = crate::no_execute_taints(ready, since, timeout, taints, now);
        let added = after.iter_mut().filter(|taint| !taints.iter().any(|there| there.key == taint.key));
        for taint in added.filter(|_| self.has(Bug::SwapRestartsToleration)) {
            taint.time_added = Some(Time(now));
        }
        after
    }

    fn taints_by_policies(
        &self,
        policies: &[&ClusterTaintPolicy],
        cluster: &Cluster,
        now: Timestamp,
    ) -> Vec<Taint> {
        // Without a creation time, policies are ordered by name, which is the order of the list.
        let mut listed: Vec<_> = policies.iter().map(|policy| (*policy).clone()).collect();
        for policy in listed.iter_mut().filter(|_| self.has(Bug::TaintPoliciesUnsorted)) {
            policy.metadata.creation_timestamp = None;
        }
        crate::taints_by_policies(self.behaviour.zones, &listed.iter().collect::<Vec<_>>(), cluster, now)
    }

    fn counts_against_eviction_rate(&self, taints: &[Taint], due: EvictionTime) -> bool {
        let tolerant = || taints.iter().any(|taint| taint.effect == NO_EXECUTE);
        crate::counts_against_eviction_rate(taints, due) || self.has(Bug::TolerantTakeTurns) && tolerant()
    }

    fn taint_task(
        &self,
        spec: &ResourceBindingSpec,
        due: EvictionTime,
        flag: Option<PurgeMode>,
        report: Option<&AggregatedStatus>,
    ) -> Result<GracefulEvictionTask, String> {
        let mut task = crate::taint_task(self, spec, due, flag, report)?;
        let expired = matches!(due, EvictionTime::At(_)) && self.has(Bug::ExpiryForgetsPurgeMode);
        let cluster_scoped = spec.resource.namespace.is_empty();
        if expired || cluster_scoped && self.has(Bug::ClusterScopedForgetPurgeMode) {
            task.purge_mode = None;
        }
        Ok(task)
    }

    fn unhealthy_since(
        &self,
        before: &UnhealthySince,
        spec: &ResourceBindingSpec,
        reports: &[AggregatedStatus],
        now: Timestamp,
    ) -> UnhealthySince {
        let mut since = crate::unhealthy_since(before, spec, reports, now);
        if self.has(Bug::IllHealthRemembered) {
            let healthy = |name: &String| {
                reports.iter().any(|report| report.cluster_name == *name && report.health == Health::Healthy)
            };
            since.extend(before.clone().into_iter().filter(|(name, _)| !healthy(name)));
        }
        since
    }

    fn inherited_state<'a>(&self, tasks: &'a [GracefulEvictionTask]) -> Option<&'a BTreeMap<String, String>> {
        crate::inherited_state(tasks).filter(|_| !self.has(Bug::StateReadAnew))
    }

    fn wakes_for_tasks(&self, before: Option<&ResourceBindingSpec>, after: &ResourceBindingSpec) -> bool {
        !(self.has(Bug::EarlierTasksUnseen) && before.is_none()) && crate::wakes_for_tasks(before, after)
    }

    fn processes_tasks(&self, scheduled: bool) -> bool {
        if self.has(Bug::TimeoutAwaitsScheduler) { scheduled } else { crate::processes_tasks(scheduled) }
    }

    fn task_timeouts(&self, tasks: &[GracefulEvictionTask], timeout: Duration) -> Vec<Duration> {
        let mut timeouts = crate::task_timeouts(tasks, timeout);
        if self.has(Bug::GracePeriodLeaks) {
            let mut last = timeout;
            for (task, timeout) in tasks.iter().zip(&mut timeouts) {
                last = task.grace_period_seconds.map_or(last, |_| *timeout);
                *timeout = last;
            }
        }
        timeouts
    }

    fn unguarded_write_delay(&self, write: Write) -> Option<Duration> {
        // In a real system, time passes between a read and a write; in a simulation only if the controller sleeps.
        let (bug, millis) = match write {
            Write::Tasks => (Bug::TasksLost, 1000),
            Write::PolicyTaints => (Bug::TaintsLost, 1000),
            Write::Placement => (Bug::PlacementUnguarded, 1000),
            // The duration of the probe is delay enough.
            Write::ClusterStatus => (Bug::ConditionsPutBack, 0),
            Write::Dependencies => (Bug::AnnotationsPutBack, 200),
        };
        if self.has(bug) { Some(Duration::from_millis(millis)) } else { crate::unguarded_write_delay(write) }
    }

    fn activates(&self, preference: &str, touched: bool) -> bool {
        if self.has(Bug::PolicyChangesDropped) { touched } else { crate::activates(preference, touched) }
    }

    fn has_finalizer(&self, spec: &ResourceBindingSpec) -> bool {
        !self.has(Bug::NoFinalizer) && crate::has_finalizer(spec)
    }

    fn snapshot(&self, namespace: &str, name: &str, spec: &ResourceBindingSpec) -> BindingSnapshot {
        let mut placed = spec.clone();
        placed.graceful_eviction_tasks.retain(|_| !self.has(Bug::DependenciesLeaveFirst));
        crate::snapshot(self.behaviour, namespace, name, &placed)
    }

    fn divide(
        &self,
        replicas: i32,
        weights: Vec<(String, i64)>,
        last: &[TargetCluster],
        template_uid: &str,
    ) -> Vec<TargetCluster> {
        let way = match self.behaviour.division {
            Division::Webster if self.has(Bug::ScaleUpShrinks) => Division::LargestWeight,
            way => way,
        };
        crate::divide(way, replicas, weights, last, template_uid)
    }

    fn completions(&self, spec: &ResourceBindingSpec, template: &Value) -> Option<BTreeMap<String, i32>> {
        let shares = crate::completions(self, spec, template)?;
        if !self.has(Bug::CompletionsMixedUp) {
            return Some(shares);
        }
        let (names, mut numbers): (Vec<_>, Vec<_>) = shares.into_iter().unzip();
        numbers.reverse();
        Some(names.into_iter().zip(numbers).collect_sorted())
    }

    fn holds_back(&self, work: &Work, mending: bool) -> bool {
        crate::holds_back(work, mending) && !(mending && self.has(Bug::SuspendedIsMended))
    }

    fn applied_condition(
        &self,
        was_applied: bool,
        mending: bool,
        outcome: Result<WriteOutcome, &str>,
    ) -> Option<(bool, &'static str, String)> {
        let unreported = self.has(Bug::FailedMendingUntold) && mending && outcome.is_err();
        crate::applied_condition(self.behaviour, was_applied, mending, outcome).filter(|_| !unreported)
    }

    fn health(&self, object: &Value) -> Health {
        let unknown = self.has(Bug::StatuslessUnknown) && object.get("status").is_none();
        if unknown { Health::Unknown } else { crate::health(object) }
    }

    fn keeps_autoscaler(
        &self,
        exists: bool,
        claimed: bool,
        workload: Option<&ResourceBindingSpec>,
        cluster: &str,
    ) -> bool {
        let stays = exists && self.has(Bug::AutoscalersStay);
        stays || crate::keeps_autoscaler(exists, claimed, workload, cluster)
    }

    fn keeps_slices(&self, cluster: &Cluster) -> bool {
        !self.has(Bug::NotReadyCutsServices) && crate::keeps_slices(cluster)
    }
}
