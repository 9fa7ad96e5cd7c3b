//! Where reports go: the console, and a folder. How they look is the framework's.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use capsize_report::Report;
use capsize_runner::run::Outcome;
use miette::{IntoDiagnostic, WrapErr, miette};

use crate::exit::Trouble;

/// Writes `text` to stdout; a reader that has gone away is no trouble.
///
/// # Errors
/// What stdout answers.
pub fn say(text: &str) -> Result<(), Trouble> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Trouble::Environment(miette!(error))),
        _ => Ok(()),
    }
}

/// Writes a file that only its owner may read: there is a key in it. It appears whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_secret(path: &Path, text: &str) -> Result<(), Trouble> {
    let partial = path.with_extension("partial");
    let create = || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial);
    let written = create()
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&partial, path));
    written
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be written", path.display()))
        .map_err(Trouble::Environment)
}

/// A folder that a report is written into. Every file appears whole or not at all.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Self, Trouble> {
        let made = fs::create_dir_all(path.join("histories")).into_diagnostic();
        made.wrap_err_with(|| format!("{} cannot be made a folder", path.display()))
            .map_err(Trouble::Environment)?;
        Ok(Self(path.to_owned()))
    }

    /// Writes the history of a case, if it has one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn history(&self, outcome: &Outcome) -> Result<(), Trouble> {
        let Some(history) = &outcome.history else { return Ok(()) };
        let (group, name) = (&outcome.case.group, &outcome.case.name);
        self.write(&format!("histories/{group}/{name}.jsonl"), history)
    }

    /// Writes the report for programs and for CI.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn report(&self, report: &Report) -> Result<(), Trouble> {
        self.write("junit.xml", capsize_report::junit(report).as_bytes())?;
        self.write("report.json", capsize_report::json(report).as_bytes())
    }

    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> Result<(), Trouble> {
        let path = self.0.join(name);
        let partial = path.with_extension("partial");
        let parent = path.parent().unwrap_or(&self.0);
        let written = fs::create_dir_all(parent)
            .and_then(|()| fs::write(&partial, contents))
            .and_then(|()| fs::rename(&partial, &path));
        written
            .into_diagnostic()
            .wrap_err_with(|| format!("{} cannot be written", path.display()))
            .map_err(Trouble::Environment)
    }
}
