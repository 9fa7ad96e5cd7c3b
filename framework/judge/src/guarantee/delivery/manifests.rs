//! Which manifests there are for the members: DELIVERY.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Topics, Violation, topics,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Timings;
use capsize_history::facts::{Change, Fact, Workload, WorkloadKey, World};

static DELIVERY_01: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-01",
    sentence: "there is a manifest for each member that a workload, or what needs it, is assigned to",
    features: &[],
    formula: bounds::WRITTEN,
    releases: "all",
    source: "Karmada pkg/controllers/binding/common.go, ensureWork",
};

static DELIVERY_02: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-02",
    sentence: "there is no manifest for a member that a workload has left, or that has lost its record",
    features: &[],
    formula: bounds::RECALLED,
    releases: "all; Karmada leaves one where a template comes and goes quickly (#4483, #7896)",
    source: "Karmada pkg/controllers/binding/binding_controller.go, removeOrphanWorks",
};

/// Of the manifest for a member: `None` where nothing is asked, else what is wrong, if anything.
type Assessment = Option<Option<Expectation>>;

/// There is a manifest where one is needed, or none where none is: right in time after each change.
pub(crate) struct ManifestsFollowAssignment {
    spec: &'static GuaranteeSpec,
    judged: fn(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Assessment,
    limit: fn(&Timings, &Workload) -> Duration,
    deadlines: Deadlines,
}

impl ManifestsFollowAssignment {
    /// T9, S15, S20 and E5: manifests come in time. One that goes directly goes first.
    pub(crate) fn written() -> Self {
        let limit = |timings: &Timings, workload: &Workload| {
            bounds::written(timings, workload.evictions.iter().any(|task| task.directly))
        };
        Self { spec: &DELIVERY_01, judged: written, limit, deadlines: Deadlines::default() }
    }

    /// T13 and S15: manifests that nobody needs any more are recalled in time. Those of a workload whose record was never
    /// seen are left alone: a history may begin in the middle.
    pub(crate) fn no_orphans() -> Self {
        Self {
            spec: &DELIVERY_02,
            judged: orphaned,
            limit: |timings, _| bounds::recalled(timings),
            deadlines: Deadlines::default(),
        }
    }

    fn look_at_all(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key) else {
            return self.deadlines.cancel_of(key, |_| true);
        };
        let (targets, written) = (workload.targets(), workload.deliveries.keys());
        let members: BTreeSet<&String> = targets.chain(written).collect();
        self.deadlines
            .cancel_of(key, |subject| !subject.member.as_ref().is_some_and(|it| members.contains(it)));
        for member in members {
            self.look(key, member, fact, context);
        }
    }

    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(key, member);
        let Some(workload) = context.workload(key) else { return self.deadlines.cancel(&subject) };
        // A record that was never seen is not one that was lost.
        let lost = matches!(fact.change, Change::WorkloadGone(_));
        let unseen = self.spec.id == DELIVERY_02.id && !workload.recorded && !lost;
        match (self.judged)(key, workload, member, context.world) {
            None => self.deadlines.cancel(&subject),
            Some(Some(_)) if unseen => {}
            Some(wrong) => {
                // Where an old one took some time to go, whoever waited for it may not look again at once.
                let waited = workload.retried_after(member, fact.at);
                let limit = (self.limit)(context.timings(), workload) + waited;
                self.deadlines.expect_correction(subject, fact, limit, wrong, context);
            }
        }
    }
}

impl Guarantee for ManifestsFollowAssignment {
    fn spec(&self) -> &'static GuaranteeSpec {
        self.spec
    }

    fn topics(&self) -> Topics {
        topics![
            Assigned,
            Required,
            EvictionEnded,
            WorkloadGone,
            DeliveryGone,
            Delivered,
            Recalled,
            MemberLeaving,
            MemberGone
        ]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Assigned { workload: key, .. }
            | Change::Required(key)
            | Change::EvictionEnded { workload: key, .. }
            | Change::WorkloadGone(key) => self.look_at_all(key, fact, context),
            Change::DeliveryGone { workload: key, member } => {
                self.look(key, member, fact, context);
                // What waited for an old one to go waits no more.
                self.look_at_all(key, fact, context);
            }
            Change::Delivered { workload, member, .. } | Change::Recalled { workload, member } => {
                self.look(workload, member, fact, context);
            }
            Change::MemberLeaving(member) if self.spec.id == DELIVERY_01.id => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            Change::MemberGone(member) => self.deadlines.cancel_all(|subject| subject.is_on(member)),
            _ => {}
        }
    }
}

/// Whether new manifests have to wait for an old one that goes directly.
fn awaits_purge(workload: &Workload) -> bool {
    let mut purged = workload.evictions.iter().filter(|task| task.directly);
    purged.any(|task| workload.deliveries.contains_key(&task.member))
}

fn written(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Assessment {
    let stays = world.members.get(member).is_some_and(|member| !member.leaving);
    let delivery = workload.deliveries.get(member);
    // An old manifest that is still going is waited for.
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
        because: format!("{key} is to be on {member}"),
        missing: format!("there is no manifest of it for {member}"),
    }))
}

fn orphaned(key: &WorkloadKey, workload: &Workload, member: &str, _: &World) -> Assessment {
    let Some(delivery) = workload.deliveries.get(member) else { return Some(None) };
    let orphan =
        delivery.placed && delivery.leaving.is_none() && !workload.holders().any(|holder| holder == member);
    Some(orphan.then(|| Expectation {
        because: format!("{key} is not on {member} any more"),
        missing: format!("the manifest of it for {member} is not deleted"),
    }))
}

static DELIVERY_03: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-03",
    sentence: "two manifests never ask for the same copy in the same member",
    features: &[],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/util/names/names.go, GenerateWorkName",
};

/// S16.
pub(crate) struct OneManifestPerCopy;

impl Guarantee for OneManifestPerCopy {
    fn spec(&self) -> &'static GuaranteeSpec {
        &DELIVERY_03
    }

    fn topics(&self) -> Topics {
        topics![Delivered, DeliveredTwice]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Delivered { new: true, .. } => context.tally.record_held(),
            Change::DeliveredTwice { workload, member } => {
                let because = format!("there is a manifest of it for {member} already");
                let subject = Subject::on(workload, member);
                let seen = format!("there is another for {member}");
                context.report_violation(Violation::by(fact, subject, Bound::Never, because, seen));
            }
            _ => {}
        }
    }
}
