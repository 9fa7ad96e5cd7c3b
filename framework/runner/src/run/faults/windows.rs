//! The step `faults`: begins and ends each fault at its time, and returns when the last one is undone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capsize_history::FileValue;
use tokio::time::{Instant, sleep_until};

use crate::run::driver::{Driver, StepError};
use crate::run::pod_counts::PodCounts;
use crate::run::steps::expectations::has_taint;
use crate::scenario::{Trigger, Window};
use capsize_history::facts::World;
use capsize_judge::time_format::span;

/// The order of the changes. At one instant, ends come before beginnings.
type ChangeOrder = BTreeSet<(Instant, Edge, usize)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    End,
    Begin,
}

/// How long to wait before trying again to create an object that is still being deleted.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// A window that waits for its trigger, with the member resolved.
struct WaitingWindow<'a> {
    window: usize,
    member: String,
    trigger: &'a Trigger,
}

impl Driver<'_> {
    /// Begins and ends the faults of all `windows`.
    pub(in crate::run) async fn faults(&mut self, windows: &[FileValue<Window>]) -> Result<(), StepError> {
        let mut agenda = ChangeOrder::new();
        let mut awaited = Vec::new();
        for (index, window) in windows.iter().enumerate() {
            match &window.value.after {
                None => drop(agenda.insert((self.begins(&window.value)?, Edge::Begin, index))),
                Some(after) => {
                    // A trigger whose member does not exist now never fires.
                    let member = self.member_name(&after.value.about().0.value).ok();
                    let trigger = &after.value;
                    awaited.extend(member.map(|member| WaitingWindow { window: index, member, trigger }));
                }
            }
        }
        let (mut in_force, mut shared) = (BTreeMap::new(), BTreeMap::new());
        let mut overdue = BTreeMap::new();
        let mut changes = self.log.changes();
        loop {
            changes.mark_unchanged();
            self.check_run()?;
            let met = |awaited: &mut WaitingWindow<'_>| self.log.look(|world, _| self.holds(awaited, world));
            for WaitingWindow { window, .. } in awaited.extract_if(.., met).collect::<Vec<_>>() {
                agenda.insert((self.begins(&windows[window].value)?, Edge::Begin, window));
            }
            let Some(&(due, edge, index)) = agenda.first() else { return Ok(()) };
            tokio::select! {
                biased;
                () = self.fleet.api_faults().crashed() => {
                    self.crash_controllers(&mut in_force, &mut shared);
                    continue;
                }
                () = sleep_until(due) => {}
                _ = changes.changed(), if !awaited.is_empty() => continue,
            }
            agenda.pop_first();
            let window = &windows[index].value;
            match edge {
                Edge::Begin => {
                    let begun = self.begin(&window.fault.value, &mut shared).await?;
                    in_force.extend(begun.map(|begun| (index, begun)));
                    agenda.insert((Instant::now() + self.length(&window.lasts)?, Edge::End, index));
                }
                Edge::End => {
                    let left = self.end(in_force.remove(&index), &mut shared).await?;
                    if let Some(left) = left {
                        in_force.insert(index, left);
                        agenda.insert((self.retry_at(&mut overdue, index)?, Edge::End, index));
                    }
                }
            }
        }
    }

    /// When to try again to undo the fault of the window `index`, which could not be undone now.
    fn retry_at(&self, overdue: &mut BTreeMap<usize, Instant>, index: usize) -> Result<Instant, StepError> {
        let within = self.wait_limits().removal(self.tolerated);
        let since = *overdue.entry(index).or_insert_with(Instant::now);
        if since.elapsed() <= within {
            return Ok(Instant::now() + RETRY_INTERVAL);
        }
        let expected = "the deleted object is gone, so that it can be created again".to_owned();
        Err(StepError::Unmet { expected, seen: format!("after {}: it still exists", span(within)) })
    }

    /// When a window begins whose trigger has fired.
    fn begins(&self, window: &Window) -> Result<Instant, StepError> {
        Ok(Instant::now() + self.length(&window.at)?)
    }

    fn holds(&self, awaited: &WaitingWindow<'_>, world: &World) -> bool {
        let member = &awaited.member;
        match awaited.trigger {
            Trigger::Tainted(tainted) => {
                has_taint(world, member, &self.taint_key(&tainted.key), tainted.effect)
            }
            Trigger::Evicted(moved) if self.cluster.is_some() => {
                !PodCounts::of(world, &moved.workload.value).staying.contains_key(member)
            }
            Trigger::Evicted(moved) => world
                .workload(&moved.workload.value)
                .is_some_and(|workload| !workload.assignment.contains_key(member)),
        }
    }
}
