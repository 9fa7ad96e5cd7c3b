//! Checks that the reported status of a workload matches its copies: STATUS.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::faults_on_members::{OutdatedViews, is_hit};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::digest::Table;
use capsize_history::facts::{
    BackOffs, Change, Fact, Health, InstanceHealth, Template, Workload, WorkloadKey, World,
};
use capsize_sorted::CollectSorted;

static STATUS_01: GuaranteeSpec = GuaranteeSpec {
    id: "STATUS-01",
    sentence: "a copy is reported to be healthy if it runs all of its replicas, and only then",
    features: &[Feature::HealthProbes],
    formula: bounds::STATUS_REPORTED,
    releases: "the target for all; Karmada may miss the last report of a copy until the next change",
    source: "Karmada pkg/controllers/status/work_status_controller.go, rb_status_controller.go",
};

static STATUS_02: GuaranteeSpec = GuaranteeSpec {
    id: "STATUS-02",
    sentence: "the record of a workload has no status for a member without a manifest",
    features: &[Feature::HealthProbes],
    formula: bounds::STATUS_REPORTED,
    releases: "all",
    source: "Karmada pkg/util/helper/workstatus.go, AggregateResourceBindingWorkStatus",
};

static STATUS_03: GuaranteeSpec = GuaranteeSpec {
    id: "STATUS-03",
    sentence: "the status of a template has the sums of the replicas, and of the ready, updated and available ones, that are reported for its copies",
    features: &[Feature::HealthProbes],
    formula: bounds::STATUS_REPORTED,
    releases: "all; Karmada lost one member in the sum until 1.12 (#5853)",
    source: "Karmada pkg/resourceinterpreter/default/native/aggregatestatus.go",
};

/// The kinds whose copies report their ready replicas.
const COUNTED: [&str; 2] = ["Deployment", "StatefulSet"];

/// The result of the check of the report on a workload in a member.
/// It is `None` if nothing is required, else what is wrong, if anything.
type Assessment = Option<Option<Expectation>>;

