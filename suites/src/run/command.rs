//! The command: its options, what is run, and what is reported of it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::{fs, thread};

use capsize_clock::{Clock, Interrupt, Seed};
use capsize_judge::profile::{Feature, Profile, Start};
use capsize_report as report;
use capsize_report::{CaseTimeline, Report, Status};
use capsize_runner::run::{Options, Outcome, run_cases};
use capsize_runner::scenario::{self, Case};
use clap::Args;
use miette::miette;

use super::parties::{Party, ProgramSources, cannot_start, replace_program, shared_out};
use super::progress::Progress;
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::kit::{self, Kit};
use crate::providers::{MemberArgs, ProviderName};
use crate::{canary, check, cleanup, conformance, output, targets};

/// Run scenarios against a target, and judge what happens
#[derive(Args, Debug)]
pub struct Run {
    /// Scenario files, or folders of them; the conformance suite where none is given
    paths: Vec<PathBuf>,
    /// The target profile: the name of one that comes with Capsize, or a file
    #[arg(long, default_value = targets::REFERENCE)]
    target: String,
    #[command(flatten)]
    members: MemberArgs,
    /// Start this program instead of the one that the target names
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder with the released programs of the target, which its kit starts
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    bin: Option<PathBuf>,
    /// The definitions of the release of the programs: a folder, or a `.tar.gz` of it. Without it, our own count
    #[arg(long, value_name = "DIR|FILE")]
    definitions: Option<PathBuf>,
    /// Give the target the settings in the header of this history, so that the two can be compared
    #[arg(long, value_name = "HISTORY")]
    settings_of: Option<PathBuf>,
    /// Run only the core of the suite
    #[arg(long, conflicts_with = "paths")]
    core: bool,
    /// Run only cases whose `group/name` contains this
    #[arg(long)]
    filter: Option<String>,
    /// Write `index.html`, `summary.md`, `report.json`, `junit.xml` and the histories into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// How many cases run at a time; as many as there are cores where nothing is given
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Run a case first that must fail, and end with an error if it passes
    #[arg(long)]
    canary: bool,
    /// Print a line for each case that has ended, also in virtual time
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    /// Print only the failures and the totals
    #[arg(long, short)]
    quiet: bool,
    /// Explain the words and numbers at the end of the summary below it
    #[arg(long, conflicts_with = "quiet")]
    explain_summary: bool,
    /// The random seed
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
    #[command(flatten)]
    empty: EmptyArgs,
}

/// The folder of the logs of programs, in that of the report.
const LOGS: &str = "logs";

/// Facts about a run, beside the outcomes of its cases.
struct Context {
    /// The beginning of the summary.
    canaries: String,
    /// The implementations under test.
    target: String,
    /// The provider of members, and the seed.
    about: Vec<String>,
    /// How many cases there are.
    cases: usize,
    clock: Clock,
}

