//! Checks when new nodes become Unknown, and which conditions become Unknown with which reason: NODE.

use std::collections::BTreeMap;
use std::time::Duration;

use super::zone::AllNodesNotReady;
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, NEVER, accessors, report_never_allowed,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{Change, Fact, Health, Member, World};

static NODE_09: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-09",
    sentence: "a node that has never reported becomes Unknown when its time to start is over, and not before",
    features: &[Feature::PullMembers],
    formula: bounds::STARTUP_OVER,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

/// Checks that a node that never reports becomes Unknown after its time to start (requirement I3).
/// The time counts from the creation of the node.
#[derive(Default)]
pub(crate) struct UnknownAfterStartupGrace {
    deadlines: Deadlines,
    /// When each node was observed that has not reported yet.
    /// The stamp of its creation may come from a wrong clock.
    observed: BTreeMap<String, Duration>,
    /// When each node was last deleted.
    gone: BTreeMap<String, Duration>,
    /// When the latest sign of life of each node was observed.
    last_signs: BTreeMap<String, Duration>,
    all_not_ready: AllNodesNotReady,
}

impl Guarantee for UnknownAfterStartupGrace {
    accessors!(NODE_09, [Health, SignOfLife, MemberGone], deadlines);

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if let Change::SignOfLife(member) = &fact.change {
            self.last_signs.insert(member.clone(), fact.at);
        }
        match &fact.change {
            Change::Health { member, now: None, .. } => {
                self.observed.entry(member.clone()).or_insert(fact.at);
                let Some((begins, grace)) = began(member, context) else { return };
                self.start_deadline(member, begins, grace, fact, context);
            }
            // A node that renews its Lease is alive, even without a reported status.
            Change::SignOfLife(member) if self.deadlines.has(&Subject::member(member)) => {
                let Some((_, grace)) = began(member, context) else { return };
                self.start_deadline(member, fact.at, grace, fact, context);
            }
            Change::Health { member, was: None, now: Some(Health::Unknown), first: false } => {
                let margin = self.deadlines.close_as_met(&Subject::member(member), fact);
                let observed = self.observed.remove(member);
                if observed.is_some_and(|observed| self.may_be_taken_for_earlier(member, observed, context)) {
                    return;
                }
                let Some((begins, grace)) = began(member, context) else { return };
                let begins = observed.map_or(begins, |observed| observed.min(begins));
                // The controllers keep what they knew of an earlier node of this name.
                let earlier = self.gone.get(member).and_then(|_| self.last_signs.get(member));
                let begins = earlier.map_or(begins, |last| begins.min(*last));
                let earliest = (begins + grace)
                    .saturating_sub(age_at_start(member, context))
                    .saturating_sub(context.timings().skew);
                let because =
                    format!("the node was created at {}, and has {} to start", clock(begins), span(grace));
                let subject = Subject::member(member);
                if observed.is_some_and(|observed| is_of_unknown_age(observed, context.world)) {
                    let bound = Bound::NotBefore(earliest);
                    return context.report_undecided(subject, bound, because, fact.at);
                }
                let seen = format!("{member} is Unknown");
                context.check_arrival(subject, fact, earliest, margin, || (because, seen));
            }
            Change::Health { member, .. } | Change::MemberGone(member) => {
                if matches!(fact.change, Change::MemberGone(_)) {
                    self.gone.insert(member.clone(), fact.at);
                }
                self.observed.remove(member);
                self.deadlines.cancel(&Subject::member(member));
            }
            _ => {}
        }
        let health_changed = matches!(fact.change, Change::Health { .. } | Change::MemberGone(_));
        if health_changed && self.all_not_ready.update(context.world) {
            self.restart_deadlines(fact, context);
        }
    }
}

impl UnknownAfterStartupGrace {
    /// Returns true if a controller may take a node for an earlier one of the same name.
    /// The earlier node was deleted shortly before. The controller looks for deleted nodes once in each monitor period,
    /// and keeps the time of the last report until then.
    fn may_be_taken_for_earlier(&self, node: &str, observed: Duration, context: &JudgeContext<'_>) -> bool {
        let looked =
            context.latest_surely_observed(observed).saturating_sub(context.timings().monitor_period);
        self.gone.get(node).is_some_and(|gone| *gone >= looked)
    }

    /// Restarts all open deadlines, because a node is ready again after none was.
    /// All other nodes have the whole time again.
    fn restart_deadlines(&mut self, fact: &Fact, context: &JudgeContext<'_>) {
        for name in context.world.members.keys() {
            if let Some((_, grace)) = began(name, context)
                && self.deadlines.has(&Subject::member(name))
            {
                self.start_deadline(name, fact.at, grace, fact, context);
            }
        }
    }

