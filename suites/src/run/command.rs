//! The command: its options, what is run, and what is reported of it.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::{env, fs, thread};

use capsize_clock::{Clock, Interrupt, Seed};
use capsize_judge::profile::Profile;
use capsize_report as report;
use capsize_report::{CaseTimeline, Report, Status};
use capsize_runner::run::{CasesInProgress, Keep, Options, Outcome, missing_requirement, run_cases};
use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;

use super::claim::{FinishedCase, lacking_core, record};
use super::parties::{
    ProgramSources, TestedImplementation, cannot_start, is_live, replace_program, shared_out,
};
use super::progress::Progress;
use super::selection::{SelectedCases, SelectionArgs};
use super::upgrade::{UpgradeTo, with_kit};
use super::watched;
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::kit;
use crate::providers::{MemberArgs, ProviderName};
use crate::{canary, check, cleanup, output, targets};

/// Run scenarios against a target, and judge what happens
#[derive(Args, Clone, Debug)]
pub struct Run {
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
    /// The target profile: the name of one that comes with Capsize, or a file
    #[arg(long, default_value = targets::REFERENCE)]
    pub(crate) target: String,
    #[command(flatten)]
    pub(super) members: MemberArgs,
    /// Start this program instead of the one that the target names
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder with the released programs of the target, which its kit starts
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    bin: Option<PathBuf>,
    /// Start these programs at a step `upgrade`.
    /// The programs run in cases whose release after the upgrade is the one of this target
    #[arg(long, value_name = "TARGET=DIR", requires = "bin")]
    upgrade_to: Option<UpgradeTo>,
    /// The definitions of the release of the programs: a folder, a `.tar.gz` of it, or a YAML file.
    /// Without it, our own count
    #[arg(long, value_name = "DIR|FILE")]
    definitions: Option<PathBuf>,
    /// Give the target the settings in the header of this history, so that the two can be compared
    #[arg(long, value_name = "HISTORY")]
    settings_of: Option<PathBuf>,
    /// Write the reports and the histories of the run into this folder.
    /// The reports are `index.html`, `summary.md`, `report.json`, `junit.xml` and `conformance.yaml`
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// The day of the run in `conformance.yaml`.
    /// Without it, `SOURCE_DATE_EPOCH` counts, and today if time is real
    #[arg(long, value_name = "YYYY-MM-DD", requires = "report")]
    date: Option<Date>,
    /// Print the cases that the target can run and why the others are skipped, and run nothing
    #[arg(long, conflicts_with_all = ["report", "canary"])]
    list: bool,
    /// How many cases run at a time; as many as there are cores where nothing is given
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// End the run after the first case that fails
    #[arg(long)]
    fail_fast: bool,
    /// Run a case first that must fail, and end with an error if it passes
    #[arg(long)]
    canary: bool,
    /// Print a line for each case that has ended, with what its faults did, also in a terminal
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    /// Print only the failures and the totals
    #[arg(long, short)]
    quiet: bool,
    /// Explain the words and numbers at the end of the summary below it
    #[arg(long, conflicts_with = "quiet")]
    explain_summary: bool,
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
    /// The seeds.
    seeds: Vec<u64>,
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
        self.jobs()?;
        let selected = self.selection.select()?;
        if self.members.provider == ProviderName::Kubeconfig {
            output::show(self.members.existing.plan(&cleanup::dry_journal()?)?)?;
            if self.members.existing.dry_run {
                return Ok(ExitStatus::Conforms);
            }
        }
        let interrupt = Interrupt::default();
        let in_progress = CasesInProgress::default();
        let parties = self.parties(&interrupt, &in_progress)?;
        if self.list {
            return list(selected, &parties);
        }
        self.check_earlier(&parties)?;
        interrupt.listen().map_err(|error| cannot_start(&error))?;
        let _watched = if is_live(&parties) { watched::open(in_progress) } else { None };
        let mut canaries = String::new();
        for party in parties.iter().filter(|_| self.canary) {
            if !self.quiet && is_live(std::slice::from_ref(party)) {
                output::warn(
                    "the canary runs first: a case that must fail, which takes one or two minutes\n",
                );
            }
            canaries += &canary::run(party.target(), self.selection.seed(), |report| report.conforms())?;
        }
        let writer = self.report.as_deref().map(output::Folder::create).transpose()?;
        let cases = selected.iter().map(|selected| selected.cases.len()).sum();
        let keep = if writer.is_some() { Keep::Timeline } else { Keep::Nothing };
        let mut progress = Progress::new(cases, self.quiet, self.verbose);
        let context = Context {
            canaries,
            target: parties.iter().map(TestedImplementation::name).collect::<Vec<_>>().join(", "),
            about: vec![self.members.described()?, seeds(&selected)],
            cases,
            seeds: selected.iter().map(|selected| selected.seed.0).collect(),
            clock: Clock::real(),
        };
        let ran = self.perform(&parties, selected, keep, |outcome| progress.ended(outcome))?;
        progress.finish();
        self.conclude(context, ran, &parties, writer.as_ref(), &interrupt)
    }

    /// Runs the selected cases, and calls `ended` with each outcome.
    /// With [`Keep::History`], the records have digests, and the histories themselves are dropped.
    pub(super) fn perform(
        &self,
        parties: &[TestedImplementation],
        selected: Vec<SelectedCases>,
        keep: Keep,
        mut ended: impl FnMut(&Outcome),
    ) -> Result<Vec<FinishedCase>, CommandError> {
        let (jobs, is_repeated) = (self.jobs()?, selected.len() > 1);
        let mut all = Vec::new();
        for SelectedCases { seed, cases } in selected {
            let options = Options { seed, jobs, keep };
            for (party, cases) in parties.iter().zip(shared_out(cases, parties)) {
                let mut has_failed = false;
                let ran = run_cases(&cases, party.target(), options, |outcome| {
                    ended(outcome);
                    has_failed |= outcome.case.status == Status::Failed;
                    if has_failed && self.fail_fast {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                for (case, mut outcome) in ran {
                    let record = record(case, &outcome, seed, &party.profile);
                    outcome.case.replay = self.replay(&record.id, seed);
                    if is_repeated {
                        outcome.case.name = repeated(&outcome.case.name, seed);
                    }
                    if keep == Keep::History {
                        // The record has the digest, for which the history was kept.
                        outcome.history = None;
                    }
                    let timeline = timeline(&mut outcome);
                    all.push(FinishedCase { outcome, timeline, record });
                }
                if has_failed && self.fail_fast {
                    return Ok(all);
                }
            }
        }
        Ok(all)
    }

    /// Reports the outcomes of the cases, and ends the providers.
    fn conclude(
        &self,
        context: Context,
        ran: Vec<FinishedCase>,
        parties: &[TestedImplementation],
        writer: Option<&output::Folder>,
        interrupt: &Interrupt,
    ) -> Result<ExitStatus, CommandError> {
        let (done, broken): (Vec<FinishedCase>, Vec<FinishedCase>) =
            ran.into_iter().partition(|ran| ran.outcome.broken.is_none());
        self.forget_logs(&done);
        let broken: Vec<String> = broken.into_iter().filter_map(|ran| ran.outcome.broken).collect();
        let is_well = broken.is_empty() && done.iter().all(|ran| ran.outcome.case.status != Status::Failed);
        let kept = parties.iter().filter_map(|party| party.implementation.info().provider?.ended(is_well));
        let kept: String = kept.map(|kept| kept + "\n").collect();
        if let Some(writer) = writer {
            done.iter().try_for_each(|ran| writer.history(&ran.outcome))?;
        }
        let Context { canaries, target, mut about, cases, seeds, clock } = context;
        if done.len() < cases {
            about.push(format!("{} of {cases} cases ended", done.len()));
        }
        let (results, records): (Vec<_>, Vec<_>) =
            done.into_iter().map(|ran| ((ran.outcome.case, ran.timeline), ran.record)).unzip();
        let (cases, timelines): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let profiles: Vec<&Profile> = parties.iter().map(|party| &party.profile).collect();
        let report = Report {
            command: "run".into(),
            about,
            target,
            lacking_core: lacking_core(&profiles),
            is_selection: self.is_selection(),
            is_live: is_live(parties),
            cases,
            wall: Some(clock.elapsed()),
        };
        if broken.is_empty() || !report.cases.is_empty() {
            if let Some(writer) = writer {
                writer.report(&report, &timelines)?;
                if broken.is_empty() && interrupt.signal().is_none() {
                    self.write_claim(writer, &report, parties, (&records, seeds))?;
                }
            }
            let summary = if self.quiet { report::quiet } else { report::summary };
            let legend = if self.explain_summary { report::legend(output::columns()) } else { String::new() };
            output::print(&(canaries + &summary(&report, output::columns()) + &legend + &kept))?;
        }
        if let Some(signal) = interrupt.signal() {
            return Err(CommandError::Interrupted(signal));
        }
        if !broken.is_empty() {
            return Err(environment_error!("{}\n{kept}", broken.join("\n")));
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
            Some(jobs) => Err(input_error!(
                "--jobs {jobs}: with --provider kubeconfig one case runs at a time, because all use the same clusters"
            )),
        }
    }

    /// The implementations under test.
    pub(super) fn parties(
        &self,
        interrupt: &Interrupt,
        in_progress: &CasesInProgress,
    ) -> Result<Vec<TestedImplementation>, CommandError> {
        let sources = self.sources()?;
        let party =
            |profile| TestedImplementation::new(profile, &self.members, &sources, (interrupt, in_progress));
        self.profiles()?.into_iter().map(party).collect()
    }

    /// The profiles of the implementations.
    /// The reference is two: its controllers of clusters, and those of nodes.
    pub(crate) fn profiles(&self) -> Result<Vec<Profile>, CommandError> {
        let in_process = self.members.provider == ProviderName::Embedded;
        let names = match self.target.as_str() {
            // A cluster with nodes has no members to be provided.
            targets::REFERENCE if self.settings_of.is_none() && in_process => {
                vec![targets::REFERENCE, targets::REFERENCE_NODES]
            }
            name => vec![name],
        };
        let profile = |name: &str| {
            let mut profile = targets::find(name).map_err(CommandError::input)?;
            if self.bin.is_some() {
                profile = with_kit(profile, "--bin", self.definitions.is_some())?;
            }
            let mut profile = match &self.settings_of {
                None => profile,
                Some(history) => check::with_settings_of(history, &profile).map_err(CommandError::input)?,
            };
            if let Some(path) = &self.program {
                replace_program(&mut profile, path)?;
            }
            Ok(profile)
        };
        names.into_iter().map(profile).collect()
    }

    /// Where the programs of the target come from, and where their logs go.
    fn sources(&self) -> Result<ProgramSources, CommandError> {
        if let Some(bin) = self.bin.as_ref().filter(|bin| !bin.is_dir()) {
            return Err(input_error!("--bin {}: there is no such folder", bin.display()));
        }
        let definitions = self.definitions.as_deref().map(kit::definitions).transpose();
        let upgrade = self.upgrade_to.as_ref().map(|upgrade| upgrade.programs(self.definitions.is_some()));
        Ok(ProgramSources {
            bin: self.bin.clone(),
            upgrade: upgrade.transpose()?,
            definitions: definitions.map_err(CommandError::input)?,
            logs: self.report.as_ref().map(|report| report.join(LOGS)),
        })
    }

    /// Removes the logs of the cases that passed.
    fn forget_logs(&self, done: &[FinishedCase]) {
        let Some(report) = &self.report else { return };
        for ran in done.iter().filter(|ran| ran.outcome.case.status == Status::Passed) {
            // Most targets have no logs.
            let _ = fs::remove_dir_all(report.join(LOGS).join(ran.outcome.case.id()));
        }
    }

    /// The command that runs the case again.
    pub(crate) fn replay(&self, id: &str, seed: Seed) -> String {
        let case = ["--filter".to_owned(), id.to_owned(), "--seed".to_owned(), seed.to_string()];
        self.line(case.to_vec())
    }

    /// The command that runs all of the cases again.
    pub(crate) fn command(&self) -> String {
        let fail_fast = self.fail_fast.then(|| "--fail-fast".to_owned());
        self.line(self.selection.options().into_iter().chain(fail_fast).collect())
    }

    /// Whether the run ends after the first case that fails.
    pub(crate) fn is_fail_fast(&self) -> bool {
        self.fail_fast
    }

    /// A command with the paths, the target, the provider and the sources of this run, and with `options`.
    fn line(&self, options: Vec<String>) -> String {
        let mut words = vec!["capsize".to_owned(), "run".to_owned()];
        words.extend(self.selection.paths());
        if self.target != targets::REFERENCE {
            words.extend(["--target".to_owned(), self.target.clone()]);
        }
        let mut start = shell_words(&words);
        start += &self.members.replayed();
        let sources = [
            ("--program", &self.program),
            ("--settings-of", &self.settings_of),
            ("--bin", &self.bin),
            ("--definitions", &self.definitions),
        ];
        let given = sources.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
        let given = given.flat_map(|(flag, path)| [flag.to_owned(), path.display().to_string()]);
        let upgrade = self.upgrade_to.iter().flat_map(|to| ["--upgrade-to".to_owned(), to.to_string()]);
        let rest: Vec<String> = given.chain(upgrade).chain(options).collect();
        format!("{start} {}", shell_words(&rest))
    }

    /// The day of the run: as the user gave it, or today if time is real.
    pub(super) fn date(&self, is_live: bool) -> Result<Option<String>, CommandError> {
        if let Some(date) = self.date {
            return Ok(Some(date.to_string()));
        }
        match env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => {
                let time = epoch.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
                let wrong = || input_error!("SOURCE_DATE_EPOCH={epoch}: this is no number of seconds");
                Ok(Some(day(time.ok_or_else(wrong)?)))
            }
            Err(_) => Ok(is_live.then(|| day(Clock::real().now()))),
        }
    }
}

/// Prints the cases that the parties can run, and why the others are skipped.
fn list(selected: Vec<SelectedCases>, parties: &[TestedImplementation]) -> Result<ExitStatus, CommandError> {
    let (mut able, mut skipped) = (Vec::new(), Vec::new());
    // Other seeds have the same cases.
    for SelectedCases { cases, .. } in selected.into_iter().take(1) {
        for (party, cases) in parties.iter().zip(shared_out(cases, parties)) {
            for case in cases {
                match missing_requirement(&case, party.target()) {
                    None => able.push((case.id(), case.scenario.about.clone())),
                    Some(lacks) => skipped.push((case.id(), format!("Skipped: the target lacks {lacks}."))),
                }
            }
        }
    }
    let all = able.len() + skipped.len();
    let counts = format!("{} of {all} cases can run\n", able.len());
    let columns = output::columns();
    output::print(&(report::listing(able.into_iter().chain(skipped), columns) + &counts))?;
    Ok(ExitStatus::Conforms)
}

/// The day of a moment, in UTC.
fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// Words as a shell reads them.
pub(crate) fn shell_words(words: &[String]) -> String {
    let words = words.iter().map(String::as_str);
    // No argument of a process contains the only character that cannot be quoted.
    shlex::try_join(words).unwrap_or_default()
}

/// `seed 1`, or `seeds 1 to 3`.
fn seeds(selected: &[SelectedCases]) -> String {
    match selected {
        [] => String::new(),
        [one] => format!("seed {}", one.seed),
        [first, .., last] => format!("seeds {} to {}", first.seed, last.seed),
    }
}

/// The name of a case that is run with several seeds.
pub(crate) fn repeated(name: &str, seed: Seed) -> String {
    format!("{name}.seed-{seed}")
}

/// Takes the time line of a case that was run, if it was kept.
pub fn timeline(outcome: &mut Outcome) -> Option<CaseTimeline> {
    let timeline = outcome.timeline.take().filter(|_| outcome.broken.is_none())?;
    let judgement = outcome.case.judgement.as_ref()?;
    Some(timeline.finish(&outcome.case, judgement))
}
