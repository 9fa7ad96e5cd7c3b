//! `capsize list`: the cases and the guarantees that there are.

use std::path::PathBuf;

use capsize_judge::guarantee::Catalogue;
use capsize_runner::scenario::{self, Scenario};
use clap::Args;

use crate::conformance;
use crate::exit::{CommandError, ExitStatus};
use crate::output;
use crate::traces::traces;

/// List the cases and the guarantees, with a sentence about each
#[derive(Args, Debug)]
pub struct List {
    /// Scenario files, or folders of them; the conformance suite where none is given
    paths: Vec<PathBuf>,
    /// List the guarantees alone, in full
    #[arg(long, conflicts_with = "paths")]
    guarantees: bool,
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
        let cases = if self.paths.is_empty() {
            conformance::cases().map_err(|error| CommandError::input(*error))?
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

fn about(scenario: &Scenario) -> String {
    let Scenario { about, fails_without, .. } = scenario;
    if fails_without.is_empty() {
        return about.clone();
    }
    format!("{about} Fails without {}.", fails_without.join(", "))
}
