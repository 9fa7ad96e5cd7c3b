//! Checks that each member has the manifests that it needs, and no two for one copy: DELIVERY.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::{Feature, Timings};
use capsize_history::facts::{Change, Fact, Health, InstanceHealth, Workload, WorkloadKey, World};
use capsize_sorted::CollectSorted;

static DELIVERY_01: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-01",
    sentence: "a workload has a manifest for each member that it is assigned to, and for each member of the workloads that need it",
    features: &[],
    formula: bounds::MANIFEST_WRITTEN,
    releases: "all",
    source: "Karmada pkg/controllers/binding/common.go, ensureWork",
};

static DELIVERY_02: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-02",
    sentence: "a workload has no manifest for a member that it has left, and none after the deletion of its record",
    features: &[],
    formula: bounds::MANIFEST_DELETED,
    releases: "all; Karmada leaves one if a template is created and deleted quickly (#4483, #7896)",
    source: "Karmada pkg/controllers/binding/binding_controller.go, removeOrphanWorks",
};

/// The result of the check of a manifest for a member.
/// It is `None` if nothing is required, else what is wrong, if anything.
type Assessment = Option<Option<Expectation>>;

/// Checks that manifests exist for the right members, in time after each change.
pub(crate) struct ManifestsFollowAssignment {
    spec: &'static GuaranteeSpec,
    judged: fn(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Assessment,
    limit: fn(&Timings, &Workload) -> Duration,
    deadlines: Deadlines,
    /// The workloads of which a manifest was observed.
    shown: BTreeSet<WorkloadKey>,
    /// The members at the first observation of each workload in a history that begins late.
    /// Their manifests may be missing in the history.
    inherited: BTreeMap<WorkloadKey, BTreeSet<String>>,
}

impl ManifestsFollowAssignment {
    /// Requirements T9, S15, S20 and E5: manifests are written in time.
    /// An old manifest that is purged directly goes first.
    pub(crate) fn written() -> Self {
        let limit = |timings: &Timings, workload: &Workload| {
            bounds::manifest_written(timings, workload.evictions.iter().any(|task| task.directly))
        };
        Self {
            spec: &DELIVERY_01,
            judged: written,
            limit,
            deadlines: Deadlines::default(),
            shown: BTreeSet::new(),
            inherited: BTreeMap::new(),
        }
    }

    /// Requirements T13 and S15: manifests that are no longer needed are deleted in time.
    /// A workload whose record was never observed is not checked, because a history may begin in the middle.
    pub(crate) fn no_orphans() -> Self {
        Self {
            spec: &DELIVERY_02,
            judged: orphaned,
            limit: |timings, _| bounds::manifest_deleted(timings),
            deadlines: Deadlines::default(),
            shown: BTreeSet::new(),
            inherited: BTreeMap::new(),
        }
    }

    fn look_at_all(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else {
            return self.deadlines.cancel_of(key, |_| true);
        };
        let (targets, written) = (workload.targets(), workload.deliveries.keys());
        let members: BTreeSet<&String> = targets.chain(written).collect_sorted();
        self.deadlines
            .cancel_of(key, |subject| !subject.member.as_ref().is_some_and(|it| members.contains(it)));
        for member in members {
            self.look(key, member, fact, context);
        }
    }

    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let Some(workload) = context.workload(key) else { return self.deadlines.cancel(&subject) };
        // A record that was never observed is not a deleted one.
        let lost = matches!(fact.change, Change::WorkloadGone(_));
        let unseen = self.spec.id == DELIVERY_02.id && !workload.recorded && !lost;
        match (self.judged)(key, workload, member, context.world) {
            None => self.deadlines.cancel(&subject),
            Some(Some(_)) if unseen || self.inherits(key, member) => {}
            Some(Some(_)) if self.spec.id == DELIVERY_02.id && may_stay(workload, member, context) => {
                self.deadlines.cancel(&subject);
            }
            Some(wrong) => {
                // After a slow deletion of an old manifest, controllers that waited for it may retry late.
                let mut waited = workload.retried_after(member, fact.at);
                if self.spec.id == DELIVERY_01.id {
                    waited = waited.max(retried_for_others(workload, fact.at));
                }
                if self.spec.id == DELIVERY_02.id && chooses_again(workload, member, context) {
                    waited += context.timings().recheck;
                }
                let limit = (self.limit)(context.timings(), workload) + waited;
                self.deadlines.expect_correction(subject, fact, limit, wrong, context);
            }
        }
    }
}

