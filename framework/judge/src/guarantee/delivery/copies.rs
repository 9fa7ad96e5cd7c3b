//! Checks that the copies in members match their manifests: DELIVERY.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds::{self, ProbeFailure};
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::engine::faults_on_members::is_hit;
use crate::guarantee::{GuaranteeSpec, Subject};
use capsize_history::FaultKind;
use capsize_history::dialect::DialectKind;
use capsize_history::digest::Table;
use capsize_history::facts::{
    Change, Content, Delivery, Fact, Health, Running, Workload, WorkloadKey, World,
};

static DELIVERY_04: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-04",
    sentence: "a member that can be reached has the copies that its manifests ask for",
    features: &[],
    formula: bounds::COPY_WRITTEN,
    releases: "all; Karmada 1.5 may lose the copy of a member that is chosen again",
    source: "Karmada pkg/controllers/execution/execution_controller.go, status/work_status_controller.go",
};

static DELIVERY_05: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-05",
    sentence: "a copy is deleted with its manifest, also from a member that was away, unless the copy is preserved",
    features: &[],
    formula: bounds::COPY_DELETED,
    releases: "all; Karmada leaves copies in members that are removed while they are away (#5071, #5375)",
    source: "Karmada pkg/controllers/execution/execution_controller.go",
};

