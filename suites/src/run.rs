//! `capsize run`: runs scenarios against a target and tells what came of them.

use std::fmt::Display;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use capsize_clock::{Clock, Interrupt, Seed};
use capsize_history::dialect::Speaks;
use capsize_judge::profile::{Profile, Start};
use capsize_report::{Report, Status};
use capsize_runner::run::{Implementation, Options, Outcome, Target, run_cases};
use capsize_runner::scenario::{self, Case};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use miette::miette;

use crate::exit::{Trouble, Verdict};
use crate::processes::{Keeper, Processes};
use crate::providers::{MemberArgs, Provided, ProviderName};
use crate::reference::Reference;
use crate::reference_nodes::NodeReference;
use crate::{canary, check, cleanup, conformance, output, targets};

/// Run scenarios, and judge what comes of them
#[derive(Args, Debug)]
pub struct Run {
    /// Scenario files, or folders of them; the conformance suite where none is given
    paths: Vec<PathBuf>,
    /// Whose promises count, and who is started: a profile that comes with Capsize, or a file
    #[arg(long, default_value = targets::REFERENCE)]
    target: String,
    #[command(flatten)]
    members: MemberArgs,
    /// Start this program in the place of the one that the target names
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Give the target the settings that the header of this history gives, to hold one against the other
    #[arg(long, value_name = "HISTORY")]
    settings_of: Option<PathBuf>,
    /// Run only the core of the suite
    #[arg(long, conflicts_with = "paths")]
    core: bool,
    /// Run only cases whose `group/name` contains this
    #[arg(long)]
    filter: Option<String>,
    /// Write `report.json`, `junit.xml` and the histories into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// How many cases run at a time; as many as there are cores where nothing is said
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Run a case first that must fail, and end with an error if it passes
    #[arg(long)]
    canary: bool,
    /// What all chance of the run comes from
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
}

impl Run {
    /// Runs, tells, and says whether all is well.
    ///
    /// # Errors
    /// A scenario, profile or filter that is wrong; a report that cannot be written; a run that broke.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let cases = self.cases()?;
        if self.members.provider == ProviderName::Kubeconfig {
            output::say(&self.members.existing.plan(&cleanup::dry_journal()?)?)?;
            if self.members.existing.dry_run {
                return Ok(Verdict::Conforms);
            }
        }
        let interrupt = Interrupt::default();
        let parties = self.parties(&interrupt)?;
        // Those that only simulate have nothing to undo.
        if parties.iter().any(|party| party.implementation.info().is_live()) {
            interrupt.listen().map_err(|error| cannot_start(&error))?;
        }
        let mut canaries = String::new();
        for party in parties.iter().filter(|_| self.canary) {
            canaries += &canary::run(party.target(), self.seed, |report| report.conforms())?;
        }
        let mut writer = self.report.as_deref().map(output::Folder::create).transpose()?;
        let progress = progress(cases.len());
        let clock = Clock::real();
        // Clusters that exist are those of one case at a time.
        let one = (self.members.provider == ProviderName::Kubeconfig).then_some(NonZeroUsize::MIN);
        let jobs =
            one.or(self.jobs).or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let options = Options { seed: self.seed, jobs, keep_histories: writer.is_some() };
        let mut outcomes = Vec::with_capacity(cases.len());
        for (party, cases) in parties.iter().zip(shared_out(cases, &parties)) {
            outcomes.extend(run_cases(&cases, party.target(), options, |outcome| {
                progress.set_message(outcome.case.id());
                progress.inc(1);
            }));
        }
        progress.finish_and_clear();
        let broken: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome.broken.as_deref()).collect();
        let is_well =
            broken.is_empty() && outcomes.iter().all(|outcome| outcome.case.status != Status::Failed);
        let kept = parties.iter().filter_map(|party| party.implementation.info().provider?.ended(is_well));
        let kept: String = kept.map(|kept| kept + "\n").collect();
        if let Some(asked) = interrupt.asked() {
            return Err(Trouble::Interrupted(asked));
        }
        if !broken.is_empty() {
            return Err(Trouble::Environment(miette!("{}\n{kept}", broken.join("\n"))));
        }
        if let Some(writer) = &mut writer {
            outcomes.iter().try_for_each(|outcome| writer.history(outcome))?;
        }
        let report = Report {
            command: "run".into(),
            about: vec![self.members.described()?, format!("seed {}", self.seed)],
            target: parties.iter().map(Party::name).collect::<Vec<_>>().join(", "),
            cases: outcomes.into_iter().map(|outcome| self.replayable(outcome)).collect(),
            wall: Some(clock.elapsed()),
        };
        if let Some(writer) = writer {
            writer.report(&report)?;
        }
        output::say(&(canaries + &capsize_report::summary(&report) + &kept))?;
        Ok(if report.conforms() { Verdict::Conforms } else { Verdict::Violated })
    }

    /// Who is under test. The reference is two: its controllers of clusters, and those of nodes.
    fn parties(&self, interrupt: &Interrupt) -> Result<Vec<Party>, Trouble> {
        let in_process = self.members.provider == ProviderName::Embedded;
        let names = match self.target.as_str() {
            // A cluster with nodes has no members to be provided.
            targets::REFERENCE if self.settings_of.is_none() && in_process => {
                vec![targets::REFERENCE, targets::REFERENCE_NODES]
            }
            name => vec![name],
        };
        let party = |name: &str| {
            let profile = targets::find(name).map_err(Trouble::input)?;
            let mut profile = match &self.settings_of {
                None => profile,
                Some(history) => check::with_settings_of(history, &profile).map_err(Trouble::input)?,
            };
            if let Some(path) = &self.program {
                replace_program(&mut profile, path)?;
            }
            Ok(Party { implementation: self.implementation(&profile, interrupt)?, profile })
        };
        names.into_iter().map(party).collect()
    }

    /// Whoever is under test, on fleets as they are asked for.
    fn implementation(
        &self,
        profile: &Profile,
        interrupt: &Interrupt,
    ) -> Result<Box<dyn Implementation>, Trouble> {
        let is_outside = matches!(profile.start, Start::Processes(_));
        if self.members.provider == ProviderName::Embedded && !is_outside {
            return implementation(profile);
        }
        let journal = cleanup::journal()?;
        let implementation = match &profile.start {
            Start::Processes(programs) => {
                let capsize = std::env::current_exe().map_err(|error| cannot_start(&error))?;
                let keeper = Keeper { journal: Arc::clone(&journal), capsize };
                Box::new(Processes::new(programs.clone(), profile.dialect).kept_by(keeper))
            }
            _ => implementation(profile)?,
        };
        let provider = self.members.provider(&journal)?;
        Ok(Box::new(Provided { implementation, provider, interrupt: interrupt.clone() }))
    }

    fn cases(&self) -> Result<Vec<Case>, Trouble> {
        let mut cases = if self.paths.is_empty() {
            conformance::cases().map_err(|error| Trouble::input(*error))?
        } else {
            scenario::find(&self.paths).map_err(Trouble::input)?
        };
        cases.retain(|case| !self.core || conformance::is_core(case));
        if let Some(filter) = &self.filter {
            cases.retain(|case| case.id().contains(filter));
            if cases.is_empty() {
                return Err(Trouble::Input(miette!(
                    help = "`capsize list` shows what there is",
                    "no case has `{filter}` in its name"
                )));
            }
        }
        Ok(cases)
    }

    /// The case with the command that runs it again.
    fn replayable(&self, outcome: Outcome) -> capsize_report::Case {
        let mut case = outcome.case;
        let paths: String = self.paths.iter().map(|path| format!(" {}", path.display())).collect();
        let target = if self.target == targets::REFERENCE {
            String::new()
        } else {
            format!(" --target {}", self.target)
        };
        let settings =
            self.settings_of.as_ref().map(|history| format!(" --settings-of {}", history.display()));
        let program = self.program.as_ref().map(|program| format!(" --program {}", program.display()));
        let settings = program.unwrap_or_default() + &settings.unwrap_or_default();
        let provider = self.members.replayed();
        let (id, seed) = (case.id(), self.seed);
        case.replay = format!("capsize run{paths}{target}{provider}{settings} --filter {id} --seed {seed}");
        case
    }
}

