//! `capsize show`: the time lines of histories, in the terminal or as a page.

use std::path::PathBuf;

use capsize_report::{Case, CaseTimeline, Report, Status};
use clap::Args;

use crate::check::{JudgingOptions, check_by, replay};
use crate::exit::{CommandError, ExitStatus};
use crate::{output, targets};

/// Show the time lines of recorded histories, with the verdicts on them
#[derive(Args, Debug)]
pub struct Show {
    /// Histories, as JSON Lines; `-` is stdin. Of several histories, the page can show two above each other
    #[arg(required = true, value_name = "HISTORY")]
    histories: Vec<PathBuf>,
    /// The target profile, as for `check`
    #[arg(long)]
    target: Option<String>,
    /// Write a page into this file instead: one file that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Show {
    /// Judges the histories, and writes their time lines.
    ///
    /// # Errors
    /// When a history or the target cannot be read, or the page cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let own = self.target.as_deref().is_some_and(targets::is_file);
        let by =
            JudgingOptions { target: target.as_ref(), own, with_timeline: true, ..JudgingOptions::default() };
        let (mut cases, mut timelines, mut about) = (Vec::new(), Vec::new(), Vec::new());
        for path in &self.histories {
            let mut checked = check_by(path, by).map_err(CommandError::input)?;
            checked.case.replay = replay(path, self.target.as_deref()).unwrap_or(checked.case.replay);
            cases.push(checked.case);
            timelines.push(checked.timeline);
            about.extend(checked.notes);
        }
        let target = self.target.unwrap_or_default();
        let Some(file) = self.html else {
            return print(&cases, &timelines, &about);
        };
        let report = Report { command: "show".to_owned(), about, target, cases, ..Report::default() };
        output::write_file(&file, capsize_report::html(&report, &timelines).as_bytes())?;
        Ok(ExitStatus::Conforms)
    }
}

/// Prints each time line, and the violations below it.
fn print(
    cases: &[Case],
    timelines: &[Option<CaseTimeline>],
    notes: &[String],
) -> Result<ExitStatus, CommandError> {
    let columns = output::columns();
    let mut page = output::page();
    for note in notes {
        page.wrapped("note: ", note);
    }
    for (case, timeline) in cases.iter().zip(timelines) {
        if let Some(timeline) = timeline {
            page.lines(&timeline.text(&case.id(), columns));
        }
        page.blank();
        if case.status == Status::Failed {
            page.lines(&capsize_report::failure(case, columns));
            page.blank();
        }
    }
    output::show(page)?;
    Ok(ExitStatus::Conforms)
}
