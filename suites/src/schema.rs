//! `capsize schema`: what the documents for programs, and those of users, look like.

use clap::Args;

use crate::exit::{CommandError, ExitStatus};
use crate::output;

/// Print the JSON Schema of what a command writes with `--format json`, or of a dialect
#[derive(Args, Debug)]
pub struct Schema {
    /// The command
    #[arg(value_enum)]
    of: Document,
}

/// A document that has a schema.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Document {
    /// Of `capsize check`, and of the `report.json` of `capsize run`
    Check,
    /// Of `capsize budget`
    Budget,
    /// Of `capsize list --guarantees`
    Guarantees,
    /// Of a dialect, which a user writes
    Dialect,
    /// Of the `conformance.yaml` of `capsize run`
    Report,
}

impl Schema {
    /// Writes the schema to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let document = match self.of {
            Document::Dialect => {
                output::print(&capsize_dialect::schema())?;
                return Ok(ExitStatus::Conforms);
            }
            Document::Check => capsize_report::Document::Report,
            Document::Budget => capsize_report::Document::Budget,
            Document::Guarantees => capsize_report::Document::Guarantees,
            Document::Report => capsize_report::Document::Conformance,
        };
        output::print(&capsize_report::schema(document))?;
        Ok(ExitStatus::Conforms)
    }
}
