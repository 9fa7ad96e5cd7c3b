//! `capsize schema`: what the documents for programs, and those of users, look like.

use capsize_judge::profile::Profile;
use capsize_runner::scenario;
use clap::Args;

use crate::exit::{CommandError, ExitStatus};
use crate::output;

/// Print the JSON Schema of a file that users write, or of what a command writes for programs
#[derive(Args, Debug)]
pub struct Schema {
    /// The document
    #[arg(value_enum)]
    of: Document,
}

/// A document that has a schema.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Document {
    /// A scenario
    Scenario,
    /// A target profile
    Target,
    /// A dialect
    Dialect,
    /// One line of a history
    History,
    /// The `conformance.yaml` of `capsize run --report`
    Report,
    /// The output of `capsize check --format json`, and the `report.json` of `capsize run --report`
    Check,
    /// The output of `capsize budget --format json`
    Budget,
    /// The output of `capsize list --guarantees --format json`
    Guarantees,
}

impl Document {
    /// The schema, indented.
    #[must_use]
    pub fn schema(self) -> String {
        match self {
            Self::Scenario => capsize_report::indented(&scenario::schema()),
            Self::Target => capsize_report::indented(&Profile::schema()),
            Self::Dialect => capsize_dialect::schema(),
            Self::History => capsize_report::indented(&capsize_history::schema()),
            Self::Report => capsize_report::schema(capsize_report::Document::Conformance),
            Self::Check => capsize_report::schema(capsize_report::Document::Report),
            Self::Budget => capsize_report::schema(capsize_report::Document::Budget),
            Self::Guarantees => capsize_report::schema(capsize_report::Document::Guarantees),
        }
    }
}

impl Schema {
    /// Writes the schema to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        output::print(&self.of.schema())?;
        Ok(ExitStatus::Conforms)
    }
}
