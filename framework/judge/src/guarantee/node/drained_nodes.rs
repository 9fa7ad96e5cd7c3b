//! Where no taint drives pods out: who stays ill for too long loses its pods, in its turn, and nobody else does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::heartbeat::never;
use super::zone::{Pace, paces};
use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Topics, Violation, topics,
};
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use crate::text::{clock, span};
use capsize_history::facts::{Change, EvictionTask, Fact, Health, Member, WorkloadKey, World, Zone};

static NODE_15: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-15",
    sentence: "a node that stays ill for the pod eviction timeout loses its pods in its turn, where its zone is not held back",
    features: &[Feature::DrainsAfterTimeout],
    formula: bounds::DRAINED,
    releases: "Kubernetes 1.16 without taint-based evictions",
    source: "Kubernetes 1.16 pkg/controller/nodelifecycle/node_lifecycle_controller.go, doEvictionPass",
};

/// That the deletions begin. Each pod's is left to steps.
#[derive(Default)]
pub(crate) struct PodsOfIllNodeAreDeleted {
    deadlines: Deadlines,
    paces: BTreeMap<Zone, Pace>,
    /// The ill whose pods are being deleted.
    begun: BTreeSet<String>,
    /// When the controllers began last, who count from then on.
    back: Duration,
    /// When some node was last ready again after none had been: whoever was not due by then begins anew.
    resumed: Option<Duration>,
}

impl Guarantee for PodsOfIllNodeAreDeleted {
    fn spec(&self) -> &'static GuaranteeSpec {
        &NODE_15
    }

    fn topics(&self) -> Topics {
        topics![Health, MemberGone, FaultEnded, EvictionBegan]
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        Some(&mut self.deadlines)
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now, .. } => {
                if *now == Some(Health::Ready) {
                    self.begun.remove(member);
                    self.deadlines.cancel(&Subject::member(member));
                }
                self.look(member, fact, context);
            }
            Change::MemberGone(member) => {
                self.begun.remove(member);
                self.deadlines.cancel(&Subject::member(member));
                self.look(member, fact, context);
            }
            Change::FaultEnded { member: None, .. } => {
                self.back = fact.at;
                self.begun.clear();
                for (name, _) in ill(context.world) {
                    self.look(name, fact, context);
                }
            }
            Change::EvictionBegan { workload, task } if is_drain(workload, task, fact, context) => {
                self.begun.insert(task.member.clone());
                if let Some(margin) = self.deadlines.met(&Subject::member(&task.member), fact) {
                    context.tally.record_held_by(margin);
                }
            }
            // It may have been the last that was left to drain.
            Change::EvictionBegan { task, .. } if !has_pods(context.world, &task.member) => {
                self.deadlines.cancel(&Subject::member(&task.member));
            }
            _ => {}
        }
    }
}

/// Whether a node has pods to drain: those that are being deleted already are none, nor are those of daemons.
fn has_pods(world: &World, name: &str) -> bool {
    world.assigned_to(name).any(|(_, workload)| !workload.everywhere && workload.eviction(name).is_none())
}

impl PodsOfIllNodeAreDeleted {
    /// Works out until when whose turn comes: of the one that has changed, and of all in zones that are otherwise than before.
    fn look(&mut self, changed: &str, fact: &Fact, context: &JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        let paces = paces(context.world, zones);
        if is_cut(self.paces.values()) && !is_cut(paces.values()) {
            self.resumed = Some(fact.at);
        }
        for (name, member) in ill(context.world) {
            let pace = paces.get(&member.zone).copied();
            if (name == changed || pace != self.paces.get(&member.zone).copied())
                && !self.begun.contains(name)
            {
                self.tell(name, member, pace, fact, context);
            }
        }
        self.paces = paces;
    }

    fn tell(
        &mut self,
        name: &str,
        member: &Member,
        pace: Option<Pace>,
        fact: &Fact,
        context: &JudgeContext<'_>,
    ) {
        let subject = Subject::member(name);
        let pace = pace.filter(|_| has_pods(context.world, name));
        let Some(Pace::Each(pause)) = pace else { return self.deadlines.cancel(&subject) };
        let turns = ill(context.world).filter(|(_, other)| other.zone == member.zone).count();
        let turns = u32::try_from(turns).unwrap_or(u32::MAX).saturating_add(1);
        let timeout = context.timings().failover_eviction_timeout;
        let seen = bounds::zone_seen(context.timings());
        let anew = self.resumed.filter(|resumed| member.health_since + timeout + seen > *resumed);
        let since = anew.map_or(member.health_since, |resumed| resumed.max(member.health_since));
        let allowed = bounds::drained(context.timings()) + bounds::repeated(pause, turns);
        let expectation = Expectation {
            because: format!("it is ill since {}, and may be so for {}", clock(since), span(timeout)),
            missing: format!("none of the pods of {name} is being deleted"),
        };
        let until = fact.at.max(since.max(self.back) + timeout) + allowed;
        self.deadlines.restart(subject, fact, until, allowed, expectation);
    }
}

/// Whether no node that counts is ready, as these paces have it.
fn is_cut<'a>(mut paces: impl Iterator<Item = &'a Pace>) -> bool {
    paces.any(|pace| *pace == Pace::Cut)
}

fn ill(world: &World) -> impl Iterator<Item = (&str, &Member)> {
    let ill = |member: &Member| member.health.is_some_and(|health| health != Health::Ready);
    world.members.iter().filter(move |(_, member)| ill(member)).map(|(name, member)| (name.as_str(), member))
}

