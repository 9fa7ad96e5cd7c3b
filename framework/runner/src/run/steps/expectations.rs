//! The steps that wait until a state is reached, or check that a state lasts.

use std::time::Duration;

use super::placement::WantedPlacement;
use crate::run::driver::{Driver, StepError};
use crate::run::run_state::Eviction;
use crate::run::subject::Subject;
use crate::scenario::{
    Departure, Health, Instance, NotTainted, Placed, Runs, Settled, Stay, Step, Tainted, TaskEnded,
};
use capsize_history::dialect::DialectKind;
use capsize_history::facts::{
    EvictionTask, Health as MemberHealth, InstanceHealth, Taint, TaintEffect, Workload, World,
};
use capsize_judge::time_format::span;

impl Driver<'_> {
    pub(in crate::run) async fn expect_on_fleet(&self, step: &Step) -> Result<(), StepError> {
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
            Step::Calm(calm) => self.wait_for_quiescence(calm).await,
            Step::MemberGone(gone) => {
                let member = self.member_name(&gone.cluster.value)?;
                let within =
                    self.within(&gone.within, self.wait_limits().rest(self.tolerated, self.start_up))?;
                let what = format!("{member} is gone");
                let subject = Subject::Member(member.clone());
                self.until(what, subject, within, move |world, _| !world.members.contains_key(&member)).await
            }
            _ => Err(StepError::Broken("internal error: this step is not an expectation".into())),
        }
    }

    /// Waits until `holds` is true of the workload called `name`, for at most `within`.
    async fn until_workload(
        &self,
        name: &str,
        what: String,
        within: Duration,
        holds: impl Fn(&Workload) -> bool,
    ) -> Result<(), StepError> {
        let holds = |world: &World, _: &[Eviction]| world.workload(name).is_some_and(&holds);
        self.until(what, Subject::Workload(name.to_owned()), within, holds).await
    }

    async fn settled(&self, settled: &Settled) -> Result<(), StepError> {
        let name = settled.workload.value.clone();
        let within = self.within(&settled.within, self.wait_limits().rest(self.tolerated, self.start_up))?;
        let what = format!("{name} is settled: wholly placed, ready everywhere, and not being evicted");
        // Without an object for an eviction, it lasts until the member deletes the copy: as long as the member is away.
        let waits_for_members = matches!(self.profile.dialect, DialectKind::Data(_));
        let holds = |world: &World, _: &[Eviction]| {
            let is_ready = |task: &EvictionTask| {
                world
                    .members
                    .get(&task.member)
                    .is_some_and(|member| member.health == Some(MemberHealth::Ready))
            };
            let may_last = |task: &EvictionTask| waits_for_members && !is_ready(task);
            let workload = world.workload(&name);
            workload.is_some_and(|it| runs_as_assigned(it) && it.evictions.iter().all(may_last))
        };
        self.until(what, Subject::Workload(name.clone()), within, holds).await
    }

    async fn health(&self, health: &Health) -> Result<(), StepError> {
        let member = self.member_name(&health.cluster.value)?;
        let within = self.within(&health.within, self.wait_limits().health())?;
        let is = health.is;
        let what = format!("{member} is {is}");
        let subject = Subject::Member(member.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.members.get(&member).is_some_and(|member| member.health == Some(is))
        };
        self.until(what, subject, within, holds).await
    }

    async fn runs(&self, runs: &Runs) -> Result<(), StepError> {
        let (name, on) = (runs.workload.value.clone(), self.member_name(&runs.on.value)?);
        let within = self.within(&runs.within, self.wait_limits().rest(self.tolerated, self.start_up))?;
        let what = format!("{on} runs {name} from an image with the tag {}", runs.image_tag);
        let end = format!(":{}", runs.image_tag);
        self.until_workload(&name, what, within, |workload| {
            let images = workload.running.get(&on).map(|running| &running.asks.images);
            images.and_then(|images| images.first()).is_some_and(|image| image.ends_with(&end))
        })
        .await
    }

    async fn tainted(&self, tainted: &Tainted, wanted: bool) -> Result<(), StepError> {
        let member = self.member_name(&tainted.cluster.value)?;
        let effect = tainted.effect;
        let bound = self.wait_limits().taint(effect == TaintEffect::NoExecute);
        let within = self.within(&tainted.within, bound)?;
        let has = if wanted { "has" } else { "has no" };
        let what = format!("{member} {has} taint {}:{effect}", tainted.key);
        let key = self.taint_key(&tainted.key);
        let subject = Subject::Member(member.clone());
        self.until(what, subject, within, move |world, _| has_taint(world, &member, &key, effect) == wanted)
            .await
    }

    async fn not_tainted(&self, taint: &NotTainted) -> Result<(), StepError> {
        let member = self.member_name(&taint.cluster.value)?;
        let (effect, lasts) = (taint.effect, self.length(&taint.lasts)?);
        let what = format!("{member} has no taint {}:{effect} for {}", taint.key, span(lasts));
        let key = self.taint_key(&taint.key);
        let subject = Subject::Member(member.clone());
        self.hold(what, subject, lasts, move |world, _| !has_taint(world, &member, &key, effect)).await
    }

    async fn evicted(&self, moved: &Departure) -> Result<(), StepError> {
        let (name, from) = (moved.workload.value.clone(), self.member_name(&moved.from.value)?);
        let within = self.within(&moved.within, self.wait_limits().eviction(self.tolerated))?;
        let what = format!("{name} is evicted from {from}");
        self.until_workload(&name, what, within, |workload| !workload.assignment.contains_key(&from)).await
    }

    async fn not_evicted(&self, stays: &Stay) -> Result<(), StepError> {
        let (name, on, lasts) = self.stays(stays)?;
        let what = format!("{name} stays assigned to {on} for {}", span(lasts));
        let holds = |world: &World, _: &[Eviction]| {
            world.workload(&name).is_some_and(|workload| {
                workload.assignment.contains_key(&on) && workload.eviction(&on).is_none()
            })
        };
        self.hold(what, Subject::Workload(name.clone()), lasts, holds).await
    }

    async fn kept(&self, stays: &Stay) -> Result<(), StepError> {
        let (name, on, lasts) = self.stays(stays)?;
        let what = format!("the copy of {name} in {on} is kept for {}", span(lasts));
        let holds = |world: &World, _: &[Eviction]| {
            world.workload(&name).is_some_and(|workload| {
                let delivered =
                    workload.deliveries.get(&on).is_some_and(|delivery| delivery.leaving.is_none());
                delivered && workload.running.contains_key(&on)
            })
        };
        self.hold(what, Subject::Workload(name.clone()), lasts, holds).await
    }

    fn stays(&self, stays: &Stay) -> Result<(String, String, Duration), StepError> {
        Ok((stays.workload.value.clone(), self.member_name(&stays.on.value)?, self.length(&stays.lasts)?))
    }

    async fn gone(&self, moved: &Departure) -> Result<(), StepError> {
        let (name, from) = (moved.workload.value.clone(), self.member_name(&moved.from.value)?);
        let within = self.within(&moved.within, self.wait_limits().removal(self.tolerated))?;
        let what = format!("the copy of {name} in {from} is gone");
        let subject = Subject::Workload(name.clone());
        let holds = move |world: &World, _: &[Eviction]| {
            world.workload(&name).is_none_or(|workload| {
                !workload.deliveries.contains_key(&from) && !workload.running.contains_key(&from)
            })
        };
        self.until(what, subject, within, holds).await
    }

    async fn ready(&self, instance: &Instance) -> Result<(), StepError> {
        let (name, on) = (instance.workload.value.clone(), self.member_name(&instance.on.value)?);
        let bound = self.wait_limits().replacement(self.tolerated, self.start_up);
        let within = self.within(&instance.within, bound)?;
        let what = format!("all replicas of {name} in {on} are ready");
        self.until_workload(&name, what, within, |workload| {
            let running = workload.running.get(&on);
            running.is_some_and(|running| running.replicas > 0 && running.ready >= running.replicas)
        })
        .await
    }

    async fn placed(&self, placed: &Placed) -> Result<(), StepError> {
        let name = placed.workload.value.clone();
        let wanted = WantedPlacement::new(self, placed)?;
        let bound = self.wait_limits().replacement(self.tolerated, self.start_up);
        let within = self.within(&placed.within, bound)?;
        let what = format!("{name} is placed {}", wanted.text());
        self.until_workload(&name, what, within, |workload| wanted.holds(&workload.assignment)).await
    }

    async fn task_ended(&self, task: &TaskEnded) -> Result<(), StepError> {
        let (name, from) = (task.workload.value.clone(), self.member_name(&task.from.value)?);
        let within = self.within(&task.within, self.wait_limits().end_of_eviction(self.tolerated))?;
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
        if task.announced {
            let what = format!("an event announces the end of the eviction of {name} from {from}");
            self.until_workload(&name, what, within, |workload| workload.announced.contains_key(&from))
                .await?;
        }
        let Some(not_before) = &task.not_before else { return Ok(()) };
        let least = self.length(not_before)?;
        let lasted =
            self.log.look(|_, evictions| latest(evictions)).and_then(|it| Some(it.ended? - it.began));
        let lasted = lasted.unwrap_or_default();
        // The timestamp from which a task is counted has whole seconds.
        if lasted + Duration::from_secs(1) >= least {
            return Ok(());
        }
        let expected = format!("the eviction of {name} from {from} lasts at least {}", span(least));
        Err(StepError::Unmet { expected, seen: format!("it ended after {}", span(lasted)) })
    }
}

