//! `capsize chaos`: many seeds, one after another or side by side, until one fails.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use capsize_clock::{Clock, Seed};
use capsize_judge::text::span;
use capsize_report::Page;
use capsize_runner::chaos::{Plan, Style, draw};
use capsize_runner::run::{Target, side_by_side};
use clap::Args;
use miette::miette;

use super::find::Find;
use super::journal::{Done, Header, Journal};
use super::progress;
use super::seeds::Seeds;
use super::tally::Tally;
use super::trial::{Trial, try_plan};
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::{conformance, output, run, targets};

/// Draw scenarios from seeds, run them, and make the first that fails smaller
#[derive(Args, Debug)]
pub struct Chaos {
    /// The seeds, from A up to B - 1
    #[arg(long, value_name = "A..B", default_value = "0..1000")]
    seeds: Seeds,
    /// Run seeds from A on for this time, however many there are
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    lasts: Option<Duration>,
    /// How many faults: lite, swarm or storm. With graft, faults are added to the scenarios of the conformance suite
    #[arg(long, default_value_t = Style::Swarm)]
    style: Style,
    /// The target profile: the name of one that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    target: String,
    /// Skip seeds that try no new combination of fault, phase of a failover and kind of workload
    #[arg(long)]
    steer: bool,
    /// How many seeds run at a time; as many as there are cores where none is given
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Go on after a seed that fails
    #[arg(long)]
    keep_going: bool,
    /// Run each seed twice, and fail where the two histories differ
    #[arg(long)]
    check_determinism: bool,
    /// Write each failure into this folder, as a scenario and a history, and keep a journal there
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Continue the run whose journal is in the folder of --save
    #[arg(long, requires = "save")]
    resume: bool,
    #[command(flatten)]
    empty: EmptyArgs,
}

fn duration(text: &str) -> Result<Duration, String> {
    let length = text.parse::<jiff::SignedDuration>().ok().and_then(|length| length.try_into().ok());
    length.ok_or_else(|| "write a length of time, as 30s or 5m".to_owned())
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

impl Chaos {
    /// Runs seeds, reports failures, and answers whether there were none.
    ///
    /// # Errors
    /// A target or journal that is wrong, a folder that cannot be written, a run that broke.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let profile = targets::find(&self.target).map_err(CommandError::input)?;
        let implementation = run::implementation(&profile)?;
        let target = Target { profile: &profile, implementation: &*implementation };
        let bases = conformance::plans().map_err(|error| CommandError::input(*error))?;
        let draw = |seed: u64| draw(Seed(seed), self.style, &profile, &bases);
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        output::show(self.head(target, jobs))?;
        let folder = self.save.as_deref().map(output::Folder::create).transpose()?;
        let mut tally = Tally::default();
        let mut seeds = self.seeds.0.clone();
        let mut journal = self.journal(target, |done| {
            let tried = done.tried.into_iter().collect();
            tally.count(done.seed, done.span, &tried, done.alarm.as_deref());
            seeds.start = seeds.start.max(done.seed + 1);
        })?;
        let clock = Clock::real();
        let until = self.lasts;
        if until.is_some() {
            seeds.end = u64::MAX;
        }
        let progress = until.map_or_else(|| progress::of(seeds.end - seeds.start, "seeds"), progress::within);
        let seeds = seeds.take_while(|_| until.is_none_or(|until| clock.elapsed() < until));
        let is_new = tally.steer();
        let seeds = seeds.filter(|seed| !self.steer || is_new(&draw(*seed)));
        let ended = side_by_side(
            jobs,
            seeds,
            |seed| try_plan(&draw(*seed), target, self.check_determinism),
            |seed, trial| {
                progress.inc(1);
                let kind = kind(seed, &trial)?;
                let is_first = tally.count(seed, trial.span, &trial.coverage, kind.as_deref());
                if is_first {
                    progress.suspend(|| self.found(seed, draw(seed), &trial, target, folder.as_ref()))?;
                }
                if let Some(journal) = &mut journal {
                    let tried = trial.coverage.cells().map(|(cell, times)| (cell.clone(), times)).collect();
                    journal.write(&Done { seed, span: trial.span, alarm: kind.clone(), tried })?;
                }
                if kind.is_some() && !self.keep_going { Err(End::Found) } else { Ok(()) }
            },
        );
        progress.finish_and_clear();
        if let Err(End::CommandError(trouble)) = ended {
            return Err(trouble);
        }
        output::show(tally.text(clock.elapsed()))?;
        let untested = tally.is_empty().then(|| "no seed was run".to_owned());
        self.empty.verdict(tally.is_quiet(), untested)
    }

    /// The options of the run, which are printed before it begins.
    fn head(&self, target: Target<'_>, jobs: NonZeroUsize) -> Page {
        let until = self.lasts.map(|lasts| format!("{}, from seed {} on", span(lasts), self.seeds.0.start));
        let options = [
            ("seeds", until.unwrap_or_else(|| self.seeds.to_string())),
            ("style", self.style.to_string()),
            ("target", format!("{} {}", target.profile.name, target.profile.version)),
            ("jobs", jobs.to_string()),
            ("steers", if self.steer { "to what has not been tried" } else { "nowhere" }.to_owned()),
            ("stops", if self.keep_going { "at the end" } else { "at the first that fails" }.to_owned()),
            ("runs", if self.check_determinism { "each twice" } else { "each once" }.to_owned()),
        ];
        let mut page = output::page();
        page.line("capsize chaos");
        for (name, value) in options {
            page.wrapped(&format!("  {name:<8}"), &value);
        }
        page
    }

    fn journal(&self, target: Target<'_>, done: impl FnMut(Done)) -> Result<Option<Journal>, CommandError> {
        let Some(folder) = &self.save else { return Ok(None) };
        let path = folder.join("journal.jsonl");
        let header = Header {
            target: format!("{} {}", target.profile.name, target.profile.version),
            style: self.style.to_string(),
            first_seed: self.seeds.0.start,
        };
        if self.resume { Journal::resume(&path, &header, done) } else { Journal::begin(&path, &header) }
            .map(Some)
    }

    /// Reports the first seed of each kind of failure.
    fn found(
        &self,
        seed: u64,
        plan: Plan,
        trial: &Trial,
        target: Target<'_>,
        folder: Option<&output::Folder>,
    ) -> Result<(), CommandError> {
        let Some(alarm) = &trial.alarm else {
            let lines = trial.differs.as_deref().unwrap_or_default();
            return output::print(&format!("\nseed {seed}: two runs differ, first in\n{lines}\n"));
        };
        let find = Find::of(seed, self.style, plan, target, alarm);
        if let Some(folder) = folder {
            find.save(folder)?;
        }
        output::print(&find.text())
    }
}

/// The kind of failure of a trial, if it failed.
fn kind(seed: u64, trial: &Trial) -> Result<Option<String>, CommandError> {
    if let Some(why) = &trial.broken {
        return Err(CommandError::Environment(miette!("{why}, with seed {seed}")));
    }
    let differs = trial.differs.as_ref().map(|_| "two runs differ".to_owned());
    Ok(differs.or_else(|| trial.alarm.as_ref().map(|alarm| alarm.kind().to_owned())))
}
