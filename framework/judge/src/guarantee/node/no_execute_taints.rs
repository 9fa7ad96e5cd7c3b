//! Checks that exactly the nodes that should have a NoExecute health taint have it, in time: NODE.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::zone::{Pace, awaits_taint, certain_paces, is_of_health, paces};
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, accessors, report_never_allowed,
};
use crate::guarantee::engine::taints_by_hand::TaintsByHand;
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::time_format::{clock, span};
use capsize_history::facts::{Change, Fact, Zone};

static NODE_02: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-02",
    sentence: "a node that is not Ready gets the NoExecute taint for its condition in turn, unless evictions in its zone are halted",
    features: &[Feature::ZonedEvictions],
    formula: bounds::NODE_TAINTED,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, doNoExecuteTaintingPass",
};

/// Checks that every waiting node is tainted eventually (requirements I31 and I36).
/// This holds also after a person has removed the taint.
#[derive(Default)]
pub(crate) struct UnhealthyNodeGetsTaint {
    deadlines: Deadlines,
    /// The waiting nodes of each zone.
    waiting: BTreeMap<Zone, BTreeSet<String>>,
    /// The pace of the zone and the number of waiting nodes, as of the latest deadline of each node.
    paces: BTreeMap<String, (Pace, usize)>,
    /// The same, as of the latest change of each zone.
    latest: BTreeMap<Zone, (Pace, usize)>,
    /// The zones in which evictions have been halted.
    held_back: BTreeSet<Zone>,
    /// When nodes were deleted that waited. Each still takes a turn in the queue of its zone.
    deleted: BTreeMap<Zone, Vec<Duration>>,
}

/// A note for a violation with a known cause.
const KNOWN_HALT_BUG: &str = ", as after a halt at a rate of 1: kubernetes/kubernetes#104639";

impl Guarantee for UnhealthyNodeGetsTaint {
    accessors!(NODE_02, [TaintAdded, Health, MemberGone, MemberChanged, TaintRemoved], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::TaintAdded { member, taint, .. } if is_of_health(taint) => {
                let margin = self.deadlines.close_as_met(&Subject::member(member), fact);
                self.update_waiting_nodes(member, context);
                // Nodes that were deleted before this one began to wait have had their turns.
                if let Some(node) = context.member(member)
                    && let Some(deleted) = self.deleted.get_mut(&node.zone)
                {
                    deleted.retain(|at| *at >= node.health_since);
                }
                margin.into_iter().for_each(|margin| context.tally.record_held_by(margin));
            }
            Change::Health { member, .. }
            | Change::MemberGone(member)
            | Change::MemberChanged(member)
            | Change::TaintRemoved { member, .. } => {
                self.look(member, fact, context);
            }
            _ => {}
        }
    }
}

impl UnhealthyNodeGetsTaint {
    /// Computes the deadlines.
    /// They restart for the nodes of a zone whose pace has changed, or in which more nodes wait.
    fn look(&mut self, name: &String, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        self.update_waiting_nodes(name, context);
        let paces = certain_paces(context.world, zones);
        let halted = paces.iter().filter(|(_, pace)| !matches!(pace, Pace::Each(_)));
        self.held_back.extend(halted.map(|(zone, _)| zone.clone()));
        let waiting = std::mem::take(&mut self.waiting);
        for (zone, names) in &waiting {
            let Some(pace) = paces.get(zone) else {
                names.iter().for_each(|name| self.deadlines.cancel(&Subject::member(name)));
                self.latest.remove(zone);
                continue;
            };
            let latest = self.latest.get(zone).copied();
            if latest.is_none_or(|(was, others)| was != *pace || names.len() > others) {
                names
                    .iter()
                    .for_each(|name| self.restart_deadline(name, (*pace, names.len()), fact, context));
                self.latest.insert(zone.clone(), (*pace, names.len()));
            } else if names.contains(name) {
                self.restart_deadline(name, (*pace, names.len()), fact, context);
                self.latest.insert(zone.clone(), (*pace, names.len()));
            }
        }
        self.waiting = waiting;
    }

