//! `capsize badge`: the badge of a conformance report.

use std::path::PathBuf;

use capsize_report::{badge_json, badge_svg};
use clap::Args;

use crate::exit::{CommandError, ExitStatus};
use crate::{attached, output};

/// Print the badge of a conformance report
#[derive(Args, Debug)]
pub struct Badge {
    /// The report, or the folder that `run --report` wrote
    report: PathBuf,
    /// The format of the badge
    #[arg(long, value_enum, default_value_t = Format::Svg)]
    format: Format,
}

/// The format of a badge.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// A picture
    Svg,
    /// For the endpoint of shields.io
    Shields,
}

impl Badge {
    /// Writes the badge to stdout.
    ///
    /// # Errors
    /// When the report cannot be read.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let report = attached::read_claim(&self.report)?;
        output::print(&match self.format {
            Format::Svg => badge_svg(&report),
            Format::Shields => badge_json(&report),
        })?;
        Ok(ExitStatus::Conforms)
    }
}
