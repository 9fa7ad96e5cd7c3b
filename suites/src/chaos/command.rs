//! `capsize chaos`: many seeds, one after another or side by side, until one fails.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use capsize_clock::{Clock, Seed};
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
use crate::exit::{Trouble, Verdict};
use crate::{conformance, output, run, targets};

/// Draw scenarios from seeds, run them, and make the first that fails smaller
#[derive(Args, Debug)]
pub struct Chaos {
    /// The seeds, from the first up to and without the last
    #[arg(long, value_name = "A..B", default_value = "0..1000")]
    seeds: Seeds,
    /// Go on for so long, from the first seed on, in the place of up to the last
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    lasts: Option<Duration>,
    /// How wild: lite, swarm or storm; or graft, on the scenarios of the conformance suite
    #[arg(long, default_value_t = Style::Swarm)]
    style: Style,
    /// Whose promises count, and who is started: a profile that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    target: String,
    /// Pass over seeds that would only try what has been tried: each fault in each phase of a failover, by kind of workload
    #[arg(long)]
    steer: bool,
    /// How many seeds run at a time; as many as there are cores where nothing is said
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Go on after a seed that fails
    #[arg(long)]
    keep_going: bool,
    /// Run each seed twice, and fail where the two histories differ
    #[arg(long)]
    check_determinism: bool,
    /// Write what fails into this folder, as scenarios and histories, and keep a journal there
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Go on where the run ended whose journal is in the folder of --save
    #[arg(long, requires = "save")]
    resume: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let length = text.parse::<jiff::SignedDuration>().ok().and_then(|length| length.try_into().ok());
    length.ok_or_else(|| "write a length of time, as 30s or 5m".to_owned())
}

/// Why no more seeds are run.
enum End {
    Found,
    Trouble(Trouble),
}

impl From<Trouble> for End {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl Chaos {
    /// Runs seeds, tells what fails, and says whether all is well.
    ///
    /// # Errors
    /// A target or journal that is wrong, a folder that cannot be written, a run that broke.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let profile = targets::find(&self.target).map_err(Trouble::input)?;
        let implementation = run::implementation(&profile)?;
        let target = Target { profile: &profile, implementation: &*implementation };
        let bases = conformance::plans().map_err(|error| Trouble::input(*error))?;
        let draw = |seed: u64| draw(Seed(seed), self.style, &profile, &bases);
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        output::say(&self.head(target, jobs))?;
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
        if let Err(End::Trouble(trouble)) = ended {
            return Err(trouble);
        }
        output::say(&tally.text(clock.elapsed()))?;
        Ok(if tally.is_quiet() { Verdict::Conforms } else { Verdict::Violated })
    }

    /// What the run goes by, before it begins.
    fn head(&self, target: Target<'_>, jobs: NonZeroUsize) -> String {
        let until = self.lasts.map(|lasts| format!("{lasts:?}, from seed {} on", self.seeds.0.start));
        let options = [
            ("seeds", until.unwrap_or_else(|| self.seeds.to_string())),
            ("style", self.style.to_string()),
            ("target", format!("{} {}", target.profile.name, target.profile.version)),
            ("jobs", jobs.to_string()),
            ("steers", if self.steer { "to what has not been tried" } else { "nowhere" }.to_owned()),
            ("stops", if self.keep_going { "at the end" } else { "at the first that fails" }.to_owned()),
            ("runs", if self.check_determinism { "each twice" } else { "each once" }.to_owned()),
        ];
        let lines = options.iter().map(|(name, value)| format!("  {name:<8}{value}\n"));
        format!("capsize chaos\n{}", lines.collect::<String>())
    }

    fn journal(&self, target: Target<'_>, done: impl FnMut(Done)) -> Result<Option<Journal>, Trouble> {
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

    /// Tells of the first seed that fails in its way.
    fn found(
        &self,
        seed: u64,
        plan: Plan,
        trial: &Trial,
        target: Target<'_>,
        folder: Option<&output::Folder>,
    ) -> Result<(), Trouble> {
        let Some(alarm) = &trial.alarm else {
            let lines = trial.differs.as_deref().unwrap_or_default();
            return output::say(&format!("\nseed {seed}: two runs differ, first in\n{lines}\n"));
        };
        let find = Find::of(seed, self.style, plan, target, alarm);
        if let Some(folder) = folder {
            find.save(folder)?;
        }
        output::say(&find.text())
    }
}

/// What a trial is counted under, if it failed.
fn kind(seed: u64, trial: &Trial) -> Result<Option<String>, Trouble> {
    if let Some(why) = &trial.broken {
        return Err(Trouble::Environment(miette!("{why}, with seed {seed}")));
    }
    let differs = trial.differs.as_ref().map(|_| "two runs differ".to_owned());
    Ok(differs.or_else(|| trial.alarm.as_ref().map(|alarm| alarm.kind().to_owned())))
}
