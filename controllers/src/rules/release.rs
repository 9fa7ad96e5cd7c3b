//! The rules of a release: the reference's, with its differences and, if asked for, its bugs.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Toleration;

use super::{Behaviour, Bug, Refusal, Rules, UnservedTargets};
use crate::api::{
    AggregatedStatus, BindingStatus, CONDITION_APPLIED, Cluster, GracefulEvictionTask, Health,
    ObjectReference, Placement, ResourceBindingSpec, TargetCluster, Work, cluster_of, condition,
};

/// The rules as they should be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl Rules for Reference {}

/// The reference's rules as a release has them.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// What it does otherwise.
    pub behaviour: Behaviour,
    /// What it does wrong.
    pub bugs: BTreeSet<Bug>,
}

impl Release {
    /// As the release should be.
    #[must_use]
    pub fn of(release: &str) -> Self {
        Self { behaviour: Behaviour::of(release), bugs: BTreeSet::new() }
    }

    /// As the release is, as far as its bugs are known here.
    #[must_use]
    pub fn with_bugs_of(release: &str) -> Self {
        Self { bugs: Bug::of(release), ..Self::of(release) }
    }

    /// The reference with one bug.
    #[must_use]
    pub fn with(bug: Bug) -> Self {
        Self { bugs: BTreeSet::from([bug]), ..Self::default() }
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
        super::eviction_filter(tasks, cluster)
    }

    fn evict(&self, spec: &mut ResourceBindingSpec, cluster: &str, task: GracefulEvictionTask) -> bool {
        if !self.has(Bug::TwoTasks) {
            return super::evict(spec, cluster, task);
        }
        let before = std::mem::take(&mut spec.graceful_eviction_tasks);
        let evicted = super::evict(spec, cluster, task);
        spec.graceful_eviction_tasks.splice(0..0, before);
        evicted
    }

    fn is_replaced(&self, scheduled: bool, targets: &[TargetCluster], reports: &[AggregatedStatus]) -> bool {
        if targets.is_empty() && self.has(Bug::NothingReplaces) {
            return true;
        }
        if !self.has(Bug::EarlierHealthCounts) {
            return super::is_replaced(scheduled, targets, reports);
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
        // At the beginning of time, no toleration has run out.
        let now = if self.has(Bug::RunOutTolerationAdmits) { Timestamp::MIN } else { now };
        super::taint_filter(tolerations, cluster, is_target, now)
    }

    fn api_filter(&self, resource: &ObjectReference, cluster: &Cluster, is_target: bool) -> Refusal {
        let unserved = match self.has(Bug::KindsDriveOut) {
            true => UnservedTargets::Leave,
            false => self.behaviour.unserved_targets,
        };
        super::api_filter(unserved, resource, cluster, is_target)
    }

    fn still_assigned(&self, targets: &[TargetCluster], selected: &[&Cluster]) -> Vec<TargetCluster> {
        if self.has(Bug::LostReplicasCount) {
            return targets.to_vec();
        }
        super::still_assigned(targets, selected)
    }

    fn observed_generation(&self, observed: i64, found: i64, written: Option<i64>) -> i64 {
        if self.has(Bug::OwnPatchUnobserved) {
            return if written.is_some() { found } else { observed };
        }
        super::observed_generation(observed, found, written)
    }

    fn concerns(
        &self,
        spec: &ResourceBindingSpec,
        before: Option<&Cluster>,
        after: Option<&Cluster>,
    ) -> bool {
        let before = before.filter(|_| !self.has(Bug::LostLabelsUnnoticed));
        super::concerns(spec, before, after)
    }

    fn needs_scheduling(
        &self,
        spec: &ResourceBindingSpec,
        status: &BindingStatus,
        applied: Option<&Placement>,
        target_removed: bool,
    ) -> bool {
        let mut spec = spec.clone();
        if let Some(suspension) = &mut spec.suspension {
            suspension.scheduling &= !self.has(Bug::SuspensionIgnored);
        }
        super::needs_scheduling(self.behaviour.removal, &spec, status, applied, target_removed)
    }

    fn is_for_scheduler(&self, spec: &ResourceBindingSpec, name: &str) -> bool {
        self.has(Bug::OtherSchedulersServed) || super::is_for_scheduler(spec, name)
    }

    fn aggregated_status(&self, works: &[Arc<Work>]) -> Vec<AggregatedStatus> {
        let mut reports = super::aggregated_status(works);
        let tried = |work: &&Arc<Work>| {
            let status = work.status.as_ref();
            status.is_some_and(|status| condition(&status.conditions, CONDITION_APPLIED).is_some())
        };
        let cluster =
            |work: &Arc<Work>| work.metadata.namespace.as_deref().and_then(cluster_of).map(str::to_owned);
        let tried: BTreeSet<String> = works.iter().filter(tried).filter_map(cluster).collect();
        for report in &mut reports {
            report.applied |= self.has(Bug::FailedIsApplied) && tried.contains(&report.cluster_name);
        }
        reports
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::Reference;

    fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn targets(names: &[&str]) -> Vec<TargetCluster> {
        names.iter().map(|name| TargetCluster { name: (*name).into(), replicas: 1 }).collect()
    }

    fn cluster(effect: &str, added: Option<&str>) -> Cluster {
        let mut cluster = Cluster::new("m1", Default::default());
        let taint = json!({"key": "k", "effect": effect, "timeAdded": added});
        cluster.spec.taints = vec![parsed(taint)];
        cluster.labels_mut().insert("tier".into(), "gold".into());
        cluster
    }

    fn is_served(rules: &dyn Rules) -> bool {
        let deployment = parsed(json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}));
        rules.api_filter(&deployment, &cluster("", None), true).is_none()
    }

