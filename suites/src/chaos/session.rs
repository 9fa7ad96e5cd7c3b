//! Runs seeds side by side, counts the results, and passes each of them to the place that keeps them.

use std::num::NonZeroUsize;

use capsize_clock::Seed;
use capsize_runner::chaos::{Plan, Style, draw};
use capsize_runner::run::{Target, side_by_side};
use indicatif::ProgressBar;

use super::find::Find;
use super::journal::{Journal, SeedResult};
use super::tally::Tally;
use super::trial::{Trial, try_plan};
use crate::exit::{CommandError, environment_error};
use crate::output;

/// How seeds are drawn, run and judged.
pub(super) struct Session<'a> {
    pub(super) style: Style,
    pub(super) target: Target<'a>,
    pub(super) bases: &'a [Plan],
    pub(super) jobs: NonZeroUsize,
    pub(super) steer: bool,
    pub(super) check_determinism: bool,
    pub(super) keep_going: bool,
}

/// The place that keeps the results of seeds.
pub(super) trait Keep {
    /// Keeps the first failure of a kind, before the result of its seed.
    fn found(&mut self, find: &Find) -> Result<(), CommandError>;

    /// Keeps the result of a seed. Results come in the order of their seeds.
    fn done(&mut self, done: SeedResult) -> Result<(), CommandError>;
}

/// A folder for failures and a journal, each of which may be missing.
pub(super) struct Local {
    pub(super) folder: Option<output::Folder>,
    pub(super) journal: Option<Journal>,
}

impl Keep for Local {
    fn found(&mut self, find: &Find) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        find.files().into_iter().try_for_each(|(name, contents)| folder.write(&name, &contents))
    }

    fn done(&mut self, done: SeedResult) -> Result<(), CommandError> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.write(&done))
    }
}

/// Why no more seeds are run.
enum End {
    Found,
    CommandError(CommandError),
}

impl From<CommandError> for End {
    fn from(trouble: CommandError) -> Self {
        Self::CommandError(trouble)
    }
}

impl Session<'_> {
    /// The name and the release of the target.
    pub(super) fn target_name(&self) -> String {
        format!("{} {}", self.target.profile.name, self.target.profile.version)
    }

    fn draw(&self, seed: u64) -> Plan {
        draw(Seed(seed), self.style, self.target.profile, self.bases)
    }

    /// Runs seeds, and counts them in `tally`.
    ///
    /// # Errors
    /// A run that broke, or a result that cannot be kept.
    pub(super) fn run(
        &self,
        seeds: impl Iterator<Item = u64> + Send,
        tally: &mut Tally,
        progress: &ProgressBar,
        keep: &mut impl Keep,
    ) -> Result<(), CommandError> {
        let is_new = tally.steer();
        let seeds = seeds.filter(|seed| !self.steer || is_new(&self.draw(*seed)));
        let ended = side_by_side(
            self.jobs,
            seeds,
            |seed| try_plan(&self.draw(*seed), self.target, self.check_determinism),
            |seed, trial| {
                progress.inc(1);
                let alarm = kind(seed, &trial)?;
                if tally.count(seed, trial.span, &trial.coverage, alarm.as_deref()) {
                    progress.suspend(|| self.found(seed, &trial, keep))?;
                }
                let is_found = alarm.is_some();
                let tried = trial.coverage.cells().map(|(cell, times)| (cell.clone(), times)).collect();
                keep.done(SeedResult { seed, span: trial.span, alarm, tried, wall: None })?;
                if is_found && !self.keep_going { Err(End::Found) } else { Ok(()) }
            },
        );
        progress.finish_and_clear();
        match ended {
            Err(End::CommandError(trouble)) => Err(trouble),
            Ok(()) | Err(End::Found) => Ok(()),
        }
    }

    /// Reports and keeps the first seed of each kind of failure.
    fn found(&self, seed: u64, trial: &Trial, keep: &mut impl Keep) -> Result<(), CommandError> {
        let Some(alarm) = &trial.alarm else {
            let lines = trial.differs.as_deref().unwrap_or_default();
            return output::print(&format!("\nseed {seed}: two runs differ, first in\n{lines}\n"));
        };
        let find = Find::of(seed, self.style, self.draw(seed), self.target, alarm);
        keep.found(&find)?;
        output::print(&find.text())
    }
}

/// The kind of failure of a trial, if it failed.
fn kind(seed: u64, trial: &Trial) -> Result<Option<String>, CommandError> {
    if let Some(why) = &trial.broken {
        return Err(environment_error!("{why}, with seed {seed}"));
    }
    let differs = trial.differs.as_ref().map(|_| "two runs differ".to_owned());
    Ok(differs.or_else(|| trial.alarm.as_ref().map(|alarm| alarm.kind().to_owned())))
}
