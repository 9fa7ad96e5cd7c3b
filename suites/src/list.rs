//! `capsize list`: the cases, the guarantees and the targets that there are.

use std::path::{Path, PathBuf};

use capsize_judge::guarantee::Catalogue;
use capsize_judge::profile::{Profile, Start};
use capsize_runner::scenario::{self, Scenario};
use clap::Args;

use crate::exit::{CommandError, ExitStatus};
use crate::kit::Kit;
use crate::traces::traces;
use crate::{conformance, output, targets};

/// List the cases and the guarantees, or the targets, with a sentence about each; or print a case
#[derive(Args, Debug)]
pub struct List {
    /// Scenario files, or folders of them; the conformance suite where none is given.
    /// The `group/name` of a case of the suite prints its file
    paths: Vec<PathBuf>,
    /// List the guarantees alone, in full
    #[arg(long, conflicts_with = "paths")]
    guarantees: bool,
    /// List the target profiles
    #[arg(long, conflicts_with_all = ["paths", "guarantees"])]
    targets: bool,
    /// The format of the guarantees
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "guarantees")]
    format: Format,
}

/// The format of the guarantees.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// As a page in Markdown
    Md,
    /// For programs
    Json,
}

impl List {
    /// Writes the list to stdout.
    ///
    /// # Errors
    /// A scenario that is wrong.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let columns = output::columns();
        if self.guarantees {
            output::print(&match self.format {
                Format::Text => capsize_report::specs(&Catalogue::specs(), None, &traces(), columns),
                Format::Md => capsize_report::guarantees_page(&traces()),
                Format::Json => capsize_report::guarantees_json(&traces()),
            })?;
            return Ok(ExitStatus::Conforms);
        }
        if self.targets {
            let profiles = targets::shipped();
            let targets = profiles.iter().map(|profile| (profile.name.clone(), about_target(profile)));
            output::print(&capsize_report::listing(targets, columns))?;
            return Ok(ExitStatus::Conforms);
        }
        let suite = conformance::cases().map_err(|error| CommandError::input(*error))?;
        if let [path] = &self.paths[..]
            && let Some(case) = suite.iter().find(|case| Path::new(&case.id()) == path && !path.exists())
        {
            output::print(&case.text)?;
            return Ok(ExitStatus::Conforms);
        }
        let cases = if self.paths.is_empty() {
            suite
        } else {
            scenario::find(&self.paths).map_err(CommandError::input)?
        };
        let cases = cases.iter().map(|case| (case.id(), about(&case.scenario)));
        let specs = Catalogue::specs();
        let specs = specs.iter().map(|spec| (spec.id.to_owned(), spec.sentence.to_owned()));
        let specs = specs.filter(|_| self.paths.is_empty());
        output::print(&capsize_report::listing(cases.chain(specs), columns))?;
        Ok(ExitStatus::Conforms)
    }
}

/// The implementation of a profile, and how it is started.
fn about_target(profile: &Profile) -> String {
    let Profile { implementation, version, start, name, .. } = profile;
    let start = match start {
        Start::Reference => "simulated in this process",
        Start::Processes(_) => "programs that are started in real time",
        Start::External if Kit::exists(name) => {
            "programs of a release that a kit starts (--bin), or recorded histories"
        }
        Start::External => "recorded histories",
    };
    format!("{implementation} {version}: {start}.")
}

fn about(scenario: &Scenario) -> String {
    let Scenario { about, fails_without, .. } = scenario;
    if fails_without.is_empty() {
        return about.clone();
    }
    format!("{about} Fails without {}.", fails_without.join(", "))
}