impl ManifestsFollowAssignment {
    /// Records the members that a workload has when it is first observed.
    fn note_inherited(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        match &fact.change {
            Change::Assigned { workload: key, .. } | Change::Required(key) if context.world.begun_late => {
                if !self.inherited.contains_key(key)
                    && let Some(workload) = context.workload(key)
                {
                    self.inherited.insert(key.clone(), workload.targets().cloned().collect_sorted());
                }
            }
            Change::Delivered { workload, member, .. } => {
                if let Some(members) = self.inherited.get_mut(workload) {
                    members.remove(member);
                }
            }
            Change::WorkloadGone(key) => drop(self.inherited.remove(key)),
            _ => {}
        }
    }

    /// Returns true if the manifest for the member may have been written before a history that begins late.
    fn inherits(&self, key: &WorkloadKey, member: &str) -> bool {
        self.spec.id == DELIVERY_01.id
            && self.inherited.get(key).is_some_and(|members| members.contains(member))
    }
}

impl Guarantee for ManifestsFollowAssignment {
    accessors!(
        self.spec,
        [
            Assigned,
            Required,
            EvictionEnded,
            WorkloadGone,
            DeliveryGone,
            Delivered,
            Recalled,
            MemberLeaving,
            MemberGone,
            Health,
            InstanceHealth
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.note_inherited(fact, context);
        match &fact.change {
            Change::Assigned { workload: key, .. }
            | Change::Required(key)
            | Change::EvictionEnded { workload: key, .. }
            | Change::WorkloadGone(key) => self.look_at_all(key, fact, context),
            Change::DeliveryGone { workload: key, member } => {
                self.look(key, member, fact, context);
                // The end of an old manifest may allow other manifests.
                self.look_at_all(key, fact, context);
            }
            Change::Delivered { workload, member, .. } | Change::Recalled { workload, member } => {
                self.look(workload, member, fact, context);
                // The first manifest shows that the history records manifests, so that others can be missing.
                let targets = context.workload(workload).into_iter().flat_map(Workload::targets);
                if !self.shown.contains(workload) && targets.into_iter().any(|target| target == member) {
                    self.shown.insert(workload.clone());
                    self.look_at_all(workload, fact, context);
                }
            }
            Change::Health { member, .. } if self.spec.id == DELIVERY_02.id && keeps_some(context) => {
                let workloads = context.world.workloads.iter();
                for (key, _) in workloads.filter(|(_, it)| it.deliveries.contains_key(member)) {
                    self.look(key, member, fact, context);
                }
            }
            Change::InstanceHealth { workload, .. }
                if self.spec.id == DELIVERY_02.id && keeps_some(context) =>
            {
                self.look_at_all(workload, fact, context);
            }
            Change::MemberLeaving(member) if self.spec.id == DELIVERY_01.id => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            Change::MemberGone(member) => self.deadlines.cancel_all(|subject| subject.is_on(member)),
            _ => {}
        }
    }
}

/// Returns true if new manifests have to wait for an old one that is purged directly.
fn awaits_purge(workload: &Workload) -> bool {
    let mut purged = workload.evictions.iter().filter(|task| task.directly);
    purged.any(|task| workload.deliveries.contains_key(&task.member))
}

/// Returns how long controllers may still back off for old manifests of the workload in any member.
/// One failure for a member lets the controllers try the whole workload again later. The back-off is at most as long as
/// the manifest has been in deletion.
fn retried_for_others(workload: &Workload, now: Duration) -> Duration {
    let targets = || workload.targets();
    let ended = targets().map(|member| workload.retried_after(member, now)).max();
    let going = targets().filter_map(|member| workload.deliveries.get(member)?.leaving);
    let going = going.map(|since| now.saturating_sub(since)).max();
    ended.max(going).unwrap_or_default().min(bounds::LONGEST_BACK_OFF)
}

fn written(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Assessment {
    let stays = world.members.get(member).is_some_and(|member| !member.leaving);
    let delivery = workload.deliveries.get(member);
    // An old manifest that is being deleted must go first.
    let going = delivery.is_some_and(|delivery| delivery.leaving.is_some());
    let target = workload.recorded && workload.targets().any(|target| target == member);
    if !stays
        || world.is_closed(member)
        || going
        || !target
        || awaits_purge(workload)
        || !world.manifests_shown
    {
        return None;
    }
    Some(delivery.is_none().then(|| Expectation {
        because: format!("{member} must have {key}"),
        observed: format!("{member} has no manifest of it"),
    }))
}

fn orphaned(key: &WorkloadKey, workload: &Workload, member: &str, _: &World) -> Assessment {
    let Some(delivery) = workload.deliveries.get(member) else { return Some(None) };
    let orphan =
        delivery.placed && delivery.leaving.is_none() && !workload.holders().any(|holder| holder == member);
    Some(orphan.then(|| Expectation {
        because: format!("{key} has left {member}"),
        observed: format!("its manifest for {member} is not deleted"),
    }))
}

/// Whether the target promises to keep some copies that workloads have left for a while.
fn keeps_some(context: &JudgeContext<'_>) -> bool {
    [Feature::KeepsChosenCopies, Feature::ReplacesBeforeRemoval]
        .into_iter()
        .any(|feature| context.profile.has(feature))
}

/// Returns true if the workload is being evicted from `member`, and may come back.
/// The target may choose the member again when it is back.
fn chooses_again(workload: &Workload, member: &str, context: &JudgeContext<'_>) -> bool {
    let evicted = workload.evictions.iter().any(|task| task.member == member);
    evicted && context.profile.has(Feature::KeepsChosenCopies)
}

/// Returns true if the old manifest may stay for now.
/// The member may be chosen again when it is back, or the workload does not run elsewhere yet.
fn may_stay(workload: &Workload, member: &str, context: &JudgeContext<'_>) -> bool {
    let is_ready = context.member(member).is_some_and(|member| member.health == Some(Health::Ready));
    let healthy = |name: &String| {
        workload.instances.get(name).is_some_and(|instance| instance.health == InstanceHealth::Healthy)
    };
    let evicted = workload.evictions.iter().any(|task| task.member == member);
    let is_replaced = !workload.assignment.is_empty() && workload.assignment.keys().all(healthy);
    let awaits_replacement = context.profile.has(Feature::ReplacesBeforeRemoval) && is_ready && !is_replaced;
    chooses_again(workload, member, context) && !is_ready || evicted && awaits_replacement
}

static DELIVERY_03: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-03",
    sentence: "two manifests never ask for the same copy in the same member",
    features: &[],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/util/names/names.go, GenerateWorkName",
};

/// Requirement S16: no two manifests exist for one copy.
pub(crate) struct OneManifestPerCopy;

impl Guarantee for OneManifestPerCopy {
    accessors!(DELIVERY_03, [Delivered, DeliveredTwice]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Delivered { new: true, .. } => context.tally.record_held(),
            Change::DeliveredTwice { workload, member } => {
                let because = format!("it already has a manifest for {member}");
                let subject = Subject::on(workload, member);
                let seen = format!("it has a second manifest for {member}");
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
            _ => {}
        }
    }
}
