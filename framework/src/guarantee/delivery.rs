//! Which manifests there are for the members: DELIVERY.

use std::time::Duration;

use super::bounds;
use super::court::{Charge, Court, Guarantee, Reason, Waits};
use super::{Bound, Rule, Subject};
use crate::facts::{Fact, News, Workload, WorkloadKey};

static WRITTEN: Rule = Rule {
    id: "DELIVERY-01",
    sentence: "there is a manifest for each member that a workload, or what needs it, is assigned to",
    features: &[],
    formula: bounds::WRITTEN,
    releases: "all",
    source: "Karmada pkg/controllers/binding/common.go, ensureWork",
};

static ORPHANS: Rule = Rule {
    id: "DELIVERY-02",
    sentence: "there is no manifest for a member that a workload has left, or that has lost its record",
    features: &[],
    formula: bounds::RECALLED,
    releases: "all; Karmada leaves one where a template comes and goes quickly (#4483, #7896)",
    source: "Karmada pkg/controllers/binding/binding_controller.go, removeOrphanWorks",
};

/// T9, S15, S20 and E5: manifests come in time. One that goes directly goes first.
#[derive(Default)]
pub(super) struct Written(Waits);

/// Whether new manifests have to wait for an old one that goes directly.
fn awaits_purge(workload: &Workload) -> bool {
    let mut purged = workload.evictions.iter().filter(|task| task.directly);
    purged.any(|task| workload.deliveries.contains_key(&task.member))
}

impl Guarantee for Written {
    fn rule(&self) -> &'static Rule {
        &WRITTEN
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        self.0.observe(fact, court);
        match &fact.news {
            News::Assigned { workload: key, .. }
            | News::Required(key)
            | News::EvictionEnded { workload: key, .. }
            | News::DeliveryGone { workload: key, .. } => self.look_at_all(key, fact, court),
            News::Delivered { workload, member, .. } | News::Recalled { workload, member } => {
                self.look(workload, member, fact, court);
            }
            News::WorkloadGone(key) => self.0.cancel_of(key, |_| true),
            News::MemberLeaving(member) | News::MemberGone(member) => {
                self.0.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        self.0.pass(now, court);
    }
}

impl Written {
    fn look_at_all(&mut self, key: &WorkloadKey, fact: &Fact, court: &mut Court<'_>) {
        let Some(workload) = court.world.workloads.get(key) else { return };
        self.0.cancel_of(key, |subject| {
            !workload.targets().any(|target| subject.member.as_ref() == Some(target))
        });
        for member in workload.targets() {
            self.look(key, member, fact, court);
        }
    }

    fn look(&mut self, key: &WorkloadKey, member: &str, fact: &Fact, court: &mut Court<'_>) {
        let Some(workload) = court.world.workloads.get(key).filter(|workload| workload.recorded) else {
            return;
        };
        let subject = Subject::on(key, member);
        let stays = court.world.members.get(member).is_some_and(|member| !member.leaving);
        let delivery = workload.deliveries.get(member);
        // An old manifest that is still going is waited for.
        let going = delivery.is_some_and(|delivery| delivery.leaving);
        let target = workload.targets().any(|target| target == member);
        if !stays || going || !target || awaits_purge(workload) || !court.world.manifests_shown {
            return self.0.cancel(&subject);
        }
        let missing = delivery.is_none().then(|| Reason {
            because: format!("{key} is to be on {member}"),
            missing: format!("there is no manifest of it for {member}"),
        });
        let purged = workload.evictions.iter().any(|task| task.directly);
        self.0.heal(subject, fact, bounds::written(court.timings(), purged), missing, court);
    }
}

/// T13 and S15: manifests that nobody needs any more are recalled in time. Those of a workload whose record was never
/// seen are left alone: a history may begin in the middle.
#[derive(Default)]
pub(super) struct Orphans(Waits);

impl Guarantee for Orphans {
    fn rule(&self) -> &'static Rule {
        &ORPHANS
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        self.0.observe(fact, court);
        match &fact.news {
            News::Assigned { workload: key, .. }
            | News::Required(key)
            | News::EvictionEnded { workload: key, .. }
            | News::WorkloadGone(key) => self.look_at_all(key, fact, court),
            News::Delivered { workload: key, .. }
                if court.world.workloads.get(key).is_some_and(|workload| workload.recorded) =>
            {
                self.look_at_all(key, fact, court);
            }
            News::Recalled { workload, member } | News::DeliveryGone { workload, member } => {
                self.0.heal(Subject::on(workload, member), fact, Duration::ZERO, None, court);
            }
            News::MemberGone(member) => self.0.cancel_all(|subject| subject.is_on(member)),
            _ => {}
        }
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        self.0.pass(now, court);
    }
}

impl Orphans {
    fn look_at_all(&mut self, key: &WorkloadKey, fact: &Fact, court: &mut Court<'_>) {
        let Some(workload) = court.world.workloads.get(key) else { return };
        for (member, delivery) in &workload.deliveries {
            let orphan =
                delivery.placed && !delivery.leaving && !workload.holders().any(|holder| holder == member);
            let wrong = orphan.then(|| Reason {
                because: format!("{key} is not on {member} any more"),
                missing: format!("the manifest of it for {member} is not deleted"),
            });
            let limit = bounds::recalled(court.timings());
            self.0.heal(Subject::on(key, member), fact, limit, wrong, court);
        }
    }
}

static ONCE: Rule = Rule {
    id: "DELIVERY-03",
    sentence: "two manifests never ask for the same copy in the same member",
    features: &[],
    formula: "at every version",
    releases: "all",
    source: "Karmada pkg/util/names/names.go, GenerateWorkName",
};

/// S16.
pub(super) struct Once;

impl Guarantee for Once {
    fn rule(&self) -> &'static Rule {
        &ONCE
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::Delivered { new: true, .. } => court.book.held(),
            News::DeliveredTwice { workload, member } => {
                let because = format!("there is a manifest of it for {member} already");
                let subject = Subject::on(workload, member);
                let seen = format!("there is another for {member}");
                court.violated(Charge::by(fact, subject, Bound::Never, because, seen));
            }
            _ => {}
        }
    }
}
