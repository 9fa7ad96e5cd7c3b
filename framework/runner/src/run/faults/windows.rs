//! The step `faults`: disturbances that come and go, each on its own, until the last is undone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_clusters::{GateGuard, NodeFault, StartUp};
use futures::FutureExt;
use serde_saphyr::Spanned;
use tokio::time::{Instant, sleep_until};

use super::data_loss::Loss;
use super::undo::Before;
use crate::nemesis::{Fault, FaultGuard};
use crate::run::driver::{Driver, Miss};
use crate::run::pod_counts::Crew;
use crate::run::steps::expectations::has_taint;
use crate::run::steps::nodes::illness;
use crate::run::steps::objects::DISTURBER;
use crate::scenario::{Disturbance, MemberRef, Scale, Taint, Trigger, Victims, Window};
use capsize_history::facts::World;
use capsize_judge::text::span;

/// What is to happen when. At one instant, what ends does so before anything begins.
type Agenda = BTreeSet<(Instant, Turn, usize)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    End,
    Begin,
}

/// A disturbance in force, to be undone.
enum InForce {
    /// Undone when dropped.
    Guards { _guards: Vec<FaultGuard> },
    /// Members have lost what they held, or are about to.
    Loss(Loss),
    /// The controllers die of a write to come, unless it is dropped before.
    Doom { _guard: GateGuard },
    /// Of several that change the same, the last to go undoes it.
    Shared(String),
}

/// How what several disturbances may change becomes what it was before the first.
enum Undo {
    Start,
    EndRival,
    Untaint(Taint),
    StartUp(String, StartUp),
    Scale(Scale),
    Object(Box<Before>),
}

/// What is wrong with a member: with the way to it, or with the node that it is.
enum Way {
    Link(Fault),
    Node(&'static str, NodeFault),
}

/// After so long it is tried again to make what is being deleted still.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What those share that have killed the controllers.
const CONTROLLERS: &str = "controllers";

/// A trigger with its member resolved.
struct Awaited<'a> {
    window: usize,
    member: String,
    trigger: &'a Trigger,
}