pub(in crate::run) fn has_taint(world: &World, member: &str, key: &str, effect: TaintEffect) -> bool {
    let this = |taint: &Taint| taint.key == key && taint.effect == effect;
    world.members.get(member).is_some_and(|member| member.taints.iter().any(this))
}

/// Returns true if a workload is at rest.
/// All wanted replicas are assigned then, and no eviction is in progress. The replicas run and are reported healthy,
/// unless delivery is suspended.
pub(in crate::run) fn is_settled(workload: &Workload) -> bool {
    runs_as_assigned(workload) && workload.evictions.is_empty()
}

/// Whether all replicas are assigned, and every assigned member runs its replicas.
fn runs_as_assigned(workload: &Workload) -> bool {
    use capsize_history::facts::Scheduling;
    let assigned = &workload.assignment;
    let whole = match workload.placement.scheduling {
        Scheduling::Duplicated => assigned.values().all(|replicas| *replicas == workload.replicas),
        Scheduling::DividedByStaticWeight | Scheduling::DividedByCapacity => {
            assigned.values().sum::<u64>() == workload.replicas
        }
    };
    let well = |(member, replicas): (&String, &u64)| {
        let healthy =
            workload.instances.get(member).is_some_and(|instance| instance.health == InstanceHealth::Healthy);
        let runs = workload.running.get(member);
        // Without assigned replicas, the manifest asks for as many as the template, which may differ under a lazy
        // policy.
        let asked = workload.deliveries.get(member).filter(|_| workload.replicas == 0);
        let replicas = asked.map_or(*replicas, |delivery| delivery.replicas);
        let ready = runs.is_some_and(|running| running.replicas == replicas && running.ready == replicas);
        healthy && ready || workload.held_back.from(member)
    };
    !assigned.is_empty() && whole && assigned.iter().all(well)
}
