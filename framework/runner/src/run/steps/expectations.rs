//! The steps that wait until something holds, or see to it that it does not cease to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_clusters::NodeFault;
use serde_saphyr::Spanned;

use super::objects::MANAGER;
use crate::nemesis::Fault;
use crate::run::driver::{Driver, Miss, Subject};
use crate::run::run_state::Eviction;
use crate::scenario::{
    Health, Instance, MemberRef, Moved, NotTainted, Placed, PlacedOn, Runs, Settled, Stays, Step, Tainted,
    TaskEnded,
};
use capsize_history::facts::{InstanceHealth, Taint, TaintEffect, Workload, World};
use capsize_judge::text::span;

impl Driver<'_> {
    pub(in crate::run) async fn step(&mut self, step: &Step) -> Result<(), Miss> {
        match step {
            Step::Workload(workload) => self.workload(workload).await,
            Step::Scale(scale) => self.scale(scale).await,
            Step::Override(step) => self.make_different(step).await,
            Step::Call(call) => self.target(&call.member.value, Some(&call.alias)).map(drop),
            Step::Refuse(refuse) => {
                let members = self.victims(&refuse.cluster.value, refuse.alias.as_ref())?;
                self.strike(&members, Fault::Refuse).await
            }
            Step::Partition(partition) => {
                let members = self.victims(&partition.cluster.value, partition.alias.as_ref())?;
                if self.cluster.is_some() {
                    return self.strike_nodes(&members, "partition", &NodeFault::Silent).await;
                }
                self.strike(&members, Fault::Partition { direction: partition.direction }).await
            }
            Step::Delay(delay) => {
                let members = self.victims(&delay.cluster.value, delay.alias.as_ref())?;
                let by = self.length(&delay.by)?;
                self.strike(&members, Fault::Delay { by }).await
            }
            Step::Disturb(disturb) => {
                let members = self.victims(&disturb.cluster.value, disturb.alias.as_ref())?;
                let fault = self.nuisance(&disturb.by.value)?;
                self.strike(&members, fault).await
            }
            Step::Down(down) => {
                let members = self.victims(&down.cluster.value, down.alias.as_ref())?;
                self.break_down(&members, &down.by.value).await
            }
            Step::Flap(flap) => self.flap(flap).await,
            Step::Heal(members) => {
                let members = self.victims(&members.value, None)?;
                self.heal(&members).await
            }
            Step::Kill(_) => {
                self.kill();
                Ok(())
            }
            Step::Start(_) => self.start().await,
            Step::Faults(windows) => self.faults(windows).await,
            Step::Perhaps(step) => self.perhaps(&step.value).await,
            Step::Wait(length) => {
                self.clock.sleep(self.length(length)?).await;
                Ok(())
            }
            Step::Taint(taint) => self.edit_taints(taint, true).await,
            Step::Untaint(taint) => self.edit_taints(taint, false).await,
            Step::DeleteMember(member) => {
                let name = self.name(&member.value)?;
                self.delete_member(&name).await
            }
            Step::StartUp(start_up) => {
                let member = self.name(&start_up.cluster.value)?;
                self.set_start_up(&member, &start_up.takes)
            }
            Step::Apply(apply) => self.apply(apply, MANAGER).await,
            Step::Delete(delete) => self.delete(delete).await,
            Step::Pods(pods) => self.pods(pods).await,
            Step::Silence(silence) => {
                let nodes = self.victims(&silence.node.value, silence.alias.as_ref())?;
                self.strike_nodes(&nodes, "silent", &NodeFault::Silent).await
            }
            Step::Condition(condition) => self.condition(condition).await,
            Step::Skew(skew) => self.skew(skew).await,
            expectation if self.cluster.is_some() => self.expect_on_nodes(expectation).await,
            expectation => self.expect_anywhere(expectation).await,
        }
    }

    /// A step that may as well not come about.
    async fn perhaps(&mut self, step: &Step) -> Result<(), Miss> {
        match Box::pin(self.step(step)).await {
            Err(Miss::Unmet { expected, .. }) => {
                self.mark("missed", &[("that", &expected)]);
                Ok(())
            }
            other => other,
        }
    }

    pub(in crate::run) async fn expect_anywhere(&self, step: &Step) -> Result<(), Miss> {
        match step {
            Step::Seen(seen) => self.seen(seen, true).await,
            Step::Unseen(seen) => self.seen(seen, false).await,
            Step::SeenFor(seen) => self.seen_for(seen, true).await,
            Step::UnseenFor(seen) => self.seen_for(seen, false).await,
            Step::Settled(settled) => self.settled(settled).await,
            Step::Health(health) => self.health(health).await,
            Step::Tainted(tainted) => self.tainted(tainted, true).await,
            Step::Untainted(tainted) => self.tainted(tainted, false).await,
            Step::NotTainted(taint) => self.not_tainted(taint).await,
            Step::Evicted(moved) => self.evicted(moved).await,
            Step::NotEvicted(stays) => self.not_evicted(stays).await,
            Step::Placed(placed) => self.placed(placed).await,
            Step::Ready(instance) => self.ready(instance).await,
            Step::Runs(runs) => self.runs(runs).await,
            Step::TaskEnded(task) => self.task_ended(task).await,
            Step::Kept(stays) => self.kept(stays).await,
            Step::Gone(moved) => self.gone(moved).await,
            Step::Calm(calm) => self.calm(calm).await,
            Step::MemberGone(gone) => {
                let member = self.name(&gone.cluster.value)?;
                let within =
                    self.within(&gone.within, self.patience().rest(self.tolerated, self.start_up))?;
                let what = format!("{member} is gone");
                let subject = Subject::Member(member.clone());
                self.until(what, subject, within, move |world, _| !world.members.contains_key(&member)).await
            }
            _ => Err(Miss::Broken("a step that does something is no expectation".into())),
        }
    }

    async fn settled(&self, settled: &Settled) -> Result<(), Miss> {
        let name = settled.workload.value.clone();
        let within = self.within(&settled.within, self.patience().rest(self.tolerated, self.start_up))?;
        let subject = Subject::Workload(name.clone());
        let what = format!("{name} is settled: wholly placed, ready everywhere, and not being evicted");
        self.until(what, subject, within, move |world, _| world.workload(&name).is_some_and(at_rest)).await
    }

    async fn health(&self, health: &Health) -> Result<(), Miss> {
        let member = self.name(&health.cluster.value)?;
        let within = self.within(&health.within, self.patience().health())?;
        let is = health.is;
        let subject = Subject::Member(member.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.members.get(&member).is_some_and(|member| member.health == Some(is))
        };
        self.until(format!("{} is {is}", subject.name()), subject, within, holds).await
    }

    async fn runs(&self, runs: &Runs) -> Result<(), Miss> {
        let (name, on) = (runs.workload.value.clone(), self.name(&runs.on.value)?);
        let within = self.within(&runs.within, self.patience().rest(self.tolerated, self.start_up))?;
        let what = format!("{on} runs {name} from an image with the tag {}", runs.image_tag);
        let subject = Subject::Workload(name.clone());
        let end = format!(":{}", runs.image_tag);
        let holds = move |world: &World, _: &[Eviction]| {
            let running = world.workload(&name).and_then(|workload| workload.running.get(&on));
            running
                .is_some_and(|running| running.asks.images.first().is_some_and(|image| image.ends_with(&end)))
        };
        self.until(what, subject, within, holds).await
    }

    async fn tainted(&self, tainted: &Tainted, wanted: bool) -> Result<(), Miss> {
        let member = self.name(&tainted.cluster.value)?;
        let effect = tainted.effect;
        let bound = self.patience().taint(effect == TaintEffect::NoExecute);
        let within = self.within(&tainted.within, bound)?;
        let has = if wanted { "has" } else { "has no" };
        let what = format!("{member} {has} taint {}:{effect}", tainted.key);
        let key = self.taint_key(&tainted.key);
        let subject = Subject::Member(member.clone());
        self.until(what, subject, within, move |world, _| has_taint(world, &member, &key, effect) == wanted)
            .await
    }

    async fn not_tainted(&self, taint: &NotTainted) -> Result<(), Miss> {
        let member = self.name(&taint.cluster.value)?;
        let (effect, lasts) = (taint.effect, self.length(&taint.lasts)?);
        let what = format!("{member} has no taint {}:{effect} for {}", taint.key, span(lasts));
        let key = self.taint_key(&taint.key);
        let subject = Subject::Member(member.clone());
        self.hold(what, subject, lasts, move |world, _| !has_taint(world, &member, &key, effect)).await
    }

    async fn evicted(&self, moved: &Moved) -> Result<(), Miss> {
        let (name, from) = (moved.workload.value.clone(), self.name(&moved.from.value)?);
        let within = self.within(&moved.within, self.patience().eviction(self.tolerated))?;
        let what = format!("{name} is evicted from {from}");
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.workload(&name).is_some_and(|workload| !workload.assignment.contains_key(&from))
        };
        self.until(what, subject, within, holds).await
    }

    async fn not_evicted(&self, stays: &Stays) -> Result<(), Miss> {
        let (name, on, lasts) = self.stays(stays)?;
        let what = format!("{name} stays assigned to {on} for {}", span(lasts));
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.workload(&name).is_some_and(|workload| {
                workload.assignment.contains_key(&on) && workload.eviction(&on).is_none()
            })
        };
        self.hold(what, subject, lasts, holds).await
    }

    async fn kept(&self, stays: &Stays) -> Result<(), Miss> {
        let (name, on, lasts) = self.stays(stays)?;
        let what = format!("the copy of {name} in {on} is kept for {}", span(lasts));
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.workload(&name).is_some_and(|workload| {
                let delivered = workload.deliveries.get(&on).is_some_and(|delivery| !delivery.leaving);
                delivered && workload.running.contains_key(&on)
            })
        };
        self.hold(what, subject, lasts, holds).await
    }

    fn stays(&self, stays: &Stays) -> Result<(String, String, Duration), Miss> {
        Ok((stays.workload.value.clone(), self.name(&stays.on.value)?, self.length(&stays.lasts)?))
    }

    async fn gone(&self, moved: &Moved) -> Result<(), Miss> {
        let (name, from) = (moved.workload.value.clone(), self.name(&moved.from.value)?);
        let within = self.within(&moved.within, self.patience().removal(self.tolerated))?;
        let what = format!("the copy of {name} in {from} is gone");
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.workload(&name).is_none_or(|workload| {
                !workload.deliveries.contains_key(&from) && !workload.running.contains_key(&from)
            })
        };
        self.until(what, subject, within, holds).await
    }

    async fn ready(&self, instance: &Instance) -> Result<(), Miss> {
        let (name, on) = (instance.workload.value.clone(), self.name(&instance.on.value)?);
        let bound = self.patience().replacement(self.tolerated, self.start_up);
        let within = self.within(&instance.within, bound)?;
        let what = format!("all replicas of {name} in {on} are ready");
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            let running = world.workload(&name).and_then(|workload| workload.running.get(&on));
            running.is_some_and(|running| running.replicas > 0 && running.ready >= running.replicas)
        };
        self.until(what, subject, within, holds).await
    }

    async fn placed(&self, placed: &Placed) -> Result<(), Miss> {
        let name = placed.workload.value.clone();
        let wanted = Wanted::new(self, placed)?;
        let bound = self.patience().replacement(self.tolerated, self.start_up);
        let within = self.within(&placed.within, bound)?;
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.workload(&name).is_some_and(|workload| wanted.holds(&workload.assignment))
        };
        let what = format!("{} is placed {}", subject.name(), Wanted::new(self, placed)?.text());
        self.until(what, subject, within, holds).await
    }

    async fn task_ended(&self, task: &TaskEnded) -> Result<(), Miss> {
        let (name, from) = (task.workload.value.clone(), self.name(&task.from.value)?);
        let within = self.within(&task.within, self.patience().end_of_eviction(self.tolerated))?;
        let what = format!("the eviction of {name} from {from} has ended");
        let subject = Subject::Workload(name.clone());
        let latest = |evictions: &[Eviction]| {
            let this = |each: &&Eviction| each.workload == name && each.from == from;
            evictions.iter().rev().find(this).cloned()
        };
        self.until(what, subject, within, |_, evictions| {
            latest(evictions).is_some_and(|it| it.ended.is_some())
        })
        .await?;
        let Some(not_before) = &task.not_before else { return Ok(()) };
        let least = self.length(not_before)?;
        let lasted =
            self.log.look(|_, evictions| latest(evictions)).and_then(|it| Some(it.ended? - it.began));
        let lasted = lasted.unwrap_or_default();
        // The time stamp from which a task is counted has whole seconds.
        if lasted + Duration::from_secs(1) >= least {
            return Ok(());
        }
        let expected = format!("the eviction of {name} from {from} lasts at least {}", span(least));
        Err(Miss::Unmet { expected, seen: format!("it ended after {}", span(lasted)) })
    }
}

