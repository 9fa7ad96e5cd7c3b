//! `capsize chaos`: many seeds, one after another or side by side, until one fails.

use std::env;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use capsize_clock::{Clock, Interrupt};
use capsize_judge::time_format::span;
use capsize_report::Page;
use capsize_runner::chaos::Style;
use capsize_runner::run::Target;
use clap::Args;

use super::campaign::{Campaign, Slice, Store};
use super::continuous::{self, Database};
use super::journal::{Header, Journal, SeedResult};
use super::progress;
use super::seeds::Seeds;
use super::session::{Local, Session};
use super::tally::Tally;
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::pods::profile_file;
use crate::{conformance, output, run, targets};

/// Draw scenarios from seeds, run them, and make the first that fails smaller
#[derive(Args, Debug)]
pub struct Chaos {
    #[command(flatten)]
    drawn: DrawnArgs,
    /// Run seeds from A on for this time, however many there are
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    lasts: Option<Duration>,
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
    continuous: ContinuousArgs,
    #[command(flatten)]
    slice: SliceArgs,
    #[command(flatten)]
    empty: EmptyArgs,
}

/// Which scenarios are drawn, and the target that runs them.
#[derive(Args, Debug)]
pub(super) struct DrawnArgs {
    /// The seeds, from A up to B - 1
    #[arg(long, value_name = "A..B", default_value = "0..1000")]
    pub(super) seeds: Seeds,
    /// How many faults: lite, swarm or storm.
    /// With graft, faults are added to the scenarios of the conformance suite
    #[arg(long, default_value_t = Style::Swarm)]
    pub(super) style: Style,
    /// The target profile: the name of one that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    pub(super) target: String,
}

/// The options of a run without an end.
#[derive(Args, Debug)]
struct ContinuousArgs {
    /// Run seeds from A on without an end, until a signal or the end of --for.
    /// The results are kept in the folder of --db
    #[arg(long, requires = "db", conflicts_with_all = ["keep_going", "save", "resume"])]
    continuous: bool,
    /// The folder of the results: the page index.html, and a journal for each commit, target and style
    #[arg(long, value_name = "DIR", requires = "continuous")]
    db: Option<PathBuf>,
    /// The commit or version that the results are about; the version of Capsize where none is given
    #[arg(long, requires = "continuous", value_parser = continuous::commit)]
    commit: Option<String>,
}

/// The options of a pod of `capsize campaign`.
#[derive(Args, Debug)]
struct SliceArgs {
    /// Run one slice of a campaign, and put its results into this store: a directory, s3://… or gs://…
    #[arg(
        long,
        value_name = "STORE",
        requires = "completions",
        conflicts_with_all = ["lasts", "steer", "keep_going", "check_determinism", "save", "resume", "continuous"],
    )]
    store: Option<String>,
    /// The number of slices of the campaign
    #[arg(long, value_name = "N", requires = "store")]
    completions: Option<NonZeroU64>,
    /// Which slice is run, from 0 on; that of the variable `JOB_COMPLETION_INDEX` where none is given
    #[arg(long, value_name = "I", requires = "store")]
    index: Option<u64>,
}

impl SliceArgs {
    /// The index of the slice. Kubernetes puts it into the environment of the pods of an Indexed Job.
    fn index(&self) -> Result<u64, CommandError> {
        let variable = || env::var("JOB_COMPLETION_INDEX").ok()?.parse().ok();
        let index = self.index.or_else(variable);
        index.ok_or_else(|| {
            let why = "give --index: JOB_COMPLETION_INDEX is not set to a number";
            input_error!("{why}, so there is no slice to run")
        })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let length = text.parse::<jiff::SignedDuration>().ok().and_then(|length| length.try_into().ok());
    length.ok_or_else(|| "write a length of time, as 30s or 5m".to_owned())
}

impl Chaos {
    /// Runs seeds, reports failures, and answers whether there were none.
    ///
    /// # Errors
    /// A target or journal that is wrong, a folder that cannot be written, a run that broke.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let profile = targets::find(&self.drawn.target).map_err(CommandError::input)?;
        let implementation = run::implementation(&profile)?;
        let bases = conformance::plans().map_err(|error| CommandError::input(*error))?;
        let session = Session {
            style: self.drawn.style,
            target: Target { profile: &profile, implementation: &*implementation },
            bases: &bases,
            jobs: self.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
            steer: self.steer,
            check_determinism: self.check_determinism,
            keep_going: self.keep_going || self.slice.store.is_some() || self.continuous.continuous,
        };
        let clock = Clock::real();
        let tally = match (&self.slice.store, self.slice.completions, &self.continuous.db) {
            (Some(store), Some(completions), _) => self.run_slice(&session, store, completions)?,
            (.., Some(folder)) => self.run_on(&session, &clock, folder)?,
            _ => self.run_here(&session, &clock)?,
        };
        output::show(tally.text(Some(clock.elapsed())))?;
        let untested = tally.is_empty().then(|| "no seed was run".to_owned());
        self.empty.verdict(tally.is_quiet(), untested)
    }