    fn start_deadline(
        &mut self,
        member: &str,
        begins: Duration,
        grace: Duration,
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) {
        let allowed = bounds::startup_over(context.timings(), grace);
        let expectation = Expectation {
            because: format!("{member} has existed since {}, and has never reported", clock(begins)),
            observed: format!("{member} is not Unknown"),
        };
        let until = begins.max(fact.at) + allowed;
        self.deadlines.restart(Subject::member(member), fact, until, allowed, expectation);
    }
}

/// Returns true if a node first observed at `observed` may be much older than its stamps show.
/// Other stamps alone place the beginning of the history.
fn is_of_unknown_age(observed: Duration, world: &World) -> bool {
    observed <= bounds::STAMP && !world.is_of_a_scenario && world.stated_start.is_none()
}

/// Returns how long the node had existed when the history began.
fn age_at_start(member: &str, context: &JudgeContext<'_>) -> Duration {
    let created = context.member(member).and_then(|member| member.created);
    let age = created.zip(context.world.wall_start).map(|(created, start)| start.duration_since(created));
    age.and_then(|age| Duration::try_from(age).ok()).unwrap_or_default()
}

/// Returns the earliest time at which the node was created, and its time to start.
fn began(member: &str, context: &JudgeContext<'_>) -> Option<(Duration, Duration)> {
    let grace = context.timings().startup_grace_period?;
    let created = context.member(member)?.created?;
    let since = created.duration_since(context.world.wall_start?);
    // The wall time of the start is known to the second.
    Some((Duration::try_from(since).unwrap_or_default().saturating_sub(bounds::STAMP), grace))
}

static NODE_10: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-10",
    sentence: "when a kubelet becomes silent, the conditions that it reports are Unknown until it reports again, and no other \
        condition changes",
    features: &[Feature::PullMembers],
    formula: bounds::SAME_MOMENT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

static NODE_11: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-11",
    sentence: "a condition that becomes Unknown has the reason NodeStatusUnknown, or NodeStatusNeverUpdated if it was never reported",
    features: &[Feature::PullMembers],
    formula: bounds::SAME_MOMENT,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, tryUpdateNodeHealth",
};

/// The conditions that a kubelet reports.
const REPORTED_CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// Returns what is wrong with a node, given its conditions before.
type Check = fn(&BTreeMap<String, String>, &Member) -> Option<String>;

/// Requirements I4 and I5: checks the versions in which a node becomes or stops being Unknown.
pub(crate) struct UnknownConditions {
    spec: &'static GuaranteeSpec,
    /// The check of a node that becomes Unknown.
    wrong: Check,
    /// The check of a node whose kubelet stays silent.
    wrong_in_silence: Check,
    before: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether any condition has had a reason. A history may leave the reasons out.
    reasons_shown: bool,
    /// The nodes whose kubelets have not reported since the nodes became Unknown, and since when.
    silent: BTreeMap<String, Duration>,
    /// Nodes whose conditions are no longer Unknown without a report.
    /// Each has the fact, the reason and the observation.
    /// A renewal that is observed just afterwards explains the change.
    suspected_violations: BTreeMap<String, (Fact, String, String)>,
}

impl UnknownConditions {
    /// Checks that all reported conditions change, and no others.
    pub(crate) fn no_other_condition_changes() -> Self {
        Self::new(&NODE_10, wrong_change, no_longer_unknown)
    }

    /// Checks the reasons.
    pub(crate) fn reasons() -> Self {
        Self::new(&NODE_11, wrong_reason, |_, _| None)
    }

    fn new(spec: &'static GuaranteeSpec, wrong: Check, wrong_in_silence: Check) -> Self {
        let (before, silent, suspected_violations) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { spec, wrong, wrong_in_silence, before, reasons_shown: false, silent, suspected_violations }
    }

    /// Checks the conditions of a node whose kubelet has been silent since the node became Unknown.
    /// A report has a time of its own, so that it is a sign of life. A history may leave these times out.
    fn look_at_silent(&mut self, name: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let (Some(since), Some(member)) = (self.silent.get(name).copied(), context.member(name)) else {
            return;
        };
        let Some(before) = self.before.get(name) else { return };
        if member.sign_of_life == Some(fact.at) || member.heartbeat.is_empty() {
            return;
        }
        if let Some(wrong) = (self.wrong_in_silence)(before, member) {
            let because =
                format!("its kubelet has not reported since the node became Unknown at {}", clock(since));
            let suspected = (fact.clone(), because, format!("{name} {wrong}"));
            self.suspected_violations.entry(name.to_owned()).or_insert(suspected);
        }
    }