    fn stays(rules: &dyn Rules) -> bool {
        rules.taint_filter(&[], &cluster("NoSchedule", None), true, Timestamp::UNIX_EPOCH).is_none()
    }

    fn is_admitted(rules: &dyn Rules) -> bool {
        let brief: Toleration = parsed(json!({"operator": "Exists", "tolerationSeconds": 5}));
        let tainted = cluster("NoExecute", Some("1970-01-01T00:00:00Z"));
        rules.taint_filter(&[brief], &tainted, false, Timestamp::from_second(9).unwrap()).is_none()
    }

    fn is_chosen(rules: &dyn Rules) -> bool {
        let task = GracefulEvictionTask { from_cluster: "m1".into(), ..Default::default() };
        rules.eviction_filter(&[task], "m1").is_none()
    }

    fn leaves_two_tasks(rules: &dyn Rules) -> bool {
        let task = GracefulEvictionTask { from_cluster: "m1".into(), ..Default::default() };
        let mut spec = ResourceBindingSpec {
            clusters: targets(&["m1"]),
            graceful_eviction_tasks: vec![task.clone()],
            ..Default::default()
        };
        rules.evict(&mut spec, "m1", task) && spec.graceful_eviction_tasks.len() == 2
    }

    fn is_replaced_by_nothing(rules: &dyn Rules) -> bool {
        rules.is_replaced(true, &[], &[])
    }

    fn is_replaced_early(rules: &dyn Rules) -> bool {
        let report = json!({"clusterName": "m1", "applied": true, "health": "Healthy",
            "status": {"replicas": 5, "generation": 1, "observedGeneration": 1}});
        rules.is_replaced(true, &targets(&["m1"]), &[parsed(report)])
    }

    fn counts_what_is_lost(rules: &dyn Rules) -> bool {
        !rules.still_assigned(&targets(&["m9"]), &[]).is_empty()
    }

    fn observes_its_patch(rules: &dyn Rules) -> bool {
        rules.observed_generation(1, 2, Some(3)) == 3 && rules.observed_generation(1, 2, None) == 2
    }

    fn notices_a_lost_label(rules: &dyn Rules) -> bool {
        let gold = json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}});
        let spec = ResourceBindingSpec { placement: parsed(gold), ..Default::default() };
        let after = Cluster::new("m1", Default::default());
        rules.concerns(&spec, Some(&cluster("", None)), Some(&after))
    }

    fn schedules_what_is_suspended(rules: &dyn Rules) -> bool {
        let (placement, suspension) = (parsed(json!({})), parsed(json!({"scheduling": true})));
        let spec = ResourceBindingSpec { placement, suspension, ..Default::default() };
        rules.needs_scheduling(&spec, &BindingStatus::default(), None, false)
    }

    fn serves_others(rules: &dyn Rules) -> bool {
        let spec = ResourceBindingSpec { scheduler_name: "volcano".into(), ..Default::default() };
        rules.is_for_scheduler(&spec, "default-scheduler")
    }

    fn reports_failure_as_success(rules: &dyn Rules) -> bool {
        let work = json!({"metadata": {"name": "w", "namespace": "karmada-es-m1"},
            "spec": {"workload": {"manifests": []}}, "status": {"conditions": [{"type": "Applied",
            "status": "False", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        rules.aggregated_status(&[Arc::new(parsed(work))])[0].applied
    }

    #[test]
    fn a_bug_changes_its_rule_and_no_other() {
        type Ask = fn(&dyn Rules) -> bool;
        let rows: [(Bug, Ask, bool); 13] = [
            (Bug::ChosenWhileLeaving, is_chosen, true),
            (Bug::TwoTasks, leaves_two_tasks, true),
            (Bug::EarlierHealthCounts, is_replaced_early, true),
            (Bug::NothingReplaces, is_replaced_by_nothing, true),
            (Bug::TaintsDriveOut, stays, false),
            (Bug::KindsDriveOut, is_served, false),
            (Bug::LostReplicasCount, counts_what_is_lost, true),
            (Bug::OwnPatchUnobserved, observes_its_patch, false),
            (Bug::LostLabelsUnnoticed, notices_a_lost_label, false),
            (Bug::SuspensionIgnored, schedules_what_is_suspended, true),
            (Bug::OtherSchedulersServed, serves_others, true),
            (Bug::RunOutTolerationAdmits, is_admitted, true),
            (Bug::FailedIsApplied, reports_failure_as_success, true),
        ];
        assert!(rows.iter().map(|(bug, ..)| *bug).eq(Bug::all()));
        for (bug, ask, with_it) in rows {
            assert_eq!(ask(&Reference), !with_it, "the reference, {}", bug.name());
            for other in Bug::all() {
                let expected = if other == bug { with_it } else { !with_it };
                assert_eq!(ask(&Release::with(other)), expected, "{}, {}", bug.name(), other.name());
            }
        }
    }
}