impl Subject {
    fn name(&self) -> &str {
        match self {
            Self::Workload(name)
            | Self::Member(name)
            | Self::Pods(name)
            | Self::Tainted { key: name, .. } => name,
            Self::Everything { .. } => "everything",
        }
    }
}

pub(in crate::run) fn has_taint(world: &World, member: &str, key: &str, effect: TaintEffect) -> bool {
    let this = |taint: &Taint| taint.key == key && taint.effect == effect;
    world.members.get(member).is_some_and(|member| member.taints.iter().any(this))
}

/// Whether nothing moves: as many replicas are assigned as are wanted, they run and are told to be healthy where they are not
/// held back, and no eviction is under way.
pub(in crate::run) fn at_rest(workload: &Workload) -> bool {
    use capsize_history::facts::Scheduling;
    let assigned = &workload.assignment;
    let whole = match workload.placement.scheduling {
        Scheduling::Duplicated => assigned.values().all(|replicas| *replicas == workload.replicas),
        Scheduling::DividedByStaticWeight | Scheduling::DividedByCapacity => {
            assigned.values().sum::<u64>() == workload.replicas
        }
    };
    let well = |(member, replicas): (&String, &u64)| {
        let told =
            workload.instances.get(member).is_some_and(|instance| instance.health == InstanceHealth::Healthy);
        let runs = workload.running.get(member);
        // Where nobody is assigned any, the manifest asks for as many as the template, which a lazy policy lets change alone.
        let asked = workload.deliveries.get(member).filter(|_| workload.replicas == 0);
        let replicas = asked.map_or(*replicas, |delivery| delivery.replicas);
        let ready = runs.is_some_and(|running| running.replicas == replicas && running.ready == replicas);
        told && ready || workload.held_back.from(member)
    };
    !assigned.is_empty() && whole && workload.evictions.is_empty() && assigned.iter().all(well)
}

