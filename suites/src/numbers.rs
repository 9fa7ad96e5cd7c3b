//! `capsize numbers`: the numbers of a report, and their comparison with those of another report.

use std::fs;
use std::path::{Path, PathBuf};

use capsize_report::{Regression, ReportNumbers, regression, report_numbers};
use clap::Args;

use crate::exit::{CommandError, ExitStatus, input_error};
use crate::output;

/// Print how long the steps of a failover took, or fail if they became slower than in another report
#[derive(Args, Debug)]
pub struct NumbersCommand {
    /// The file `report.json` that `run --report` or `check --report` wrote
    #[arg(value_name = "REPORT.json")]
    report: PathBuf,
    /// The report to compare with: end with exit code 1 if a step became slower
    #[arg(long, value_name = "BASE.json")]
    against: Option<PathBuf>,
    /// By how many percent a step may become slower
    #[arg(long, default_value_t = 10.0, requires = "against")]
    percent: f64,
}

impl NumbersCommand {
    /// Prints the numbers, or their comparison.
    ///
    /// # Errors
    /// When a report cannot be read, or there is nothing to compare.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let now = read(&self.report)?;
        let Some(base) = &self.against else {
            output::print(&report_numbers(&now, output::columns()))?;
            return Ok(ExitStatus::Conforms);
        };
        if self.percent.is_nan() || self.percent < 0.0 {
            return Err(input_error!("--percent {}: write a number that is not negative", self.percent));
        }
        let base_numbers = read(base)?;
        let compared = regression(&base_numbers, &now, self.percent, output::columns());
        let Regression { text, is_slower, is_tested } = compared;
        if !is_tested {
            return Err(input_error!("{}: no member failed in this report", base.display()));
        }
        output::print(&text)?;
        Ok(if is_slower { ExitStatus::Violated } else { ExitStatus::Conforms })
    }
}

fn read(path: &Path) -> Result<ReportNumbers, CommandError> {
    let wrong = |error: &dyn std::error::Error| input_error!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        input_error!(
            help = "write one with `capsize run --report DIR`: it is DIR/report.json",
            "{}:{line}:{column}: this is not the JSON report of a run or a check",
            path.display()
        )
    })
}