    /// Adds a node to the waiting nodes of its zone, or removes it.
    fn update_waiting_nodes(&mut self, name: &String, context: &JudgeContext<'_>) {
        let member = context.member(name).filter(|member| awaits_taint(member));
        if member.is_none() {
            self.deadlines.cancel(&Subject::member(name));
            self.paces.remove(name);
        }
        if !context.world.members.contains_key(name)
            && let Some((zone, _)) = self.waiting.iter().find(|(_, names)| names.contains(name))
        {
            self.deleted.entry(zone.clone()).or_default().push(context.world.now);
        }
        self.waiting.retain(|zone, names| {
            if member.is_none_or(|member| member.zone != *zone) {
                names.remove(name);
            }
            !names.is_empty()
        });
        if let Some(member) = member {
            self.waiting.entry(member.zone.clone()).or_default().insert(name.clone());
        }
    }

    /// Restarts the deadline of a node in a zone where `count` nodes wait at this pace.
    /// The node itself is one of them. Nothing is restarted if nothing has changed for the node.
    fn restart_deadline(
        &mut self,
        name: &String,
        (pace, count): (Pace, usize),
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) {
        let Some(member) = context.member(name) else { return };
        let before = self.paces.insert(name.clone(), (pace, count));
        if before.is_some_and(|(was, others)| was == pace && count <= others) {
            return;
        }
        let subject = Subject::member(name);
        let Pace::Each(pause) = pace else { return self.deadlines.cancel(&subject) };
        let deleted = self.deleted.get(&member.zone).map_or(0, Vec::len);
        let turns = u32::try_from(count + deleted).unwrap_or(u32::MAX).saturating_add(1);
        let allowed = bounds::node_tainted(context.timings()) + bounds::repeated(pause, turns);
        let health = member.health.map(|health| health.to_string()).unwrap_or_default();
        let known = pause == Duration::from_secs(1) && self.held_back.contains(&member.zone);
        let expectation = Expectation {
            because: format!(
                "the node has been {health} since {}, the number of waiting nodes in its zone is {count}, and the pause is {}",
                clock(member.health_since),
                span(pause)
            ),
            observed: format!(
                "{name} has no NoExecute taint for its condition{}",
                if known { KNOWN_HALT_BUG } else { "" }
            ),
        };
        self.deadlines.restart(subject, fact, fact.at + allowed, allowed, expectation);
    }
}

static NODE_04: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-04",
    sentence: "no node gets a NoExecute health taint in a small zone that is partly disrupted, or anywhere while no node is \
        Ready",
    features: &[Feature::ZonedEvictions],
    formula: bounds::ZONE_HALTED,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, handleDisruption",
};

/// Checks that no node gets a NoExecute health taint in a halted zone (requirements I10 and I11).
/// This holds from the time when the controllers must have observed the state of the zone.
#[derive(Default)]
pub(crate) struct NoTaintsInHaltedZone {
    paces: BTreeMap<Zone, Pace>,
    /// The members that wait in a halted zone, and the time since which they do.
    since: BTreeMap<String, Duration>,
    by_hand: TaintsByHand,
    /// The taints that must be removed.
    deadlines: Deadlines,
}

impl Guarantee for NoTaintsInHaltedZone {
    accessors!(NODE_04, [Health, MemberGone, MemberChanged, TaintRemoved, TaintAdded], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.by_hand.observe(fact, context);
        match &fact.change {
            Change::Health { member, .. } | Change::MemberGone(member) | Change::MemberChanged(member) => {
                self.look(member, fact, context);
            }
            Change::TaintRemoved { member, taint } if is_of_health(taint) => {
                if let Some(margin) = self.deadlines.close_as_met(&Subject::member(member), fact) {
                    context.tally.record_held_by(margin);
                }
            }
            Change::TaintAdded { member, taint, first: false } if is_of_health(taint) => {
                let by_hand = self.by_hand.has(member, taint);
                let lag = bounds::zone_observed(context.timings());
                let held_back = self.since.get(member).filter(|since| fact.at > **since + lag);
                if let Some(since) = held_back.filter(|_| !by_hand) {
                    let seen = format!(
                        "{member} has got the taint after evictions in its zone were halted at {}",
                        clock(*since)
                    );
                    report_never_allowed(
                        Subject::member(member),
                        fact,
                        "evictions in its zone are halted",
                        seen,
                        context,
                    );
                }
            }
            _ => {}
        }
    }
}