    /// Runs the seeds, and keeps the results in the folder of --save, if there is one.
    fn run_here(&self, session: &Session<'_>, clock: &Clock) -> Result<Tally, CommandError> {
        let until = self.lasts;
        let from = until.map(|lasts| format!("{}, from seed {} on", span(lasts), self.drawn.seeds.0.start));
        output::show(self.head(session, from.unwrap_or_else(|| self.drawn.seeds.to_string())))?;
        let folder = self.save.as_deref().map(output::Folder::create).transpose()?;
        let mut tally = Tally::default();
        let mut seeds = self.drawn.seeds.0.clone();
        let journal = self.journal(session, |done| {
            seeds.start = seeds.start.max(done.seed + 1);
            tally.recount(done);
        })?;
        if until.is_some() {
            seeds.end = u64::MAX;
        }
        let progress = until.map_or_else(|| progress::of(seeds.end - seeds.start, "seeds"), progress::within);
        let seeds = seeds.take_while(|_| until.is_none_or(|until| clock.elapsed() < until));
        session.run(seeds, &mut tally, &progress, &mut Local { folder, journal })?;
        Ok(tally)
    }

    /// Runs the seeds of one slice that have no result in the store.
    fn run_slice(
        &self,
        session: &Session<'_>,
        store: &str,
        completions: NonZeroU64,
    ) -> Result<Tally, CommandError> {
        let campaign = Campaign::new(&self.drawn.seeds, completions)?;
        let index = self.slice.index()?;
        let slice = campaign.slice(index)?;
        let head = self.head(session, format!("{}, slice {index} of {campaign}", Seeds(slice.clone())));
        let mut keep = Slice::open(Store::open(store)?, slice, campaign.header(session))?;
        let mut tally = Tally::default();
        keep.resume(|done| tally.recount(done))?;
        output::show(head)?;
        let (seeds, count) = keep.missing();
        session.run(seeds, &mut tally, &progress::of(count, "seeds"), &mut keep)?;
        Ok(tally)
    }

    /// Runs seeds until a signal or the end of --for, from the first that has no result in the database on.
    fn run_on(&self, session: &Session<'_>, clock: &Clock, folder: &Path) -> Result<Tally, CommandError> {
        let until = self.lasts;
        let lasts = until.map_or_else(|| "without an end".to_owned(), span);
        let commit = self.continuous.commit.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
        let profile = profile_file(&self.drawn.target)?;
        let interrupt = Interrupt::default();
        interrupt.listen().map_err(|error| environment_error!("cannot listen to signals: {error}"))?;
        let mut tally = Tally::default();
        let mut first = self.drawn.seeds.0.start;
        let mut database = Database::open(folder, (commit, profile), &self.header(session), |done| {
            first = first.max(done.seed + 1);
            tally.recount(done);
        })?;
        output::show(self.head(session, format!("{lasts}, from seed {first} on")))?;
        let goes_on =
            |_: &u64| interrupt.signal().is_none() && until.is_none_or(|until| clock.elapsed() < until);
        let progress = until.map_or_else(progress::endless, progress::within);
        let ended = session.run((first..u64::MAX).take_while(goes_on), &mut tally, &progress, &mut database);
        database.page()?;
        ended.map(|()| tally)
    }

    /// The options of the run, which are printed before it begins.
    fn head(&self, session: &Session<'_>, seeds: String) -> Page {
        let stops = if session.keep_going { "at the end" } else { "at the first that fails" };
        let options = [
            ("seeds", seeds),
            ("style", session.style.to_string()),
            ("target", session.target_name()),
            ("jobs", session.jobs.to_string()),
            ("steers", if self.steer { "to what has not been tried" } else { "nowhere" }.to_owned()),
            ("stops", stops.to_owned()),
            ("runs", if self.check_determinism { "each twice" } else { "each once" }.to_owned()),
        ];
        let mut page = output::page();
        page.line("capsize chaos");
        for (name, value) in options {
            page.wrapped(&format!("  {name:<8}"), &value);
        }
        page
    }

    fn journal(
        &self,
        session: &Session<'_>,
        done: impl FnMut(SeedResult),
    ) -> Result<Option<Journal>, CommandError> {
        let Some(folder) = &self.save else { return Ok(None) };
        let path = folder.join("journal.jsonl");
        let header = self.header(session);
        if self.resume { Journal::resume(&path, &header, done) } else { Journal::begin(&path, &header) }
            .map(Some)
    }

    fn header(&self, session: &Session<'_>) -> Header {
        Header {
            target: session.target_name(),
            style: session.style.to_string(),
            first_seed: self.drawn.seeds.0.start,
            campaign: None,
        }
    }
}
