//! `capsize schema`: what the documents for programs look like.

use clap::Args;

use crate::exit::{CommandError, ExitStatus};
use crate::output;

/// Print the JSON Schema of what a command writes with `--format json`
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
}

impl Schema {
    /// Writes the schema to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        output::print(&capsize_report::schema(match self.of {
            Document::Check => capsize_report::Document::Report,
            Document::Budget => capsize_report::Document::Budget,
            Document::Guarantees => capsize_report::Document::Guarantees,
        }))?;
        Ok(ExitStatus::Conforms)
    }
}
