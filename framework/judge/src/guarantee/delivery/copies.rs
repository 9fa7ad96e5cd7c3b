//! What the members hold of what was written for them: DELIVERY.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::away::is_hit;
use crate::guarantee::engine::bounds::{self, Failing};
use crate::guarantee::engine::court::{Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::{Rule, Subject};
use capsize_history::FaultKind;
use capsize_history::digest::Table;
use capsize_history::facts::{Content, Delivery, Fact, Health, News, Running, Workload, WorkloadKey, World};

static DELIVERY_04: Rule = Rule {
    id: "DELIVERY-04",
    sentence: "a member that can be reached holds what was written for it, as it was written",
    features: &[],
    formula: bounds::REACHED,
    releases: "all; Karmada 1.5 may lose the copy of a member that is chosen again",
    source: "Karmada pkg/controllers/execution/execution_controller.go, status/work_status_controller.go",
};

static DELIVERY_05: Rule = Rule {
    id: "DELIVERY-05",
    sentence: "a copy goes with its manifest, also from a member that was away, unless it is to be preserved",
    features: &[],
    formula: bounds::GONE,
    releases: "all; Karmada leaves copies in members that are removed while away (#5071, #5375)",
    source: "Karmada pkg/controllers/execution/execution_controller.go",
};

/// What is wrong with the workload in the member.
pub(crate) type Wrong =
    fn(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Option<Reason>;

/// Something that must be so of the copy of a workload in a member, as soon as that can be reached. What waits for a
/// member is tried at ever longer intervals, so that it may come as late after the member is back as that was away. Whoever
/// watches a member that was cut off waits to do so again, so that what is lost there soon after may be missed late; an agent that
/// was cut off waits to watch what is written for it, too, so that new things may come late.
pub(crate) struct CopyFollowsManifest {
    rule: &'static Rule,
    wrong: Wrong,
    waits: Waits,
    /// What is wrong in members that cannot be reached.
    away: Table<String, BTreeSet<WorkloadKey>>,
    /// Since when faults hit a member.
    hit: Table<String, Duration>,
    /// Until when the agent of a member that is back may not have looked again, or whoever watches one that is back without
    /// what it held.
    unseen: Table<String, Duration>,
    /// Until when whoever watches a member that is back may not have seen what has happened in it.
    unwatched: Table<String, Duration>,
    /// Those that have lost what they held, and have not been in reach since.
    lost: BTreeSet<String>,
    /// What was written for members that faults hit.
    asked: Table<String, BTreeSet<WorkloadKey>>,
    /// Until when a member may still be asked for that.
    asking: BTreeMap<Subject, Duration>,
}

impl CopyFollowsManifest {
    pub(crate) fn new(rule: &'static Rule, wrong: Wrong) -> Self {
        let (waits, away, hit, unseen, unwatched, lost, asked, asking) = Default::default();
        Self { rule, wrong, waits, away, hit, unseen, unwatched, lost, asked, asking }
    }

    /// T10, S17, V13 and E1: what is delivered is there.
    pub(crate) fn applied() -> Self {
        Self::new(&DELIVERY_04, not_applied)
    }
}

fn not_applied(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Option<Reason> {
    let delivery = workload.deliveries.get(member)?;
    let shown = world.kinds_shown.contains(key.kind()) && world.observers.observes(member);
    // What cannot be written is told of the manifest; what is held back need not come.
    if !shown || delivery.leaving.is_some() || delivery.suspended || delivery.applied == Some(false) {
        return None;
    }
    let retained = delivery.labels.contains_key("resourcetemplate.karmada.io/retain-replicas");
    let missing = match workload.running.get(member) {
        // Nothing can be written over a copy that is being deleted, nor into a namespace that is.
        Some(running) if running.leaving.is_some() => return None,
        None if is_closed(key.namespace(), member, world) => return None,
        None => format!("{member} has no copy of it"),
        Some(running) if !running.managed => format!("what {member} has is its own"),
        Some(running)
            if running.replicas != delivery.replicas && !retained && !is_hidden(delivery, running) =>
        {
            format!("{member} has it with {} replicas", running.replicas)
        }
        Some(running) => {
            format!("{member} has it with {}", copied(&delivery.asks).difference(&running.asks)?.0)
        }
    };
    let because = match delivery.replicas {
        0 => format!("{key} is written for {member}"),
        replicas => format!("{key} is written for {member} with {replicas} replicas"),
    };
    Some(Reason { because, missing })
}

/// What a copy must have of what its manifest asks for: of kinds that are not Kubernetes' own the member may add what is not said.
fn copied(asks: &Content) -> Cow<'_, Content> {
    match asks.custom {
        None => Cow::Borrowed(asks),
        Some(_) => Cow::Owned(Content { custom: None, ..asks.clone() }),
    }
}

/// Whether the history leaves out what one of the two asks for.
fn is_hidden(delivery: &Delivery, running: &Running) -> bool {
    delivery.asks.hidden || running.asks.hidden
}

/// Whether `member` is deleting the namespace of this name.
fn is_closed(namespace: &str, member: &str, world: &World) -> bool {
    let namespace = world.workloads.get(&WorkloadKey::new("Namespace", "", namespace));
    let there = namespace.and_then(|namespace| namespace.running.get(member));
    there.is_some_and(|there| there.leaving.is_some())
}

/// Whether what is written for `member` was there at some time.
fn was_applied(workload: &Workload, member: &str) -> bool {
    workload.deliveries.get(member).is_some_and(|delivery| delivery.applied == Some(true))
}

/// Whether nothing is known that keeps the control plane from `member`.
fn is_reachable(member: &str, court: &Court<'_>) -> bool {
    let known = court.member(member);
    !is_hit(member, court) && known.is_some_and(|known| known.health == Some(Health::Ready) && !known.leaving)
}

impl Guarantee for CopyFollowsManifest {
    fn rule(&self) -> &'static Rule {
        self.rule
    }

    fn topics(&self) -> Topics {
        topics![
            Delivered,
            DeliveryTold,
            Rewritten,
            Recalled,
            DeliveryGone,
            Running,
            RunningGone,
            FaultBegan,
            Health,
            FaultEnded,
            MemberLeaving,
            MemberGone
        ]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.waits)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::FaultEnded { fault, member: Some(member) } => self.asked(*fault, member, fact, court),
            News::Delivered { workload, member, .. }
            | News::Rewritten { workload, member }
            | News::Recalled { workload, member }
                if is_hit(member, court) =>
            {
                self.asked.entry(member.clone()).or_default().insert(workload.clone());
            }
            _ => {}
        }
        match &fact.news {
            News::Delivered { workload, member, .. }
            | News::DeliveryTold { workload, member }
            | News::Rewritten { workload, member }
            | News::Recalled { workload, member }
            | News::DeliveryGone { workload, member }
            | News::Running { workload, member }
            | News::RunningGone { workload, member } => {
                self.look(workload, member, Duration::ZERO, fact, court);
            }
            News::FaultBegan { member: Some(member), fault } => {
                self.lost.extend(fault.loses_data().then(|| member.clone()));
                self.hit.entry(member.clone()).or_insert(fact.at);
                self.set_aside(member);
            }
            News::Health { member, now, .. } if *now != Some(Health::Ready) => self.set_aside(member),
            News::FaultEnded { member: Some(member), .. } | News::Health { member, .. }
                if is_reachable(member, court) =>
            {
                self.back(member, fact, court);
            }
            News::MemberLeaving(member) | News::MemberGone(member) => {
                self.away.swap_remove(member);
                self.hit.swap_remove(member);
                self.unseen.swap_remove(member);
                self.unwatched.swap_remove(member);
                self.lost.remove(member);
                self.asked.swap_remove(member);
                self.asking.retain(|subject, _| !subject.is_on(member));
                self.waits.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl CopyFollowsManifest {
    fn look(&mut self, key: &WorkloadKey, member: &str, away: Duration, fact: &Fact, court: &mut Court<'_>) {
        let subject = Subject::on(key, member);
        let workload = court.workload(key);
        let wrong = workload.and_then(|workload| (self.wrong)(key, workload, member, court.world));
        if wrong.is_some() && !is_reachable(member, court) {
            self.away.entry(member.to_owned()).or_default().insert(key.clone());
            return self.waits.cancel(&subject);
        }
        if wrong.is_none()
            && let Some(keys) = self.away.get_mut(member)
        {
            keys.remove(key);
        }
        let by_itself = matches!(fact.news, News::Running { .. } | News::RunningGone { .. });
        let was_there = by_itself || !away.is_zero() && workload.is_some_and(|it| was_applied(it, member));
        let unwatched = self.unwatched.get(member).filter(|_| was_there);
        let until = self.unseen.get(member).max(self.asking.get(&subject)).max(unwatched);
        let unseen = until.map(|until| until.saturating_sub(fact.at)).unwrap_or_default();
        let waited = workload.map(|it| it.retried_after(member, fact.at)).unwrap_or_default();
        let allowed = bounds::reached(court.timings(), away.max(waited)).max(unseen);
        self.waits.heal(subject, fact, allowed, wrong, court);
    }

    /// Who asked the member something while a fault kept the answer back waits for it first, and does nothing else for the copy.
    fn asked(&mut self, fault: FaultKind, member: &str, fact: &Fact, court: &Court<'_>) {
        let asked = self.asked.swap_remove(member).unwrap_or_default();
        let Some(since) = self.hit.get(member).filter(|_| fault.hits_probes() != Some(Failing::Refused))
        else {
            return;
        };
        let lasted = fact.at.saturating_sub(*since);
        let asking = court.timings().silent_probe.map_or(lasted, |most| most.min(lasted));
        let until = fact.at + asking + court.timings().latency;
        self.asking.retain(|_, until| *until > fact.at);
        self.asking.extend(asked.iter().map(|key| (Subject::on(key, member), until)));
    }

    /// The member may not be reached any more.
    fn set_aside(&mut self, member: &str) {
        let mut keys = BTreeSet::new();
        self.waits.cancel_all(|subject| {
            let on = subject.is_on(member);
            if on {
                keys.extend(subject.workload.clone());
            }
            on
        });
        self.away.entry(member.to_owned()).or_default().extend(keys);
    }

    /// The member can be reached again.
    fn back(&mut self, member: &str, fact: &Fact, court: &mut Court<'_>) {
        let known = court.member(member);
        let told = known.map(|member| member.away).unwrap_or_default();
        let hit = self.hit.swap_remove(member).map(|since| fact.at.saturating_sub(since)).unwrap_or_default();
        let away = told.max(hit);
        let lost = self.lost.remove(member);
        let watched = fact.at + bounds::seen_again(court.timings(), away);
        let unwatched = self.unwatched.entry(member.to_owned()).or_default();
        *unwatched = watched.max(*unwatched);
        if lost || known.is_some_and(|member| member.pulls) {
            let latest = if lost { bounds::restored } else { bounds::seen_again };
            let until = fact.at + latest(court.timings(), away);
            let unseen = self.unseen.entry(member.to_owned()).or_default();
            *unseen = until.max(*unseen);
        }
        for key in self.away.swap_remove(member).into_iter().flatten() {
            self.look(&key, member, away, fact, court);
        }
    }
}

/// S17 and V12: the control plane lets go of a manifest only when its copy is gone, however long that takes.
#[derive(Default)]
pub(crate) struct CopyGoesWithManifest {
    waits: Waits,
    /// The name of the latest manifest of a copy.
    by: Table<Subject, String>,
}

impl Guarantee for CopyGoesWithManifest {
    fn rule(&self) -> &'static Rule {
        &DELIVERY_05
    }

    fn topics(&self) -> Topics {
        topics![DeliveryGone, Delivered, Running, RunningGone, MemberLeaving, MemberGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.waits)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::DeliveryGone { workload, member }
            | News::Delivered { workload, member, .. }
            | News::Running { workload, member }
            | News::RunningGone { workload, member } => {
                let subject = Subject::on(workload, member);
                let delivery = court.workload(workload).and_then(|it| it.deliveries.get(member));
                self.by.extend(delivery.map(|delivery| (subject.clone(), delivery.by.clone())));
                let gone = matches!(fact.news, News::DeliveryGone { .. });
                if gone || self.waits.has(&subject) {
                    let wrong = dangling(workload, member, self.by.get(&subject), court);
                    if gone && wrong.is_none() {
                        return court.book.held();
                    }
                    self.waits.heal(subject, fact, bounds::gone(court.timings()), wrong, court);
                }
            }
            News::MemberLeaving(member) | News::MemberGone(member) => {
                self.waits.cancel_all(|subject| subject.is_on(member));
                self.by.retain(|subject, _| !subject.is_on(member));
            }
            _ => {}
        }
    }
}

/// What is left of the copy that was there by the name of `by`. One that somebody has made his own is his.
fn dangling(key: &WorkloadKey, member: &str, by: Option<&String>, court: &Court<'_>) -> Option<Reason> {
    let workload = court.workload(key)?;
    let stays = court.member(member).is_some_and(|member| !member.leaving);
    let copy = workload.running.get(member).filter(|running| running.managed && stays);
    // More than to delete it nobody can do: it stays for as long as somebody in the member keeps it.
    let copy = copy.filter(|running| running.leaving.is_none());
    let copy = copy.filter(|running| by.is_none_or(|by| *by == running.by));
    (copy.is_some() && !workload.deliveries.contains_key(member)).then(|| Reason {
        because: format!("the manifest of {key} for {member} is gone"),
        missing: format!("{member} still has the copy"),
    })
}
