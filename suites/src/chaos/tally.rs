//! The results of many seeds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::journal::SeedResult;
use crate::output;
use capsize_report::Page;
use capsize_runner::chaos::{Coverage, Phase, Plan, WorkloadKind};

/// Counts of what came of seeds, however many there are.
#[derive(Default)]
pub(super) struct Tally {
    seeds: u64,
    span: Duration,
    /// Whether some of the seeds come from a journal.
    is_resumed: bool,
    /// By kind of alarm: how many, and the first seed.
    alarms: BTreeMap<String, (u64, u64)>,
    coverage: Arc<Mutex<Coverage>>,
}

impl Tally {
    /// Counts a seed. Answers whether its alarm, if it has one, is the first of its kind.
    pub(super) fn count(&mut self, seed: u64, span: Duration, tried: &Coverage, alarm: Option<&str>) -> bool {
        self.seeds += 1;
        self.coverage().add(tried);
        self.span += span;
        let Some(kind) = alarm else { return false };
        let (times, _) = self.alarms.entry(kind.to_owned()).or_insert((0, seed));
        *times += 1;
        *times == 1
    }

    /// Counts a seed that a journal has.
    pub(super) fn recount(&mut self, done: SeedResult) {
        self.is_resumed = true;
        self.count(done.seed, done.span, &done.tried.into_iter().collect(), done.alarm.as_deref());
    }

    fn coverage(&self) -> MutexGuard<'_, Coverage> {
        self.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a function that is true for a plan that would try something new.
    /// Something is new if this tally does not know that it has been tried.
    pub(super) fn steer(&self) -> impl Fn(&Plan) -> bool + Send + use<> {
        let coverage = Arc::clone(&self.coverage);
        move |plan| {
            let coverage = coverage.lock().unwrap_or_else(PoisonError::into_inner);
            plan.tries().any(|(fault, workload)| coverage.lacks(fault, workload))
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seeds == 0
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.alarms.is_empty()
    }

    /// The summary that is printed in the end; `wall` is the time that the run took, if that is known.
    /// It does not count where some of the seeds were run before.
    pub(super) fn text(&self, wall: Option<Duration>) -> Page {
        let failed: u64 = self.alarms.values().map(|(times, _)| times).sum();
        let mut page = output::page();
        page.line(&format!("{} seeds: {} held, {failed} failed", self.seeds, self.seeds - failed));
        let took = wall.filter(|_| !self.is_resumed).map_or(String::new(), |wall| {
            let seconds = wall.as_secs_f64().max(0.001);
            format!(" in {seconds:.1} s: {:.1} seeds a second", self.seeds as f64 / seconds)
        });
        page.line(&format!("{:.1} h simulated{took}", self.span.as_secs_f64() / 3600.0));
        for (kind, (times, first)) in &self.alarms {
            page.wrapped(&format!("  {times:>5} x "), &format!("{kind} (first with seed {first})"));
        }
        page.lines(&table(&self.coverage()));
        page
    }
}

/// How often each fault began in each phase, with each kind of workload about.
fn table(coverage: &Coverage) -> String {
    let mut rows: BTreeMap<&str, BTreeMap<(Phase, WorkloadKind), u64>> = BTreeMap::new();
    for (cell, times) in coverage.cells() {
        rows.entry(&cell.fault).or_default().insert((cell.phase, cell.workload), times);
    }
    let mut text = String::new();
    for kind in WorkloadKind::ALL {
        let _ = write!(text, "\n{:<14}", kind.to_string());
        for phase in Phase::ALL {
            let _ = write!(text, "{:>10}", phase.to_string());
        }
        for (fault, row) in &rows {
            let _ = write!(text, "\n  {fault:<12}");
            for phase in Phase::ALL {
                let times = row.get(&(phase, kind)).copied().unwrap_or_default();
                let _ = write!(text, "{times:>10}");
            }
        }
        text.push('\n');
    }
    text
}
