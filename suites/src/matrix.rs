//! `capsize matrix`: many conformance reports as one table.

use std::path::PathBuf;

use capsize_report::{matrix_html, matrix_markdown};
use clap::Args;

use crate::exit::{CommandError, ExitStatus};
use crate::{attached, output};

/// Compare conformance reports: guarantees and numbers as rows, implementations and releases as columns
#[derive(Args, Debug)]
pub struct Matrix {
    /// Reports, or the folders that `run --report` wrote
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// Write a page into this file, which needs no network, instead of a table in Markdown
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Matrix {
    /// Reads the reports, and writes the table.
    ///
    /// # Errors
    /// When a report cannot be read, or the page cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let reports = self.reports.iter().map(|path| attached::read_claim(path));
        let reports = reports.collect::<Result<Vec<_>, _>>()?;
        match &self.html {
            Some(file) => output::write_file(file, matrix_html(&reports).as_bytes())?,
            None => output::print(&matrix_markdown(&reports))?,
        }
        Ok(ExitStatus::Conforms)
    }
}
