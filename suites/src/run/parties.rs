//! The implementations under test, and the cases that each of them runs.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capsize_clock::Interrupt;
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Profile, Program, Start};
use capsize_runner::run::{CasesInProgress, Implementation, Target};
use capsize_runner::scenario::Case;
use serde_json::Value;

use crate::cleanup;
use crate::exit::{CommandError, environment_error, input_error};
use crate::processes::{ProcessCleanup, Processes};
use crate::providers::{ImplementationOnProvider, MemberArgs, ProviderName};
use crate::reference::Reference;
use crate::reference_nodes::NodeReference;

/// An implementation under test.
pub(super) struct TestedImplementation {
    pub(super) profile: Profile,
    pub(super) implementation: Box<dyn Implementation>,
}

impl TestedImplementation {
    /// Returns the implementation that `profile` names, on members as they are asked for.
    /// An `interrupt` ends the runs early. The cases are in `in_progress` while they run.
    pub(super) fn new(
        profile: Profile,
        members: &MemberArgs,
        sources: &ProgramSources,
        (interrupt, in_progress): (&Interrupt, &CasesInProgress),
    ) -> Result<Self, CommandError> {
        let is_embedded = members.provider == ProviderName::Embedded;
        if profile.dialect == DialectKind::Nodes && !is_embedded {
            return Err(input_error!(
                "--provider {} does nothing for the target {}: its members are nodes, which are simulated",
                members.provider.name(),
                profile.name
            ));
        }
        let is_outside = matches!(profile.start, Start::Processes(_));
        let (implementation, provider) = if is_embedded && !is_outside {
            (implementation(&profile)?, None)
        } else {
            let journal = cleanup::journal()?;
            let implementation = match &profile.start {
                Start::Processes(programs) => {
                    let capsize = std::env::current_exe().map_err(|error| cannot_start(&error))?;
                    let cleanup = ProcessCleanup { journal: Arc::clone(&journal), capsize };
                    Box::new(sources.processes(&profile, programs, &cleanup)?)
                }
                _ => implementation(&profile)?,
            };
            (implementation, members.provider(&journal)?)
        };
        let (interrupt, in_progress) = (interrupt.clone(), in_progress.clone());
        let provided = ImplementationOnProvider { implementation, provider, interrupt, in_progress };
        Ok(Self { profile, implementation: Box::new(provided) })
    }

    pub(super) fn target(&self) -> Target<'_> {
        Target { profile: &self.profile, implementation: &*self.implementation }
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.profile.name, self.profile.version)
    }
}

/// Where programs and their definitions come from, and where their logs go.
#[derive(Default)]
pub(super) struct ProgramSources {
    /// The folder of the programs.
    pub(super) bin: Option<PathBuf>,
    /// The profile and the folder of the programs that take over at a step `upgrade`.
    pub(super) upgrade: Option<(Profile, PathBuf)>,
    /// The definitions of the user.
    pub(super) definitions: Option<Vec<Value>>,
    /// The folder that keeps the logs of each case.
    pub(super) logs: Option<PathBuf>,
}

impl ProgramSources {
    /// The programs of a profile, and those that take over from them.
    fn processes(
        &self,
        profile: &Profile,
        programs: &[Program],
        cleanup: &ProcessCleanup,
    ) -> Result<Processes, CommandError> {
        let found = |profile: &Profile, programs: &[Program], bin: Option<PathBuf>| {
            let mut processes = processes(profile, programs)?;
            processes.cleanup = Some(cleanup.clone());
            processes.bin = bin;
            processes.definitions.clone_from(&self.definitions);
            processes.logs.clone_from(&self.logs);
            processes.check().map_err(|why| input_error!("{why}"))?;
            Ok::<_, CommandError>(processes)
        };
        let next = self.upgrade.as_ref().and_then(|(profile, bin)| match &profile.start {
            Start::Processes(programs) => Some(found(profile, programs, Some(bin.clone()))),
            _ => None,
        });
        let mut processes = found(profile, programs, self.bin.clone())?;
        processes.next = next.transpose()?.map(Arc::new);
        Ok(processes)
    }
}

/// The programs of a profile.
fn processes(profile: &Profile, programs: &[Program]) -> Result<Processes, CommandError> {
    let wrong = |error| input_error!("the profile {}: {error}", profile.name);
    Processes::of(profile, programs.to_vec()).map_err(wrong)
}

/// The error of a run that cannot begin.
pub(super) fn cannot_start(error: &dyn Display) -> CommandError {
    environment_error!("cannot start: {error}")
}

/// Returns true if the run takes real time.
pub(super) fn is_live(parties: &[TestedImplementation]) -> bool {
    parties.iter().any(|party| party.implementation.info().is_live())
}

/// The cases for each of `parties`: those with its kind of members.
/// The first gets those that no party knows, and skips them.
pub(super) fn shared_out(cases: Vec<Case>, parties: &[TestedImplementation]) -> Vec<Vec<Case>> {
    let mut shares = vec![Vec::new(); parties.len()];
    for case in cases {
        let dialect = if case.scenario.cluster.is_some() { DialectKind::Nodes } else { DialectKind::Karmada };
        let place = parties.iter().position(|party| party.profile.dialect == dialect);
        shares[place.unwrap_or_default()].push(case);
    }
    shares
}

/// Puts the program at `path` in the place of the only one that the profile starts.
pub(super) fn replace_program(profile: &mut Profile, path: &Path) -> Result<(), CommandError> {
    if let Start::Processes(programs) = &mut profile.start
        && let [program] = &mut programs[..]
        && let Some(command) = program.command.first_mut()
    {
        *command = path.display().to_string();
        return Ok(());
    }
    let why = format!("--program: the target {} is not one program", profile.name);
    Err(input_error!("{why}"))
}

/// The implementation that is started for a profile.
///
/// # Errors
/// When it names a bug that is not known, or cannot be started.
pub fn implementation(profile: &Profile) -> Result<Box<dyn Implementation>, CommandError> {
    let wrong = |error: &dyn Display| input_error!("the profile {}: {error}", profile.name);
    match &profile.start {
        Start::Processes(programs) => Ok(Box::new(processes(profile, programs)?)),
        Start::Reference => Ok(match profile.dialect {
            DialectKind::Karmada => Box::new(Reference::of(profile).map_err(|error| wrong(&error))?),
            DialectKind::Nodes => Box::new(NodeReference::of(profile).map_err(|error| wrong(&error))?),
            DialectKind::Data(_) => return Err(wrong(&"the reference has no dialect that is data")),
        }),
        Start::External => Err(input_error!(
            help = "start its released programs with --bin DIR, if Capsize has a kit for it, or record it, and judge the history with `capsize check`",
            "Capsize cannot start the target {}",
            profile.name
        )),
    }
}