fn cannot_start(error: &dyn Display) -> Trouble {
    Trouble::Environment(miette!("cannot start: {error}"))
}

/// Somebody under test.
struct Party {
    profile: Profile,
    implementation: Box<dyn Implementation>,
}

impl Party {
    fn target(&self) -> Target<'_> {
        Target { profile: &self.profile, implementation: &*self.implementation }
    }

    fn name(&self) -> String {
        format!("{} {}", self.profile.name, self.profile.version)
    }
}

/// The cases for each of `parties`: those that run on what it knows. What none knows is the first's, to be skipped.
fn shared_out(cases: Vec<Case>, parties: &[Party]) -> Vec<Vec<Case>> {
    let mut shares = vec![Vec::new(); parties.len()];
    for case in cases {
        let speaks = if case.scenario.cluster.is_some() { Speaks::Nodes } else { Speaks::Karmada };
        let place = parties.iter().position(|party| party.profile.dialect == speaks);
        shares[place.unwrap_or_default()].push(case);
    }
    shares
}

/// Puts the program at `path` in the place of the only one that the profile starts.
fn replace_program(profile: &mut Profile, path: &Path) -> Result<(), Trouble> {
    if let Start::Processes(programs) = &mut profile.start
        && let [program] = &mut programs[..]
        && let Some(command) = program.command.first_mut()
    {
        *command = path.display().to_string();
        return Ok(());
    }
    let why = format!("--program: the target {} is not one program", profile.name);
    Err(Trouble::Input(miette!("{why}")))
}

/// What is started for a profile.
///
/// # Errors
/// When it names a bug that is not known, or cannot be started.
pub fn implementation(profile: &Profile) -> Result<Box<dyn Implementation>, Trouble> {
    let wrong = |error: &dyn Display| Trouble::Input(miette!("the profile {}: {error}", profile.name));
    match &profile.start {
        Start::Processes(programs) => Ok(Box::new(Processes::new(programs.clone(), profile.dialect))),
        Start::Reference => Ok(match profile.dialect {
            Speaks::Karmada => Box::new(Reference::of(profile).map_err(|error| wrong(&error))?),
            Speaks::Nodes => Box::new(NodeReference::of(profile).map_err(|error| wrong(&error))?),
        }),
        Start::External => Err(Trouble::Input(miette!(
            help = "record it, and judge the history with `capsize check`",
            "Capsize cannot start the target {}",
            profile.name
        ))),
    }
}

fn progress(cases: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is right");
    ProgressBar::new(cases as u64).with_style(style)
}