    /// Forgets the silence of a node that is gone, or whose kubelet has reported.
    fn forget_silence(&mut self, name: &str) {
        self.silent.remove(name);
        self.suspected_violations.remove(name);
    }
}

impl Guarantee for UnknownConditions {
    accessors!(self.spec, [Health, Conditions, SignOfLife, MemberGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member: name, now: Some(Health::Unknown), first: false, .. } => {
                let (Some(before), Some(member)) = (self.before.get(name), context.member(name)) else {
                    return;
                };
                self.silent.insert(name.clone(), fact.at);
                self.reasons_shown |= has_reasons(member);
                match (self.wrong)(before, member) {
                    _ if self.spec.id == NODE_11.id && !self.reasons_shown => {}
                    None => context.tally.record_held(),
                    Some(wrong) => {
                        let seen = format!("{name} {wrong}");
                        report_never_allowed(
                            Subject::member(name),
                            fact,
                            "its kubelet has become silent",
                            seen,
                            context,
                        );
                    }
                }
            }
            Change::Conditions(name) => {
                self.look_at_silent(name, fact, context);
                if let Some(member) = context.member(name) {
                    self.reasons_shown |= has_reasons(member);
                    self.before.insert(name.clone(), member.conditions.clone());
                }
            }
            Change::SignOfLife(name) => self.forget_silence(name),
            Change::MemberGone(name) => {
                self.before.remove(name);
                self.forget_silence(name);
            }
            _ => {}
        }
    }

    fn due(&mut self) -> Duration {
        self.suspected_violations.values().map(|(fact, ..)| fact.at).min().unwrap_or(NEVER)
    }

    /// Reports the nodes whose kubelets have not renewed their Leases either.
    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        let slack = context.timings().latency.saturating_add(context.disorder());
        for (name, (fact, because, seen)) in
            self.suspected_violations.extract_if(.., |_, (fact, ..)| now > fact.at.saturating_add(slack))
        {
            self.silent.remove(&name);
            report_never_allowed(Subject::member(&name), &fact, &because, seen, context);
        }
    }
}

fn has_reasons(member: &Member) -> bool {
    member.reasons.values().any(|reason| !reason.is_empty())
}

/// Returns which reported condition is no longer Unknown.
fn no_longer_unknown(before: &BTreeMap<String, String>, member: &Member) -> Option<String> {
    let is_unknown = |status: Option<&String>| status.is_some_and(|status| status == "Unknown");
    REPORTED_CONDITIONS.iter().find_map(|kind| {
        let now = member.conditions.get(*kind);
        let changed = is_unknown(before.get(*kind)) && !is_unknown(now);
        now.filter(|_| changed).map(|status| format!("has {kind} {status} without a report"))
    })
}

fn wrong_change(before: &BTreeMap<String, String>, member: &Member) -> Option<String> {
    let stays = REPORTED_CONDITIONS.iter().find(|kind| {
        let status = member.conditions.get(**kind).map(String::as_str);
        before.contains_key(**kind) && status != Some("Unknown")
    });
    if let Some(kind) = stays {
        return Some(match member.conditions.get(*kind) {
            Some(status) => format!("still has {kind} {status}"),
            None => format!("has lost the condition {kind}"),
        });
    }
    let others = before
        .keys()
        .chain(member.conditions.keys())
        .filter(|kind| !REPORTED_CONDITIONS.contains(&kind.as_str()));
    let mut changed = others.filter(|kind| before.get(*kind) != member.conditions.get(*kind));
    changed.next().map(|kind| format!("has changed the condition {kind}"))
}

fn wrong_reason(before: &BTreeMap<String, String>, member: &Member) -> Option<String> {
    REPORTED_CONDITIONS.iter().find_map(|kind| {
        let became = member.conditions.get(*kind).is_some_and(|status| status == "Unknown");
        let was = before.get(*kind).map(String::as_str);
        if !became || was == Some("Unknown") {
            return None;
        }
        let right = if was.is_some() { "NodeStatusUnknown" } else { "NodeStatusNeverUpdated" };
        let reason = member.reasons.get(*kind).map(String::as_str).unwrap_or_default();
        (reason != right).then(|| format!("has {kind} Unknown with the reason {reason} instead of {right}"))
    })
}