/// Whether a pod is deleted for the health of its node: neither for a taint, nor by a person, nor with its node.
fn is_drain(workload: &WorkloadKey, task: &EvictionTask, fact: &Fact, context: &JudgeContext<'_>) -> bool {
    let world = context.world;
    let is_ill = ill_since(world, &task.member).is_some();
    let by_hand = !world.faults_are_marked || fact.at <= world.acted + context.timings().latency;
    let tainted =
        world.members.get(&task.member).is_some_and(|member| member.evicting_taints().next().is_some());
    !task.inherited && is_ill && !by_hand && !tainted && world.workloads.contains_key(workload)
}

/// Since when the clock of the controllers may run: from the last sign of life of who says nothing.
fn ill_since(world: &World, name: &str) -> Option<Duration> {
    let member = world.members.get(name)?;
    match member.health? {
        Health::Ready => None,
        Health::NotReady => Some(member.health_since),
        Health::Unknown => Some(member.sign_of_life.unwrap_or_default()),
    }
}

static NODE_16: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-16",
    sentence: "the pods of an ill node are deleted after the pod eviction timeout, in a zone no faster than the rate for its \
        state, and never those of daemons",
    features: &[Feature::DrainsAfterTimeout],
    formula: bounds::DRAINED_IN_TIME,
    releases: "Kubernetes 1.16 without taint-based evictions",
    source: "Kubernetes 1.16 pkg/controller/nodelifecycle/node_lifecycle_controller.go, processNoTaintBaseEviction",
};

/// Not before, not faster, and not those.
#[derive(Default)]
pub(crate) struct PodDeletionPace {
    /// When each of the ill began to be drained.
    begun: BTreeMap<String, Duration>,
    /// When the last of a zone did.
    last: BTreeMap<Zone, Duration>,
    /// Since when each zone has its pace.
    paces: BTreeMap<Zone, (Pace, Duration)>,
    /// When some node was last ready again after none had been: whoever was not due by then begins anew.
    resumed: Option<Duration>,
}

impl Guarantee for PodDeletionPace {
    fn spec(&self) -> &'static GuaranteeSpec {
        &NODE_16
    }

    fn topics(&self) -> Topics {
        topics![Health, MemberGone, FaultEnded, EvictionBegan]
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Health { member, now, .. } => {
                if *now == Some(Health::Ready) {
                    self.begun.remove(member);
                }
                self.look(fact.at, context);
            }
            Change::MemberGone(member) => {
                self.begun.remove(member);
                self.look(fact.at, context);
            }
            // A start of the controllers has a token of its own, and begins with all whose time is over.
            Change::FaultEnded { member: None, .. } => {
                self.last.clear();
                self.begun.clear();
            }
            Change::EvictionBegan { workload, task } if is_drain(workload, task, fact, context) => {
                self.began(workload, &task.member, fact, context);
            }
            _ => {}
        }
    }
}

impl PodDeletionPace {
    fn look(&mut self, now: Duration, context: &JudgeContext<'_>) {
        let Some(zones) = &context.profile.zones else { return };
        let paces = paces(context.world, zones);
        if is_cut(self.paces.values().map(|(pace, _)| pace)) && !is_cut(paces.values()) {
            self.resumed = Some(now);
        }
        for (zone, pace) in paces {
            if self.paces.get(&zone).is_none_or(|(was, _)| *was != pace) {
                self.last.remove(&zone);
                self.paces.insert(zone, (pace, now));
            }
        }
    }

    fn began(&mut self, workload: &WorkloadKey, name: &str, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::on(workload, name);
        let seen = format!("{workload} is deleted");
        if context.workload(workload).is_some_and(|workload| workload.everywhere) {
            return never(subject, fact, "it is a daemon's", seen, context);
        }
        let (Some(since), Some(member)) = (ill_since(context.world, name), context.member(name)) else {
            return;
        };
        let timings = context.timings();
        let timeout = timings.failover_eviction_timeout;
        let anew = self.resumed.filter(|resumed| since + timeout > *resumed + bounds::zone_seen(timings));
        let earliest = (anew.unwrap_or(since) + timeout).saturating_sub(timings.skew);
        context.check_arrival(subject.clone(), fact, earliest, None, || {
            let since_when = match anew {
                None => format!("its node is ill since {}", clock(since)),
                Some(anew) => format!("no node was ready until {}", clock(anew)),
            };
            (format!("{since_when}, and may be so for {}", span(timeout)), seen.clone())
        });
        if self.begun.insert(name.to_owned(), fact.at).is_some() {
            return;
        }
        let Some((pace, from)) = self.paces.get(&member.zone).copied() else { return };
        let lag = bounds::zone_seen(timings);
        match pace {
            Pace::Each(pause) => {
                if let Some(last) = self.last.insert(member.zone.clone(), fact.at) {
                    let bound = Bound::NotBefore((last + pause).saturating_sub(timings.latency));
                    let because = format!(
                        "another of its zone was drained at {}, and one each {}",
                        clock(last),
                        span(pause)
                    );
                    if fact.at + timings.latency < last + pause {
                        context.report_violation(Violation::by(fact, subject, bound, because, seen));
                    }
                }
            }
            Pace::Frozen | Pace::Cut if fact.at > from + lag => {
                never(subject, fact, "its zone is held back", seen, context);
            }
            Pace::Frozen | Pace::Cut => {}
        }
    }
}