/// The placement that a step asks for, by names.
pub(in crate::run) struct Wanted {
    exactly: Option<BTreeMap<String, Option<u64>>>,
    members: Option<usize>,
    including: BTreeSet<String>,
    excluding: BTreeSet<String>,
}

impl Wanted {
    pub(in crate::run) fn new(driver: &Driver<'_>, placed: &Placed) -> Result<Self, Miss> {
        let names = |members: &[Spanned<MemberRef>]| -> Result<BTreeSet<String>, Miss> {
            members.iter().map(|member| driver.name(&member.value)).collect()
        };
        let exactly = match &placed.on {
            None => None,
            Some(PlacedOn::Members(members)) => {
                let named = members.iter().map(|member| Ok((driver.name(&member.value)?, None)));
                Some(named.collect::<Result<_, Miss>>()?)
            }
            Some(PlacedOn::Replicas(replicas)) => {
                let named = replicas.iter().map(|(member, replicas)| {
                    Ok((driver.name(&MemberRef::Named(member.value.clone()))?, Some(u64::from(*replicas))))
                });
                Some(named.collect::<Result<_, Miss>>()?)
            }
        };
        let (including, excluding) = (names(&placed.including)?, names(&placed.excluding)?);
        Ok(Self { exactly, members: placed.members, including, excluding })
    }