impl Run {
    /// Runs the cases, prints the summary, and answers whether the target conforms.
    ///
    /// # Errors
    /// A scenario, profile, flag or filter that is wrong; a report that cannot be written; a run that broke, or was asked to
    /// end. The cases that had ended until then are still reported.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        self.members.check()?;
        let jobs = self.jobs()?;
        let cases = self.cases()?;
        if self.members.provider == ProviderName::Kubeconfig {
            output::show(self.members.existing.plan(&cleanup::dry_journal()?)?)?;
            if self.members.existing.dry_run {
                return Ok(ExitStatus::Conforms);
            }
        }
        let interrupt = Interrupt::default();
        let parties = self.parties(&interrupt)?;
        interrupt.listen().map_err(|error| cannot_start(&error))?;
        let mut canaries = String::new();
        for party in parties.iter().filter(|_| self.canary) {
            canaries += &canary::run(party.target(), self.seed, |report| report.conforms())?;
        }
        let writer = self.report.as_deref().map(output::Folder::create).transpose()?;
        let is_live = parties.iter().any(|party| party.implementation.info().is_live());
        let mut progress = Progress::new(cases.len(), self.verbose || is_live && !self.quiet);
        let context = Context {
            canaries,
            target: parties.iter().map(Party::name).collect::<Vec<_>>().join(", "),
            about: vec![self.members.described()?, format!("seed {}", self.seed)],
            cases: cases.len(),
            clock: Clock::real(),
        };
        let options = Options { seed: self.seed, jobs, keep_histories: writer.is_some() };
        let mut outcomes = Vec::with_capacity(cases.len());
        for (party, cases) in parties.iter().zip(shared_out(cases, &parties)) {
            let ran = run_cases(&cases, party.target(), options, |outcome| progress.ended(outcome));
            for mut outcome in ran {
                outcome.case.replay = self.replay(&outcome.case);
                let timeline = timeline(&outcome, &party.profile)?;
                outcomes.push((outcome, timeline));
            }
        }
        progress.finish();
        self.conclude(context, outcomes, &parties, writer.as_ref(), &interrupt)
    }

    /// Reports the outcomes of the cases, and ends the providers.
    fn conclude(
        &self,
        context: Context,
        outcomes: Vec<(Outcome, Option<CaseTimeline>)>,
        parties: &[Party],
        writer: Option<&output::Folder>,
        interrupt: &Interrupt,
    ) -> Result<ExitStatus, CommandError> {
        let (done, broken): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|(outcome, _)| outcome.broken.is_none());
        let (done, timelines): (Vec<Outcome>, Vec<_>) = done.into_iter().unzip();
        self.forget_logs(&done);
        let broken: Vec<String> = broken.into_iter().filter_map(|(outcome, _)| outcome.broken).collect();
        let is_well = broken.is_empty() && done.iter().all(|outcome| outcome.case.status != Status::Failed);
        let kept = parties.iter().filter_map(|party| party.implementation.info().provider?.ended(is_well));
        let kept: String = kept.map(|kept| kept + "\n").collect();
        if let Some(writer) = writer {
            done.iter().try_for_each(|outcome| writer.history(outcome))?;
        }
        let Context { canaries, target, mut about, cases, clock } = context;
        if !broken.is_empty() {
            about.push(format!("{} of {cases} cases ended", done.len()));
        }
        let report = Report {
            command: "run".into(),
            about,
            target,
            lacking_core: lacking_core(parties),
            cases: done.into_iter().map(|outcome| outcome.case).collect(),
            wall: Some(clock.elapsed()),
        };
        if broken.is_empty() || !report.cases.is_empty() {
            if let Some(writer) = writer {
                writer.report(&report, &timelines)?;
            }
            let summary = if self.quiet { report::quiet } else { report::summary };
            let legend = if self.explain_summary { report::legend(output::columns()) } else { String::new() };
            output::print(&(canaries + &summary(&report, output::columns()) + &legend + &kept))?;
        }
        if let Some(asked) = interrupt.asked() {
            return Err(CommandError::Interrupted(asked));
        }
        if !broken.is_empty() {
            return Err(CommandError::Environment(miette!("{}\n{kept}", broken.join("\n"))));
        }
        self.empty.verdict(report.conforms(), report.untested())
    }

    /// How many cases run at a time.
    fn jobs(&self) -> Result<NonZeroUsize, CommandError> {
        if self.members.provider != ProviderName::Kubeconfig {
            let cores = || thread::available_parallelism().ok();
            return Ok(self.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN));
        }
        match self.jobs {
            None | Some(NonZeroUsize::MIN) => Ok(NonZeroUsize::MIN),
            Some(jobs) => Err(CommandError::Input(miette!(
                "--jobs {jobs}: with --provider kubeconfig one case runs at a time, because all use the same clusters"
            ))),
        }
    }

    /// The implementations under test. The reference is two: its controllers of clusters, and those of nodes.
    fn parties(&self, interrupt: &Interrupt) -> Result<Vec<Party>, CommandError> {
        let in_process = self.members.provider == ProviderName::Embedded;
        let names = match self.target.as_str() {
            // A cluster with nodes has no members to be provided.
            targets::REFERENCE if self.settings_of.is_none() && in_process => {
                vec![targets::REFERENCE, targets::REFERENCE_NODES]
            }
            name => vec![name],
        };
        let sources = self.sources()?;
        let party = |name: &str| {
            let mut profile = targets::find(name).map_err(CommandError::input)?;
            if self.bin.is_some() {
                profile = self.kitted(profile)?;
            }
            let mut profile = match &self.settings_of {
                None => profile,
                Some(history) => check::with_settings_of(history, &profile).map_err(CommandError::input)?,
            };
            if let Some(path) = &self.program {
                replace_program(&mut profile, path)?;
            }
            Party::new(profile, &self.members, &sources, interrupt)
        };
        names.into_iter().map(party).collect()
    }

    /// Where the programs of the target come from, and where their logs go.
    fn sources(&self) -> Result<ProgramSources, CommandError> {
        if let Some(bin) = self.bin.as_ref().filter(|bin| !bin.is_dir()) {
            return Err(CommandError::Input(miette!("--bin {}: there is no such folder", bin.display())));
        }
        let definitions = self.definitions.as_deref().map(kit::definitions).transpose();
        Ok(ProgramSources {
            bin: self.bin.clone(),
            definitions: definitions.map_err(CommandError::input)?,
            logs: self.report.as_ref().map(|report| report.join(LOGS)),
        })
    }

    /// The profile with the programs of its kit. A profile that starts programs needs no kit.
    fn kitted(&self, profile: Profile) -> Result<Profile, CommandError> {
        match Kit::of(&profile.name).map_err(CommandError::input)? {
            Some(kit) => kit.applied(profile).map_err(CommandError::input),
            None if matches!(profile.start, Start::Processes(_)) => Ok(profile),
            None => Err(CommandError::Input(miette!(
                "--bin: Capsize has no kit for the target {}: `start: processes` in a profile of your own starts programs",
                profile.name
            ))),
        }
    }

    /// Removes the logs of the cases that passed.
    fn forget_logs(&self, done: &[Outcome]) {
        let Some(report) = &self.report else { return };
        for outcome in done.iter().filter(|outcome| outcome.case.status == Status::Passed) {
            // Most targets have no logs.
            let _ = fs::remove_dir_all(report.join(LOGS).join(outcome.case.id()));
        }
    }

    fn cases(&self) -> Result<Vec<Case>, CommandError> {
        let mut cases = if self.paths.is_empty() {
            conformance::cases().map_err(|error| CommandError::input(*error))?
        } else {
            scenario::find(&self.paths).map_err(CommandError::input)?
        };
        cases.retain(|case| !self.core || conformance::is_core(case));
        if let Some(filter) = &self.filter {
            cases.retain(|case| case.id().contains(filter));
            if cases.is_empty() {
                return Err(CommandError::Input(miette!(
                    help = "`capsize list` shows what there is",
                    "no case has `{filter}` in its name"
                )));
            }
        }
        Ok(cases)
    }

    /// The command that runs the case again.
    fn replay(&self, case: &report::Case) -> String {
        let paths: String = self.paths.iter().map(|path| format!(" {}", path.display())).collect();
        let target = if self.target == targets::REFERENCE {
            String::new()
        } else {
            format!(" --target {}", self.target)
        };
        let settings =
            self.settings_of.as_ref().map(|history| format!(" --settings-of {}", history.display()));
        let program = self.program.as_ref().map(|program| format!(" --program {}", program.display()));
        let named = |flag: &str, path: &Option<PathBuf>| {
            path.as_ref().map(|path| format!(" --{flag} {}", path.display())).unwrap_or_default()
        };
        let sources = named("bin", &self.bin) + &named("definitions", &self.definitions);
        let settings = program.unwrap_or_default() + &settings.unwrap_or_default() + &sources;
        let provider = self.members.replayed();
        let (id, seed) = (case.id(), self.seed);
        format!("capsize run{paths}{target}{provider}{settings} --filter {id} --seed {seed}")
    }
}

/// The time line of a case that was run, if its history was kept.
///
/// # Errors
/// When the history cannot be read.
pub fn timeline(outcome: &Outcome, profile: &Profile) -> Result<Option<CaseTimeline>, CommandError> {
    let history = outcome.history.as_ref().filter(|_| outcome.broken.is_none());
    let timeline = history.map(|history| check::timeline(&outcome.case, history, profile));
    timeline.transpose().map_err(CommandError::input)
}

/// The core features that a target lacks.
fn lacking_core(parties: &[Party]) -> Vec<Feature> {
    parties.iter().flat_map(|party| party.target().profile.lacking_core()).collect()
}
