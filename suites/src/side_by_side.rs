//! `capsize side-by-side`: the reports of several runs of the same cases, in one table.

use std::fs;
use std::path::{Path, PathBuf};

use capsize_report::{Column, side_by_side};
use clap::Args;

use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, input_error};
use crate::output;

/// Print the verdicts and margins of several runs side by side, as a table in Markdown
#[derive(Args, Debug)]
pub struct SideBySide {
    /// Folders that `run --report` wrote
    #[arg(required = true, num_args = 2..)]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    empty: EmptyArgs,
}

impl SideBySide {
    /// Reads the reports, and writes the table to stdout.
    ///
    /// # Errors
    /// When one of them cannot be read, or none has a case that ran.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let reports = self.reports.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
        let untested =
            reports.iter().all(Column::is_empty).then(|| "no report has a case that ran".to_owned());
        let (table, agree) = side_by_side(&reports);
        output::print(&table)?;
        self.empty.verdict(agree, untested)
    }
}

fn read(folder: &Path) -> Result<Column, CommandError> {
    let file = folder.join("report.json");
    let wrong = |error: &dyn std::error::Error| input_error!("{}: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}