impl Driver<'_> {
    /// Lets all of `windows` come and go.
    pub(in crate::run) async fn faults(&mut self, windows: &[Spanned<Window>]) -> Result<(), Miss> {
        let mut agenda = Agenda::new();
        let mut awaited = Vec::new();
        for (index, window) in windows.iter().enumerate() {
            match &window.value.after {
                None => drop(agenda.insert((self.begins(&window.value)?, Turn::Begin, index))),
                Some(after) => {
                    // A part that nobody plays now has nothing to wait for.
                    let member = self.name(&after.value.about().0.value).ok();
                    let trigger = &after.value;
                    awaited.extend(member.map(|member| Awaited { window: index, member, trigger }));
                }
            }
        }
        let (mut in_force, mut shared) = (BTreeMap::new(), BTreeMap::new());
        let mut overdue = BTreeMap::new();
        let mut changes = self.log.changes();
        loop {
            changes.mark_unchanged();
            self.check_run()?;
            let met = |awaited: &mut Awaited<'_>| self.log.look(|world, _| self.holds(awaited, world));
            for Awaited { window, .. } in awaited.extract_if(.., met).collect::<Vec<_>>() {
                agenda.insert((self.begins(&windows[window].value)?, Turn::Begin, window));
            }
            let Some(&(due, turn, index)) = agenda.first() else { return Ok(()) };
            tokio::select! {
                biased;
                () = self.fleet.gate().struck() => {
                    self.die(&mut in_force, &mut shared);
                    continue;
                }
                () = sleep_until(due) => {}
                _ = changes.changed(), if !awaited.is_empty() => continue,
            }
            agenda.pop_first();
            let window = &windows[index].value;
            match turn {
                Turn::Begin => {
                    let begun = self.begin(&window.fault.value, &mut shared).await?;
                    in_force.extend(begun.map(|begun| (index, begun)));
                    agenda.insert((Instant::now() + self.length(&window.lasts)?, Turn::End, index));
                }
                Turn::End => {
                    let left = self.end(in_force.remove(&index), &mut shared).await?;
                    if let Some(left) = left {
                        in_force.insert(index, left);
                        agenda.insert((self.look_again(&mut overdue, index)?, Turn::End, index));
                    }
                }
            }
        }
    }

    /// When to try again to undo the window `index`, which could not be undone now.
    fn look_again(&self, overdue: &mut BTreeMap<usize, Instant>, index: usize) -> Result<Instant, Miss> {
        let within = self.patience().removal(self.tolerated);
        let since = *overdue.entry(index).or_insert_with(Instant::now);
        if since.elapsed() <= within {
            return Ok(Instant::now() + LOOK_AGAIN);
        }
        let expected = "what was deleted is gone, so that it can be made again".to_owned();
        Err(Miss::Unmet { expected, seen: format!("after {}: it is there still", span(within)) })
    }

    /// When a window begins that waits for nothing more.
    fn begins(&self, window: &Window) -> Result<Instant, Miss> {
        Ok(Instant::now() + self.length(&window.at)?)
    }

    /// Brings a disturbance about; `None` where nobody plays the part that it would strike.
    async fn begin(
        &mut self,
        fault: &Disturbance,
        shared: &mut BTreeMap<String, (usize, Undo)>,
    ) -> Result<Option<InForce>, Miss> {
        if let Some(guard) = self.trouble(fault).await? {
            return Ok(Some(InForce::Guards { _guards: vec![guard] }));
        }
        if let Disturbance::Crash(crash) = fault {
            return Ok(Some(InForce::Doom { _guard: self.doom(fault, crash)? }));
        }
        if let Disturbance::Restore(loss) | Disturbance::Wipe(loss) = fault {
            let Some(members) = self.struck(&loss.cluster.value) else { return Ok(None) };
            self.ask_leave(&members).await?;
            return Ok(Some(InForce::Loss(self.lose(fault, &members)?)));
        }
        if let Disturbance::Skew(skew) = fault {
            let guards = self.set_clocks(skew).await?;
            return Ok(guards.map(|guards| InForce::Guards { _guards: guards }));
        }
        if let Some((victims, way)) = self.way(fault)? {
            let Some(members) = self.struck(victims) else { return Ok(None) };
            self.ask_leave(&members).await?;
            let guards = members.iter().map(|member| match &way {
                Way::Link(fault) => self.break_link(member, *fault),
                Way::Node(kind, fault) => self.break_node(member, kind, fault),
            });
            return Ok(Some(InForce::Guards { _guards: guards.collect::<Result<_, Miss>>()? }));
        }
        let (what, undo) = match self.change(fault).await {
            // What it would change is not there now.
            Err(Miss::Unmet { .. }) => return Ok(None),
            changed => changed?,
        };
        match shared.entry(what.clone()) {
            Entry::Vacant(entry) => drop(entry.insert((1, undo))),
            Entry::Occupied(mut entry) => {
                let (count, first) = entry.get_mut();
                *count += 1;
                if let (Undo::Object(first), Undo::Object(also)) = (first, &undo) {
                    first.also(also);
                }
            }
        }
        Ok(Some(InForce::Shared(what)))
    }

    /// What goes wrong with members, and with which, if that is what `fault` is.
    fn way<'f>(&self, fault: &'f Disturbance) -> Result<Option<(&'f Victims, Way)>, Miss> {
        Ok(Some(match fault {
            Disturbance::Refuse(refuse) => (&refuse.cluster.value, Way::Link(Fault::Refuse)),
            Disturbance::Partition(it) if self.cluster.is_some() => {
                (&it.cluster.value, Way::Node("partition", NodeFault::Silent))
            }
            Disturbance::Partition(it) => {
                (&it.cluster.value, Way::Link(Fault::Partition { direction: it.direction }))
            }
            Disturbance::Delay(it) => {
                (&it.cluster.value, Way::Link(Fault::Delay { by: self.length(&it.by)? }))
            }
            Disturbance::Disturb(it) => (&it.cluster.value, Way::Link(self.nuisance(&it.by.value)?)),
            Disturbance::Silence(it) => (&it.node.value, Way::Node("silent", NodeFault::Silent)),
            Disturbance::Condition(it) => {
                let (kind, fault) = illness(it.is);
                (&it.node.value, Way::Node(kind, fault))
            }
            _ => return Ok(None),
        }))
    }

    /// The members that are meant, if anybody plays their part now.
    pub(in crate::run) fn struck(&self, victims: &Victims) -> Option<Vec<String>> {
        match victims {
            Victims::Member(member) => Some(vec![self.name(member).ok()?]),
            Victims::Domain(..) => victims.of_domain(self.scenario),
        }
    }

    /// Changes what a disturbance changes, and answers what that is and how it becomes what it was.
    async fn change(&mut self, fault: &Disturbance) -> Result<(String, Undo), Miss> {
        Ok(match fault {
            Disturbance::Taint(taint) => {
                let mut taint = taint.clone();
                let member = self.name(&taint.cluster.value)?;
                taint.cluster.value = MemberRef::Named(member.clone());
                self.edit_taints(&taint, true).await?;
                (format!("{member} {}:{}", taint.key, taint.effect), Undo::Untaint(taint))
            }
            Disturbance::StartUp(start_up) => {
                let member = self.name(&start_up.cluster.value)?;
                let before = self.member(&member)?.start_up();
                self.set_start_up(&member, &start_up.takes)?;
                (format!("{member} startUp"), Undo::StartUp(member, before))
            }
            Disturbance::Scale(scale) => {
                let before = Scale { workload: scale.workload.clone(), to: self.replicas(scale).await? };
                self.scale(scale).await?;
                (format!("{} replicas", scale.workload.value), Undo::Scale(before))
            }
            Disturbance::Apply(apply) => {
                let before = self.before(&apply.to.value, &apply.object.value, false).await?;
                self.apply(apply, DISTURBER).await?;
                (before.to_string(), Undo::Object(Box::new(before)))
            }
            Disturbance::Delete(delete) => {
                let before = self.before(&delete.from.value, &delete.object.value, true).await?;
                self.delete(delete).await?;
                (before.to_string(), Undo::Object(Box::new(before)))
            }
            Disturbance::DeleteMember(member) => {
                let name = self.name(&member.value)?;
                let before = self.member_before(&name).await?;
                self.delete_member(&name).await?;
                (before.to_string(), Undo::Object(Box::new(before)))
            }
            Disturbance::Rival(_) => {
                self.start_rival(fault).await?;
                ("rival".to_owned(), Undo::EndRival)
            }
            _ => {
                self.kill();
                (CONTROLLERS.to_owned(), Undo::Start)
            }
        })
    }

    /// The controllers have died of a write, and are dead for as long as that was to be expected.
    fn die(&mut self, in_force: &mut BTreeMap<usize, InForce>, shared: &mut BTreeMap<String, (usize, Undo)>) {
        self.kill();
        let doom = in_force.values_mut().find(|each| matches!(each, InForce::Doom { .. }));
        if let Some(doom) = doom {
            *doom = InForce::Shared(CONTROLLERS.to_owned());
            shared.entry(CONTROLLERS.to_owned()).or_insert((0, Undo::Start)).0 += 1;
        }
    }

    /// Undoes a disturbance. Answers with what cannot be undone yet.
    async fn end(
        &mut self,
        in_force: Option<InForce>,
        shared: &mut BTreeMap<String, (usize, Undo)>,
    ) -> Result<Option<InForce>, Miss> {
        let what = match in_force {
            Some(InForce::Shared(what)) => what,
            Some(InForce::Doom { _guard: guard }) => {
                drop(guard);
                // Who has died just now never gets an answer.
                if self.fleet.gate().struck().now_or_never().is_some() {
                    self.kill();
                    self.start().await?;
                }
                return Ok(None);
            }
            Some(InForce::Loss(loss)) => {
                let off = self.regain(loss)?;
                return Ok((!off.is_empty()).then_some(InForce::Guards { _guards: off }));
            }
            Some(InForce::Guards { .. }) | None => return Ok(None),
        };
        let Some((count, _)) = shared.get_mut(&what) else { return Ok(None) };
        *count -= 1;
        if *count > 0 {
            return Ok(None);
        }
        match shared.remove(&what).map(|(_, undo)| undo) {
            Some(Undo::Start) => self.start().await?,
            Some(Undo::EndRival) => self.end_rival(),
            Some(Undo::Untaint(taint)) => match self.edit_taints(&taint, false).await {
                // A member that has left the fleet has no taints.
                Ok(()) | Err(Miss::Unmet { .. }) => {}
                broken => broken?,
            },
            Some(Undo::StartUp(member, before)) => self.restore_start_up(&member, before)?,
            Some(Undo::Scale(before)) => match self.scale(&before).await {
                Ok(()) | Err(Miss::Unmet { .. }) => {}
                broken => broken?,
            },
            Some(Undo::Object(before)) if !self.put_back(&before).await? => {
                shared.insert(what.clone(), (1, Undo::Object(before)));
                return Ok(Some(InForce::Shared(what)));
            }
            Some(Undo::Object(_)) | None => {}
        }
        Ok(None)
    }

    fn holds(&self, awaited: &Awaited<'_>, world: &World) -> bool {
        let member = &awaited.member;
        match awaited.trigger {
            Trigger::Tainted(tainted) => {
                has_taint(world, member, &self.taint_key(&tainted.key), tainted.effect)
            }
            Trigger::Evicted(moved) if self.cluster.is_some() => {
                !Crew::of(world, &moved.workload.value).staying.contains_key(member)
            }
            Trigger::Evicted(moved) => world
                .workload(&moved.workload.value)
                .is_some_and(|workload| !workload.assignment.contains_key(member)),
        }
    }
}