impl NoTaintsInHaltedZone {
    /// Checks a member, or all members if the pace of a zone has changed.
    fn look(&mut self, changed: &String, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        let lag = bounds::zone_observed(context.timings());
        let world = context.world;
        let paces = paces(world, zones);
        let first = if paces == self.paces { Some(changed) } else { None };
        let alone = first.and_then(|name| world.members.get_key_value(name));
        let all = world.members.iter().filter(|_| first.is_none());
        if !world.members.contains_key(changed) {
            self.since.remove(changed);
            self.deadlines.cancel(&Subject::member(changed));
        }
        for (name, member) in alone.into_iter().chain(all) {
            let pace = paces.get(&member.zone);
            if !matches!(pace, Some(Pace::ZoneHalted | Pace::AllHalted)) {
                // This counts only if a node waited for its taint for long enough.
                if self.since.remove(name).is_some_and(|since| fact.at > since + lag) {
                    context.tally.record_held();
                }
            } else if awaits_taint(member) && !member.taints.iter().any(is_of_health) {
                // A taint for the other condition is replaced at once, also in a halted zone.
                self.since.entry(name.clone()).or_insert(fact.at);
            }
            let subject = Subject::member(name);
            let tainted =
                member.taints.iter().any(|taint| is_of_health(taint) && !self.by_hand.has(name, taint));
            if pace != Some(&Pace::AllHalted) || !tainted {
                self.deadlines.cancel(&subject);
            } else {
                let expectation = Expectation {
                    because: format!("no node has been Ready since {}", clock(fact.at)),
                    observed: format!("{name} still has its NoExecute taint"),
                };
                self.deadlines.start(subject, fact, lag, expectation);
            }
        }
        self.paces = paces;
    }
}

static NODE_05: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-05",
    sentence: "a NoExecute health taint matches the condition of its node, and is removed when the node is Ready",
    features: &[Feature::ZonedEvictions],
    formula: bounds::TAINT_CORRECTED,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, processTaintBaseEviction",
};

/// Requirements I7, I32 and I38: no such taint stays after the condition of the node has changed.
#[derive(Default)]
pub(crate) struct TaintMatchesHealth(Deadlines);

impl Guarantee for TaintMatchesHealth {
    accessors!(NODE_05, [Health, TaintRemoved, TaintAdded, MemberGone], 0);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let name = match &fact.change {
            Change::Health { member, .. }
            | Change::TaintRemoved { member, .. }
            | Change::TaintAdded { member, .. } => member,
            Change::MemberGone(member) => return self.0.cancel(&Subject::member(member)),
            _ => return,
        };
        let Some(member) = context.member(name) else { return };
        // A node that has never reported needs no taint.
        let stray =
            |taint: &&capsize_history::facts::Taint| is_of_health(taint) && taint.health != member.health;
        let stray = member.taints.iter().find(stray).filter(|_| member.health.is_some());
        let wrong = stray.map(|taint| Expectation {
            because: format!(
                "the node has been {} since {}",
                member.health.unwrap_or(capsize_history::facts::Health::Unknown),
                clock(member.health_since)
            ),
            observed: format!("{name} has the taint {taint}"),
        });
        let allowed = bounds::taint_corrected(context.timings());
        self.0.expect_correction(Subject::member(name), fact, allowed, wrong, context);
    }
}