/// Returns what is wrong with the copy of the workload in the member.
pub(crate) type CopyCheck =
    fn(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Option<Expectation>;

/// Checks the copy of a workload in a member as soon as the member can be reached.
///
/// Writes to an unreachable member are retried with a growing back-off. A write may therefore come as late after an
/// outage as the outage was long. Watches of the member are restarted with a back-off, too, so that a loss soon after
/// the outage may be observed late. An agent that was cut off also restarts its watch of the manifests, so that new
/// manifests may come late.
pub(crate) struct CopyFollowsManifest {
    spec: &'static GuaranteeSpec,
    check: CopyCheck,
    deadlines: Deadlines,
    /// The workloads whose copies are wrong in members that cannot be reached.
    away: Table<String, BTreeSet<WorkloadKey>>,
    /// The time since which faults have hit a member.
    hit: Table<String, Duration>,
    /// The beginning and the end of the latest series of outages of a member.
    outages: Table<String, (Duration, Duration)>,
    /// The time until which the agent of a recovered member may not have observed new manifests.
    /// The same time holds for controllers of a member that has lost its data.
    unobserved: Table<String, Duration>,
    /// The time until which controllers may not have observed the changes in a recovered member.
    unwatched: Table<String, Duration>,
    /// The members that have lost their data, and have not been reachable since.
    lost: BTreeSet<String>,
    /// The workloads that were written for members while faults hit them.
    asked: Table<String, BTreeSet<WorkloadKey>>,
    /// The time until which a request to a member for such a workload may be under way.
    asking: BTreeMap<Subject, Duration>,
    /// The number of kinds that were observed in members, and the members that were observed.
    shown: (usize, BTreeSet<String>),
    /// Whether a manifest was reported as applied.
    reported: bool,
}

impl CopyFollowsManifest {
    pub(crate) fn new(spec: &'static GuaranteeSpec, check: CopyCheck) -> Self {
        let (deadlines, away, hit, unobserved, unwatched, lost, asked, asking) = Default::default();
        let (shown, reported, outages) = Default::default();
        Self {
            spec,
            check,
            deadlines,
            away,
            hit,
            outages,
            unobserved,
            unwatched,
            lost,
            asked,
            asking,
            shown,
            reported,
        }
    }

    /// Requirements T10, S17, V13 and E1: the copies match their manifests.
    pub(crate) fn applied() -> Self {
        Self::new(&DELIVERY_04, not_applied)
    }
}

fn not_applied(key: &WorkloadKey, workload: &Workload, member: &str, world: &World) -> Option<Expectation> {
    let delivery = workload.deliveries.get(member)?;
    let shown = world.kinds_shown.contains(key.kind()) && world.observers.observes(member);
    if !shown {
        return never_reported(key, delivery, world);
    }
    // The manifest reports that it cannot be written; a suspended manifest need not be carried out.
    if delivery.leaving.is_some() || delivery.suspended || delivery.applied == Some(false) {
        return None;
    }
    let retained = delivery.labels.contains_key("resourcetemplate.karmada.io/retain-replicas");
    let observed = match workload.running.get(member) {
        // A copy that is being deleted cannot be overwritten, and nothing can be created in a namespace that is being
        // deleted.
        Some(running) if running.leaving.is_some() => return None,
        None if namespace_is_terminating(key.namespace(), member, world) => return None,
        None => format!("{member} has no copy of it"),
        Some(running) if !running.managed => format!("{member} has an object of its own instead"),
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
    Some(Expectation { because, observed })
}

/// Returns what is wrong with a manifest that no report says anything about.
/// The report is all that a history shows if it does not contain the copies.
fn never_reported(key: &WorkloadKey, delivery: &Delivery, world: &World) -> Option<Expectation> {
    let due = delivery.placed
        && delivery.collected.is_none()
        && delivery.leaving.is_none()
        && !delivery.suspended
        && world.applies_shown;
    (due && delivery.applied.is_none()).then(|| Expectation {
        because: format!("{key} is written for the member, and other manifests are reported as applied"),
        observed: "its manifest is not reported as applied".to_owned(),
    })
}

/// The part of the manifest that the copy must have.
/// For custom kinds the member may add fields that the manifest does not set.
fn copied(asks: &Content) -> Cow<'_, Content> {
    match asks.custom {
        None => Cow::Borrowed(asks),
        Some(_) => Cow::Owned(Content { custom: None, ..asks.clone() }),
    }
}

/// Returns true if the history leaves out the contents of one of the two.
fn is_hidden(delivery: &Delivery, running: &Running) -> bool {
    delivery.asks.hidden || running.asks.hidden
}

/// Returns true if `member` is deleting the namespace with this name.
fn namespace_is_terminating(namespace: &str, member: &str, world: &World) -> bool {
    let namespace = world.workloads.get(&WorkloadKey::new("Namespace", "", namespace));
    let there = namespace.and_then(|namespace| namespace.running.get(member));
    there.is_some_and(|there| there.leaving.is_some())
}

/// Returns true if the manifest for `member` was applied at some time.
fn was_applied(workload: &Workload, member: &str) -> bool {
    workload.deliveries.get(member).is_some_and(|delivery| delivery.applied == Some(true))
}

/// Returns true if no known fault or condition keeps the control plane from `member`.
fn is_reachable(member: &str, context: &JudgeContext<'_>) -> bool {
    let known = context.member(member);
    !is_hit(member, context)
        && known.is_some_and(|known| known.health == Some(Health::Ready) && !known.leaving)
}

impl Guarantee for CopyFollowsManifest {
    accessors!(
        self.spec,
        [
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
        ],
        deadlines
    );

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
                if matches!(fact.change, Change::Running { .. }) {
                    self.look_again(member, fact, context);
                }
                if !std::mem::replace(&mut self.reported, context.world.applies_shown) && self.reported {
                    self.look_at_all(|_| true, fact, context);
                }
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
            Change::FaultEnded { member: Some(member), .. } if context.member(member).is_none() => {
                self.forget_faults(member, context);
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.away.swap_remove(member);
                self.forget_faults(member, context);
                self.outages.swap_remove(member);
                self.unobserved.swap_remove(member);
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
        let wrong = workload.and_then(|workload| (self.check)(key, workload, member, context.world));
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
        let until = self.unobserved.get(member).max(self.asking.get(&subject)).max(unwatched);
        let unobserved = until.map(|until| until.saturating_sub(fact.at)).unwrap_or_default();
        let waited = workload.map(|it| it.retried_after(member, fact.at)).unwrap_or_default();
        // A report of the copy is a write of its own.
        let observes = context.world.observers.observes(member);
        let report = if observes { Duration::ZERO } else { context.timings().latency };
        let allowed = bounds::copy_written(context.timings(), away.max(waited)).max(unobserved) + report;
        self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
    }

    /// Checks all copies again after the first copy of a kind, and after the first copy in a member.
    /// Such a copy shows what the history records, so that others can be missing.
    fn look_again(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let kinds = context.world.kinds_shown.len();
        let is_new_kind = kinds != self.shown.0;
        if !is_new_kind && self.shown.1.contains(member) {
            return;
        }
        self.shown.0 = kinds;
        self.shown.1.insert(member.to_owned());
        self.look_at_all(|each| is_new_kind || each == member, fact, context);
    }

    /// Checks the copies of all manifests for the members that `which` selects.
    fn look_at_all(&mut self, which: impl Fn(&str) -> bool, fact: &Fact, context: &mut JudgeContext<'_>) {
        for (key, workload) in &context.world.workloads {
            for member in workload.deliveries.keys().filter(|member| which(member)) {
                self.look(key, member, Duration::ZERO, fact, context);
            }
        }
    }

    /// Records the requests whose answers a fault held back until now.
    /// Such a request to the member must time out before the controller does anything else for the copy.
    fn asked(&mut self, fault: FaultKind, member: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let asked = self.asked.swap_remove(member).unwrap_or_default();
        let Some(since) = self.hit.get(member).filter(|_| fault.hits_probes() != Some(ProbeFailure::Refused))
        else {
            return;
        };
        let lasted = fact.at.saturating_sub(*since);
        let asking = context.timings().silent_probe.map_or(lasted, |most| most.min(lasted));
        let until = fact.at + asking + context.timings().latency;
        self.asking.retain(|_, until| *until > fact.at);
        self.asking.extend(asked.iter().map(|key| (Subject::on(key, member), until)));
    }

    /// Forgets the faults of a member that is removed.
    /// A fault that goes on also hits a new member of the same name.
    fn forget_faults(&mut self, member: &str, context: &JudgeContext<'_>) {
        if !is_hit(member, context) {
            self.hit.swap_remove(member);
        }
    }

    /// Cancels the deadlines of a member that may be unreachable, and remembers their workloads.
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

    /// Checks the remembered workloads of a member that is reachable again.
    fn back(&mut self, member: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let known = context.member(member);
        let reported = known.map(|member| member.away).unwrap_or_default();
        let hit = self.hit.swap_remove(member).map(|since| fact.at.saturating_sub(since)).unwrap_or_default();
        let away = reported.max(hit);
        let lost = self.lost.remove(member);
        let watched = fact.at + bounds::observed_again(context.timings(), away);
        let unwatched = self.unwatched.entry(member.to_owned()).or_default();
        *unwatched = watched.max(*unwatched);
        if lost || known.is_some_and(|member| member.pulls) {
            let latest = if lost { bounds::copies_restored } else { bounds::observed_again };
            let until = fact.at + latest(context.timings(), away);
            let unobserved = self.unobserved.entry(member.to_owned()).or_default();
            *unobserved = until.max(*unobserved);
        }
        let series = self.series(member, away, fact);
        for key in self.away.swap_remove(member).into_iter().flatten() {
            self.look(&key, member, series, fact, context);
        }
    }

    /// Returns the length of the series of outages of a member that ends now with an outage of this length.
    /// A retry comes after an outage by as much as the outage lasted. If the next outage begins before that, the retry
    /// may fail too, and the back-off goes on growing.
    fn series(&mut self, member: &str, away: Duration, fact: &Fact) -> Duration {
        let began = fact.at.saturating_sub(away);
        let (since, until) = self.outages.entry(member.to_owned()).or_insert((began, fact.at));
        if began.saturating_sub(*until) > until.saturating_sub(*since) {
            *since = began;
        }
        *until = fact.at;
        fact.at.saturating_sub((*since).min(began))
    }
}

/// Checks that a copy is deleted with its manifest (requirements S17 and V12).
/// The control plane releases a manifest only when its copy is gone, however long that takes.
///
/// An implementation with a dialect that is data may let its agents remove the copies without manifests. Such an agent acts when its
/// member can be reached.
#[derive(Default)]
pub(crate) struct CopyIsDeletedWithManifest {
    deadlines: Deadlines,
    /// The copies with a change while their member could not be reached.
    out_of_reach: BTreeSet<Subject>,
    /// The name of the latest manifest of each copy.
    by: Table<Subject, String>,
}

impl Guarantee for CopyIsDeletedWithManifest {
    accessors!(
        DELIVERY_05,
        [DeliveryGone, Delivered, Running, RunningGone, MemberLeaving, MemberGone, Health, FaultEnded],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { .. } | Change::FaultEnded { .. } => self.look_again(fact, context),
            Change::DeliveryGone { workload, member }
            | Change::Delivered { workload, member, .. }
            | Change::Running { workload, member }
            | Change::RunningGone { workload, member } => {
                let subject = Subject::on(workload, member);
                let delivery = context.workload(workload).and_then(|it| it.deliveries.get(member));
                self.by.extend(delivery.map(|delivery| (subject.clone(), delivery.by.clone())));
                if is_out_of_reach(member, context) && !self.deadlines.has(&subject) {
                    self.out_of_reach.insert(subject);
                    return;
                }
                let gone = matches!(fact.change, Change::DeliveryGone { .. });
                // A member that was restored from a backup has its earlier copies again.
                let again = matches!(fact.change, Change::Running { .. })
                    && self.by.contains_key(&subject)
                    && !context.world.lost.contains_key(member)
                    && leftover_copy(workload, member, self.by.get(&subject), context).is_some();
                if gone || again || self.deadlines.has(&subject) {
                    let wrong = leftover_copy(workload, member, self.by.get(&subject), context);
                    if gone && wrong.is_none() {
                        return context.tally.record_held();
                    }
                    self.deadlines.expect_correction(
                        subject,
                        fact,
                        bounds::copy_deleted(context.timings()),
                        wrong,
                        context,
                    );
                }
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
                self.by.retain(|subject, _| !subject.is_on(member));
                self.out_of_reach.retain(|subject| !subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl CopyIsDeletedWithManifest {
    /// Looks at the copies in members that can be reached again.
    fn look_again(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let within_reach = |subject: &Subject| {
            subject.member.as_ref().is_some_and(|member| !is_out_of_reach(member, context))
        };
        let again: Vec<Subject> = self.out_of_reach.iter().filter(|it| within_reach(it)).cloned().collect();
        for subject in again {
            self.out_of_reach.remove(&subject);
            let (Some(key), Some(member)) = (&subject.workload, &subject.member) else { continue };
            let Some(by) = self.by.get(&subject).filter(|_| !context.world.lost.contains_key(member)) else {
                continue;
            };
            let wrong = leftover_copy(key, member, Some(by), context);
            let allowed = bounds::copy_deleted(context.timings());
            self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
        }
    }
}

/// Returns true if an agent that compares copies with manifests may be unable to do so in `member`.
fn is_out_of_reach(member: &str, context: &JudgeContext<'_>) -> bool {
    matches!(context.profile.dialect, DialectKind::Data(_))
        && (is_hit(member, context)
            || context.member(member).is_some_and(|known| known.health != Some(Health::Ready)))
}

/// Returns what is wrong if the copy that the manifest called `by` created is still there.
/// A copy that a user has taken over does not count.
fn leftover_copy(
    key: &WorkloadKey,
    member: &str,
    by: Option<&String>,
    context: &JudgeContext<'_>,
) -> Option<Expectation> {
    let workload = context.workload(key)?;
    let stays = context.member(member).is_some_and(|member| !member.leaving);
    let copy = workload.running.get(member).filter(|running| running.managed && stays);
    // A copy that is being deleted may stay for as long as a finalizer in the member keeps it.
    let copy = copy.filter(|running| running.leaving.is_none());
    // A dialect need not read which manifest a copy belongs to.
    let copy = copy.filter(|running| running.by.is_empty() || by.is_none_or(|by| *by == running.by));
    (copy.is_some() && !workload.deliveries.contains_key(member)).then(|| Expectation {
        because: format!("the manifest of {key} for {member} is gone"),
        observed: format!("{member} still has the copy"),
    })
}