/// Checks a report.
type Assess = fn(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Assessment;

/// Checks that the reports on copies are right in time, while their members can be reached.
pub(crate) struct CopyStatusIsReported {
    spec: &'static GuaranteeSpec,
    judges: Assess,
    outdated_views: OutdatedViews,
    /// The members without a manifest of the workload.
    /// The manifest existed and is gone, or was missing at the first report.
    gone: Table<WorkloadKey, BTreeSet<String>>,
    /// The workloads whose records have been observed, and the reports in the first version of each record.
    recorded: BTreeMap<WorkloadKey, BTreeSet<String>>,
    /// The workloads whose retries fail, since one of their members is away or being removed.
    retries: BackOffs<WorkloadKey>,
    deadlines: Deadlines,
}

impl CopyStatusIsReported {
    fn new(spec: &'static GuaranteeSpec, judges: Assess) -> Self {
        let (outdated_views, gone, recorded, retries, deadlines) = Default::default();
        Self { spec, judges, outdated_views, gone, recorded, retries, deadlines }
    }

    /// Requirement T11: an eviction waits for the report that the new copy is healthy.
    pub(crate) fn healthy() -> Self {
        Self::new(&STATUS_01, |key, workload, member, _| {
            let copy = workload.running.get(member).filter(|copy| copy.managed && copy.leaving.is_none())?;
            let delivery = workload.deliveries.get(member).filter(|it| it.leaving.is_none())?;
            let same = copy.reports && copy.replicas == delivery.replicas;
            // While old replicas are replaced, all may be ready although the copy is not healthy.
            let whole = same && copy.is_healthy() && copy.rolled_out && copy.replicas > 0;
            // A history may leave out the reports.
            let reported = workload.instances.get(member)?.health;
            // A copy for which nothing was dispatched comes from elsewhere, for example from a backup.
            let dispatched = !delivery.suspended || delivery.applied == Some(true);
            let counts = workload.recorded && COUNTED.contains(&key.kind()) && delivery.placed && dispatched;
            let lacks = same && copy.ready < copy.replicas;
            (counts && (whole || lacks)).then(|| {
                (whole != (reported == InstanceHealth::Healthy)).then(|| Expectation {
                    because: format!("{member} has {} of {} ready", copy.ready, copy.replicas),
                    observed: format!("{key} is reported as {reported:?} on {member}"),
                })
            })
        })
    }

    /// Requirement E4: no report on a member stays after the workload has left it.
    pub(crate) fn no_status_without_manifest() -> Self {
        Self::new(&STATUS_02, |key, workload, member, world| {
            let gone = !workload.deliveries.contains_key(member);
            (workload.recorded && gone && world.manifests_shown).then(|| {
                workload.instances.contains_key(member).then(|| Expectation {
                    because: format!("{member} has no manifest of {key}"),
                    observed: format!("the record of {key} still has a status for {member}"),
                })
            })
        })
    }

    /// Returns how late the next retry may be.
    /// Returns `None` while a member of the workload is away or is being removed.
    fn retried(&mut self, key: &WorkloadKey, fact: &Fact, context: &JudgeContext<'_>) -> Option<Duration> {
        let workload = context.workload(key)?;
        let stays = |member: &String| context.member(member).is_some_and(|known| !known.leaving);
        if workload.targets().all(stays) {
            self.retries.succeed(key, fact.at);
        } else {
            self.retries.fail(key, fact.at);
        }
        self.retries.remaining(key, fact.at)
    }

    /// Remembers the reports on members that have no manifest when the report appears.
    fn reported(&mut self, key: &WorkloadKey, member: &str, context: &JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else { return };
        let inherited = self.recorded.get(key);
        let is_new = inherited.is_some_and(|inherited| !inherited.contains(member));
        if is_new && workload.instances.contains_key(member) && !workload.deliveries.contains_key(member) {
            self.gone.entry(key.clone()).or_default().insert(member.to_owned());
        }
    }

    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let Some(retried) = self.retried(key, fact, context) else {
            return self.deadlines.cancel_of(key, |_| true);
        };
        let known =
            context.member(member).filter(|known| known.health == Some(Health::Ready) && !known.leaving);
        // The deletion of a manifest is known without a request to the member.
        let in_reach = known.is_some() && !is_hit(member, context);
        let asked = self.spec.id == STATUS_02.id || in_reach;
        let Some(workload) = context.workload(key).filter(|_| asked) else {
            return self.deadlines.cancel(&subject);
        };
        // A history that begins late may not show an existing manifest.
        let seen = self.spec.id != STATUS_02.id
            || self.gone.get(key).is_some_and(|members| members.contains(member));
        let Some(wrong) = (self.judges)(key, workload, member, context.world).filter(|_| seen) else {
            return self.deadlines.cancel(&subject);
        };
        if wrong.is_none() && !self.deadlines.has(&subject) {
            return context.tally.record_held();
        }
        let late = if self.spec.id == STATUS_02.id {
            Duration::ZERO
        } else {
            let away = known.map(|known| known.away).unwrap_or_default();
            let back =
                known.map(|known| known.health_since + bounds::observed_again(context.timings(), away));
            let unseen = back.unwrap_or_default().saturating_sub(fact.at);
            unseen
                .max(self.outdated_views.remaining_delay(member, fact.at))
                .max(workload.retried_after(member, fact.at))
        };
        let allowed = bounds::status_reported(context.timings()) + late.max(retried);
        self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
    }

    /// Checks all workloads that may be on `member`.
    fn look_at_member(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let keys: Vec<WorkloadKey> = context.world.assigned_to(member).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.look(&key, member, fact, context);
        }
    }
}