    pub(in crate::run) fn holds(&self, assigned: &BTreeMap<String, u64>) -> bool {
        let exactly = self.exactly.as_ref().is_none_or(|exactly| {
            let same = |(member, replicas): (&String, &Option<u64>)| {
                assigned.get(member).is_some_and(|assigned| replicas.is_none_or(|wanted| wanted == *assigned))
            };
            exactly.len() == assigned.len() && exactly.iter().all(same)
        });
        exactly
            && self.members.is_none_or(|members| members == assigned.len())
            && self.including.iter().all(|member| assigned.contains_key(member))
            && !self.excluding.iter().any(|member| assigned.contains_key(member))
    }

    pub(in crate::run) fn text(&self) -> String {
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if let Some(exactly) = &self.exactly {
            let each = |(member, replicas): (&String, &Option<u64>)| match replicas {
                Some(replicas) => format!("{member} ({replicas})"),
                None => member.clone(),
            };
            parts.push(format!("on {}", exactly.iter().map(each).collect::<Vec<_>>().join(", ")));
        }
        parts.extend(self.members.map(|members| format!("on {members} members")));
        parts.extend((!self.including.is_empty()).then(|| format!("with {}", list(&self.including))));
        parts.extend((!self.excluding.is_empty()).then(|| format!("without {}", list(&self.excluding))));
        parts.join(", ")
    }
}
