//! The step `faults`: disturbances that come and go, each on its own, until the last is undone.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use serde_saphyr::Spanned;
use tokio::time::{Instant, sleep_until};

use super::driver::{Driver, Miss};
use super::expect::has_taint;
use crate::dialect::objects;
use crate::facts::World;
use crate::nemesis::{Fault, FaultGuard};
use crate::scenario::{self, Disturbance, MemberRef, Scale, Taint, Trigger, Victims, Window};

use capsize_clusters::{GateGuard, StartUp};

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
}

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
    pub(super) async fn faults(&mut self, windows: &[Spanned<Window>]) -> Result<(), Miss> {
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
        let mut changes = self.log.changes();
        loop {
            changes.mark_unchanged();
            self.check_run()?;
            let met = |awaited: &mut Awaited<'_>| self.log.look(|world, _| awaited.holds(world));
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
                    in_force
                        .extend(self.begin(&window.fault.value, &mut shared).await?.map(|it| (index, it)));
                    agenda.insert((Instant::now() + self.length(&window.lasts)?, Turn::End, index));
                }
                Turn::End => self.end(in_force.remove(&index), &mut shared).await?,
            }
        }
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
        if let Some(guard) = self.trouble(fault)? {
            return Ok(Some(InForce::Guards { _guards: vec![guard] }));
        }
        let (victims, fault) = match fault {
            Disturbance::Refuse(refuse) => (&refuse.cluster.value, Fault::Refuse),
            Disturbance::Partition(it) => (&it.cluster.value, Fault::Partition { direction: it.direction }),
            Disturbance::Delay(it) => (&it.cluster.value, Fault::Delay { by: self.length(&it.by)? }),
            Disturbance::Crash(crash) => {
                return Ok(Some(InForce::Doom { _guard: self.doom(fault, crash)? }));
            }
            fault => {
                let Some((what, undo)) = self.change(fault).await? else { return Ok(None) };
                shared.entry(what.clone()).or_insert((0, undo)).0 += 1;
                return Ok(Some(InForce::Shared(what)));
            }
        };
        let Some(members) = self.struck(victims) else { return Ok(None) };
        self.ask_leave(&members).await?;
        let guards = members.iter().map(|member| self.break_link(member, fault));
        Ok(Some(InForce::Guards { _guards: guards.collect::<Result<_, Miss>>()? }))
    }

    /// The members that are meant, if anybody plays their part now.
    fn struck(&self, victims: &Victims) -> Option<Vec<String>> {
        match victims {
            Victims::Member(member) => Some(vec![self.name(member).ok()?]),
            Victims::Domain(..) => victims.of_domain(self.scenario),
        }
    }

    /// Changes what a disturbance changes, and answers what that is and how it becomes what it was.
    async fn change(&mut self, fault: &Disturbance) -> Result<Option<(String, Undo)>, Miss> {
        let member = match fault {
            Disturbance::Taint(Taint { cluster, .. })
            | Disturbance::StartUp(scenario::StartUp { cluster, .. }) => match self.name(&cluster.value) {
                Ok(name) => name,
                Err(_) => return Ok(None),
            },
            _ => String::new(),
        };
        let (what, undo) = match fault {
            Disturbance::Taint(taint) => {
                let mut taint = taint.clone();
                taint.cluster.value = MemberRef::Named(member.clone());
                self.edit_taints(&taint, true).await?;
                (format!("{member} {}:{}", taint.key, taint.effect), Undo::Untaint(taint))
            }
            Disturbance::StartUp(start_up) => {
                let before = self.member(&member)?.start_up();
                self.set_start_up(&member, &start_up.takes)?;
                (format!("{member} startUp"), Undo::StartUp(member, before))
            }
            Disturbance::Scale(scale) => {
                let before = Scale { workload: scale.workload.clone(), to: self.replicas(scale).await? };
                self.scale(scale).await?;
                (format!("{} replicas", scale.workload.value), Undo::Scale(before))
            }
            Disturbance::Rival(_) => {
                self.start_rival(fault).await?;
                ("rival".to_owned(), Undo::EndRival)
            }
            _ => {
                self.kill();
                (CONTROLLERS.to_owned(), Undo::Start)
            }
        };
        Ok(Some((what, undo)))
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

    async fn end(
        &mut self,
        in_force: Option<InForce>,
        shared: &mut BTreeMap<String, (usize, Undo)>,
    ) -> Result<(), Miss> {
        let what = match in_force {
            Some(InForce::Shared(what)) => what,
            Some(InForce::Doom { _guard: guard }) => {
                drop(guard);
                // Who has died just now never gets an answer.
                if self.fleet.gate().struck().now_or_never().is_some() {
                    self.kill();
                    self.start().await?;
                }
                return Ok(());
            }
            Some(InForce::Guards { .. }) | None => return Ok(()),
        };
        let Some((count, _)) = shared.get_mut(&what) else { return Ok(()) };
        *count -= 1;
        if *count > 0 {
            return Ok(());
        }
        match shared.remove(&what).map(|(_, undo)| undo) {
            Some(Undo::Start) => self.start().await?,
            Some(Undo::EndRival) => self.end_rival(),
            Some(Undo::Untaint(taint)) => self.edit_taints(&taint, false).await?,
            Some(Undo::StartUp(member, before)) => self.restore_start_up(&member, before)?,
            Some(Undo::Scale(before)) => self.scale(&before).await?,
            None => {}
        }
        Ok(())
    }
}

impl Awaited<'_> {
    fn holds(&self, world: &World) -> bool {
        match self.trigger {
            Trigger::Tainted(tainted) => {
                has_taint(world, &self.member, &objects::taint_key(&tainted.key), tainted.effect)
            }
            Trigger::Evicted(moved) => world
                .workload(&moved.workload.value)
                .is_some_and(|workload| !workload.assignment.contains_key(&self.member)),
        }
    }
}