impl Guarantee for CopyStatusIsReported {
    accessors!(
        self.spec,
        [
            Recorded,
            InstanceHealth,
            Running,
            RunningGone,
            Delivered,
            Recalled,
            DeliveryGone,
            FaultBegan,
            FaultEnded,
            Health,
            MemberLeaving,
            MemberGone,
            WorkloadGone
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.outdated_views.observe(fact, context);
        match &fact.change {
            Change::DeliveryGone { workload, member } => {
                self.gone.entry(workload.clone()).or_default().insert(member.clone());
            }
            Change::Delivered { workload, member, .. } => {
                if let Some(members) = self.gone.get_mut(workload) {
                    members.remove(member);
                }
            }
            Change::Recorded(key) if !self.recorded.contains_key(key) => {
                let workload = context.workload(key);
                let members = workload.into_iter().flat_map(|workload| workload.instances.keys().cloned());
                self.recorded.insert(key.clone(), members.collect_sorted());
            }
            Change::InstanceHealth { workload, member } => self.reported(workload, member, context),
            Change::WorkloadGone(key) => {
                self.recorded.remove(key);
                self.gone.swap_remove(key);
                self.retries.forget(key);
            }
            _ => {}
        }
        match &fact.change {
            Change::InstanceHealth { workload, member }
            | Change::Running { workload, member }
            | Change::RunningGone { workload, member }
            | Change::Delivered { workload, member, .. }
            | Change::Recalled { workload, member }
            | Change::DeliveryGone { workload, member } => self.look(workload, member, fact, context),
            Change::FaultBegan { member: Some(member), .. } if self.spec.id != STATUS_02.id => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            Change::FaultEnded { member: Some(member), .. } | Change::Health { member, .. } => {
                self.look_at_member(member, fact, context);
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
                self.look_at_member(member, fact, context);
            }
            Change::WorkloadGone(key) => self.deadlines.cancel_of(key, |_| true),
            _ => {}
        }
    }
}

/// Requirement S18: a user who reads the template sees the sum of the copies.
#[derive(Default)]
pub(crate) struct TemplateStatusIsSumOfCopies {
    deadlines: Deadlines,
    /// The templates whose status has been observed.
    known: BTreeSet<WorkloadKey>,
}

impl Guarantee for TemplateStatusIsSumOfCopies {
    accessors!(STATUS_03, [InstanceHealth, InstanceCounts, Template, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let key = match &fact.change {
            Change::InstanceHealth { workload: key, .. }
            | Change::InstanceCounts { workload: key, .. }
            | Change::Template(key) => key,
            Change::WorkloadGone(key) => {
                self.known.remove(key);
                return self.deadlines.cancel(&Subject::workload(key));
            }
            _ => return,
        };
        let subject = Subject::workload(key);
        let workload = context.workload(key).filter(|workload| workload.recorded);
        let template = context.world.templates.get(key).filter(|template| !template.leaving);
        let Some((workload, template)) = workload.zip(template).filter(|_| COUNTED.contains(&key.kind()))
        else {
            return self.deadlines.cancel(&subject);
        };
        if template.ready.is_some() {
            self.known.insert(key.clone());
        }
        // A history may leave out the status of templates, and of all copies.
        let unreported = workload.instances.values().all(|instance| !instance.has_status);
        if !self.known.contains(key) || unreported && !workload.instances.is_empty() {
            return self.deadlines.cancel(&subject);
        }
        let ready = |instance: &capsize_history::facts::Instance| instance.ready.unwrap_or_default();
        let reported =
            workload.instances.values().fold(0, |sum: u64, instance| sum.saturating_add(ready(instance)));
        let shown = template.ready.unwrap_or_default();
        let sum = (shown != reported)
            .then_some(("ready", reported, shown))
            .or_else(|| other_sum(workload, template));
        let wrong = sum.map(|(what, reported, shown)| Expectation {
            because: format!("{reported} {what} replicas are reported for the copies of {key}"),
            observed: format!("its template shows {shown}"),
        });
        if wrong.is_none() && !self.deadlines.has(&subject) {
            return context.tally.record_held();
        }
        let allowed: Duration = bounds::status_reported(context.timings());
        self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
    }
}

/// Returns the first other count of the template that is not the sum of the reports.
/// The result is the name, the sum and the count. Only counts that the template and every copy report are compared.
fn other_sum(workload: &Workload, template: &Template) -> Option<(&'static str, u64, u64)> {
    ["present", "updated", "available"].into_iter().enumerate().find_map(|(place, name)| {
        let shown = template.counts[place]?;
        let mut reported = workload.instances.values().map(|instance| instance.counts[place]);
        let sum = reported.try_fold(0, |sum: u64, count| Some(sum.saturating_add(count?)))?;
        (sum != shown).then_some((name, sum, shown))
    })
}
