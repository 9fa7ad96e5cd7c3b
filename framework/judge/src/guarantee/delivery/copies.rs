//! What the members hold of what was written for them: DELIVERY.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::away::is_hit;
use crate::guarantee::engine::bounds::{self, Failing};
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, Topics, topics};
use crate::guarantee::{GuaranteeSpec, Subject};
use capsize_history::FaultKind;
use capsize_history::digest::Table;
use capsize_history::facts::{
    Change, Content, Delivery, Fact, Health, Running, Workload, WorkloadKey, World,
};

static DELIVERY_04: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-04",
    sentence: "a member that can be reached holds what was written for it, as it was written",
    features: &[],
    formula: bounds::REACHED,
    releases: "all; Karmada 1.5 may lose the copy of a member that is chosen again",
    source: "Karmada pkg/controllers/execution/execution_controller.go, status/work_status_controller.go",
};

static DELIVERY_05: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-05",
    sentence: "a copy goes with its manifest, also from a member that was away, unless it is to be preserved",
    features: &[],
    formula: bounds::GONE,
    releases: "all; Karmada leaves copies in members that are removed while away (#5071, #5375)",
    source: "Karmada pkg/controllers/execution/execution_controller.go",
};

/// What is wrong with the workload in the member.
pub(crate) type Wrong =
    fn(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Option<Expectation>;

/// Something that must be so of the copy of a workload in a member, as soon as that can be reached. What waits for a
/// member is tried at ever longer intervals, so that it may come as late after the member is back as that was away. Whoever
/// watches a member that was cut off waits to do so again, so that what is lost there soon after may be missed late; an agent that
/// was cut off waits to watch what is written for it, too, so that new things may come late.
pub(crate) struct CopyFollowsManifest {
    spec: &'static GuaranteeSpec,
    wrong: Wrong,
    deadlines: Deadlines,
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
    pub(crate) fn new(spec: &'static GuaranteeSpec, wrong: Wrong) -> Self {
        let (deadlines, away, hit, unseen, unwatched, lost, asked, asking) = Default::default();
        Self { spec, wrong, deadlines, away, hit, unseen, unwatched, lost, asked, asking }
    }

    /// T10, S17, V13 and E1: what is delivered is there.
    pub(crate) fn applied() -> Self {
        Self::new(&DELIVERY_04, not_applied)
    }
}

fn not_applied(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Option<Expectation> {
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
    Some(Expectation { because, missing })
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
fn is_reachable(member: &str, context: &JudgeContext<'_>) -> bool {
    let known = context.member(member);
    !is_hit(member, context)
        && known.is_some_and(|known| known.health == Some(Health::Ready) && !known.leaving)
}

impl Guarantee for CopyFollowsManifest {
    fn spec(&self) -> &'static GuaranteeSpec {
        self.spec
    }

    fn topics(&self) -> Topics {
        topics![
            Delivered,
            DeliveryReported,
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

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::FaultEnded { fault, member: Some(member) } => self.asked(*fault, member, fact, context),
            Change::Delivered { workload, member, .. }
            | Change::Rewritten { workload, member }
            | Change::Recalled { workload, member }
                if is_hit(member, context) =>
            {
                self.asked.entry(member.clone()).or_default().insert(workload.clone());
            }
            _ => {}
        }
        match &fact.change {
            Change::Delivered { workload, member, .. }
            | Change::DeliveryReported { workload, member }
            | Change::Rewritten { workload, member }
            | Change::Recalled { workload, member }
            | Change::DeliveryGone { workload, member }
            | Change::Running { workload, member }
            | Change::RunningGone { workload, member } => {
                self.look(workload, member, Duration::ZERO, fact, context);
            }
            Change::FaultBegan { member: Some(member), fault } => {
                self.lost.extend(fault.loses_data().then(|| member.clone()));
                self.hit.entry(member.clone()).or_insert(fact.at);
                self.set_aside(member);
            }
            Change::Health { member, now, .. } if *now != Some(Health::Ready) => self.set_aside(member),
            Change::FaultEnded { member: Some(member), .. } | Change::Health { member, .. }
                if is_reachable(member, context) =>
            {
                self.back(member, fact, context);
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.away.swap_remove(member);
                self.hit.swap_remove(member);
                self.unseen.swap_remove(member);
                self.unwatched.swap_remove(member);
                self.lost.remove(member);
                self.asked.swap_remove(member);
                self.asking.retain(|subject, _| !subject.is_on(member));
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl CopyFollowsManifest {
    fn look(
        &mut self,
        key: &WorkloadKey,
        member: &str,
        away: Duration,
        fact: &Fact,
        context: &mut JudgeContext<'_>,
    ) {
        let subject = Subject::on(key, member);
        let workload = context.workload(key);
        let wrong = workload.and_then(|workload| (self.wrong)(key, workload, member, context.world));
        if wrong.is_some() && !is_reachable(member, context) {
            self.away.entry(member.to_owned()).or_default().insert(key.clone());
            return self.deadlines.cancel(&subject);
        }
        if wrong.is_none()
            && let Some(keys) = self.away.get_mut(member)
        {
            keys.remove(key);
        }
        let by_itself = matches!(fact.change, Change::Running { .. } | Change::RunningGone { .. });
        let was_there = by_itself || !away.is_zero() && workload.is_some_and(|it| was_applied(it, member));
        let unwatched = self.unwatched.get(member).filter(|_| was_there);
        let until = self.unseen.get(member).max(self.asking.get(&subject)).max(unwatched);
        let unseen = until.map(|until| until.saturating_sub(fact.at)).unwrap_or_default();
        let waited = workload.map(|it| it.retried_after(member, fact.at)).unwrap_or_default();
        let allowed = bounds::reached(context.timings(), away.max(waited)).max(unseen);
        self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
    }

    /// Who asked the member something while a fault kept the answer back waits for it first, and does nothing else for the copy.
    fn asked(&mut self, fault: FaultKind, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let asked = self.asked.swap_remove(member).unwrap_or_default();
        let Some(since) = self.hit.get(member).filter(|_| fault.hits_probes() != Some(Failing::Refused))
        else {
            return;
        };
        let lasted = fact.at.saturating_sub(*since);
        let asking = context.timings().silent_probe.map_or(lasted, |most| most.min(lasted));
        let until = fact.at + asking + context.timings().latency;
        self.asking.retain(|_, until| *until > fact.at);
        self.asking.extend(asked.iter().map(|key| (Subject::on(key, member), until)));
    }

    /// The member may not be reached any more.
    fn set_aside(&mut self, member: &str) {
        let mut keys = BTreeSet::new();
        self.deadlines.cancel_all(|subject| {
            let on = subject.is_on(member);
            if on {
                keys.extend(subject.workload.clone());
            }
            on
        });
        self.away.entry(member.to_owned()).or_default().extend(keys);
    }

    /// The member can be reached again.
    fn back(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let known = context.member(member);
        let reported = known.map(|member| member.away).unwrap_or_default();
        let hit = self.hit.swap_remove(member).map(|since| fact.at.saturating_sub(since)).unwrap_or_default();
        let away = reported.max(hit);
        let lost = self.lost.remove(member);
        let watched = fact.at + bounds::seen_again(context.timings(), away);
        let unwatched = self.unwatched.entry(member.to_owned()).or_default();
        *unwatched = watched.max(*unwatched);
        if lost || known.is_some_and(|member| member.pulls) {
            let latest = if lost { bounds::restored } else { bounds::seen_again };
            let until = fact.at + latest(context.timings(), away);
            let unseen = self.unseen.entry(member.to_owned()).or_default();
            *unseen = until.max(*unseen);
        }
        for key in self.away.swap_remove(member).into_iter().flatten() {
            self.look(&key, member, away, fact, context);
        }
    }
}

/// S17 and V12: the control plane lets go of a manifest only when its copy is gone, however long that takes.
#[derive(Default)]
pub(crate) struct CopyGoesWithManifest {
    deadlines: Deadlines,
    /// The name of the latest manifest of a copy.
    by: Table<Subject, String>,
}

impl Guarantee for CopyGoesWithManifest {
    fn spec(&self) -> &'static GuaranteeSpec {
        &DELIVERY_05
    }

    fn topics(&self) -> Topics {
        topics![DeliveryGone, Delivered, Running, RunningGone, MemberLeaving, MemberGone]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::DeliveryGone { workload, member }
            | Change::Delivered { workload, member, .. }
            | Change::Running { workload, member }
            | Change::RunningGone { workload, member } => {
                let subject = Subject::on(workload, member);
                let delivery = context.workload(workload).and_then(|it| it.deliveries.get(member));
                self.by.extend(delivery.map(|delivery| (subject.clone(), delivery.by.clone())));
                let gone = matches!(fact.change, Change::DeliveryGone { .. });
                if gone || self.deadlines.has(&subject) {
                    let wrong = dangling(workload, member, self.by.get(&subject), context);
                    if gone && wrong.is_none() {
                        return context.tally.record_held();
                    }
                    self.deadlines.expect_correction(
                        subject,
                        fact,
                        bounds::gone(context.timings()),
                        wrong,
                        context,
                    );
                }
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
                self.by.retain(|subject, _| !subject.is_on(member));
            }
            _ => {}
        }
    }
}

/// What is left of the copy that was there by the name of `by`. One that somebody has made his own is his.
fn dangling(
    key: &WorkloadKey,
    member: &str,
    by: Option<&String>,
    context: &JudgeContext<'_>,
) -> Option<Expectation> {
    let workload = context.workload(key)?;
    let stays = context.member(member).is_some_and(|member| !member.leaving);
    let copy = workload.running.get(member).filter(|running| running.managed && stays);
    // More than to delete it nobody can do: it stays for as long as somebody in the member keeps it.
    let copy = copy.filter(|running| running.leaving.is_none());
    let copy = copy.filter(|running| by.is_none_or(|by| *by == running.by));
    (copy.is_some() && !workload.deliveries.contains_key(member)).then(|| Expectation {
        because: format!("the manifest of {key} for {member} is gone"),
        missing: format!("{member} still has the copy"),
    })
}
