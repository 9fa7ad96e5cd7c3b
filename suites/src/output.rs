//! Where reports go: the console, and a folder. How they look is the framework's.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use capsize_judge::profile::Profile;
use capsize_report::{CaseTimeline, ConformanceReport, Page, Report};
use capsize_runner::run::Outcome;
use miette::{IntoDiagnostic, WrapErr};
use terminal_size::terminal_size_of;

use crate::attached;
use crate::colour::painted;
use crate::exit::{CommandError, environment_error};

/// An empty page for stdout.
#[must_use]
pub fn page() -> Page {
    Page::new(columns())
}

/// Columns of a line on stdout.
#[must_use]
pub fn columns() -> usize {
    columns_of(io::stdout())
}

/// Returns the columns of the terminal behind `stream`.
/// If there is no terminal, the variable COLUMNS says how many columns there are.
#[must_use]
pub fn columns_of(stream: impl AsFd) -> usize {
    let terminal = terminal_size_of(stream).map(|(width, _)| usize::from(width.0));
    let variable = || env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    terminal.or_else(variable).unwrap_or(capsize_report::COLUMNS)
}

/// Writes `text` to stdout.
/// A reader that has gone away is not an error. Control characters, which can come from an input, are written as
/// escapes.
///
/// # Errors
/// When stdout cannot be written, for example because the disk is full.
pub fn print(text: &str) -> Result<(), CommandError> {
    print_raw(painted(printable(text)).as_bytes())
}

/// Writes bytes to stdout as they are, for a program that reads them.
///
/// # Errors
/// As [`print`].
pub fn print_raw(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(environment_error!("stdout cannot be written: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes a page to stdout, as [`print`] does.
///
/// # Errors
/// As [`print`].
pub fn show(page: Page) -> Result<(), CommandError> {
    print(&page.finish())
}

/// Writes `text` to stderr. Nothing else can be done when that fails.
pub fn warn(text: &str) {
    let mut stderr = io::stderr().lock();
    // On a terminal the text of an error has colours.
    let text = if stderr.is_terminal() { text.into() } else { printable(text) };
    let _ = stderr.write_all(text.as_bytes());
}

fn printable(text: &str) -> Cow<'_, str> {
    let is_control = |character: char| character.is_control() && character != '\n';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if is_control(character) {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    Cow::Owned(printable)
}

/// Writes a file that only its owner may read, because it contains a key.
/// The file appears whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_secret(path: &Path, text: &str) -> Result<(), CommandError> {
    write_whole(path, text.as_bytes(), 0o600)
}

/// Writes a file for everybody. The file appears whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), CommandError> {
    write_whole(path, contents, 0o666)
}

/// Writes a file that appears whole or not at all.
/// The file gets these permissions as far as the umask allows them.
fn write_whole(path: &Path, contents: &[u8], mode: u32) -> Result<(), CommandError> {
    let partial = path.with_extension("partial");
    let create = || fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&partial);
    let written =
        create().and_then(|mut file| file.write_all(contents)).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The error of the write is reported; this file may not exist.
        let _ = fs::remove_file(&partial);
    }
    written
        .into_diagnostic()
        .wrap_err_with(|| format!("{} cannot be written", path.display()))
        .map_err(CommandError::Environment)
}

/// A folder that a report is written into. Every file appears whole or not at all.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at `path`, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Self, CommandError> {
        let made = fs::create_dir_all(path.join("histories")).into_diagnostic();
        made.wrap_err_with(|| format!("{} cannot be made a folder", path.display()))
            .map_err(CommandError::Environment)?;
        Ok(Self(path.to_owned()))
    }

    /// Writes the history of a case, if it has one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn history(&self, outcome: &Outcome) -> Result<(), CommandError> {
        let Some(history) = &outcome.history else { return Ok(()) };
        let (group, name) = (&outcome.case.group, &outcome.case.name);
        self.write_private(&format!("histories/{group}/{name}.jsonl"), history)
    }

    /// Writes the report for people, for programs and for CI. `timelines` are those of the cases.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn report(&self, report: &Report, timelines: &[Option<CaseTimeline>]) -> Result<(), CommandError> {
        self.write("index.html", capsize_report::html(report, timelines).as_bytes())?;
        self.write("summary.md", capsize_report::markdown(report).as_bytes())?;
        self.write("junit.xml", capsize_report::junit(report).as_bytes())?;
        self.write("report.json", capsize_report::json(report).as_bytes())
    }

    /// Writes the conformance report, and the profiles and dialects that belong to the report.
    /// The commands `capsize verify` and `capsize merge` need these files.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn claim(&self, claim: &ConformanceReport, profiles: &[&Profile]) -> Result<(), CommandError> {
        for profile in profiles {
            for (name, text) in attached::profile_files(profile)? {
                self.write(&name, text.as_bytes())?;
            }
        }
        self.write(attached::CLAIM, claim.yaml().as_bytes())
    }

    /// Writes a file that only its owner may read, because it may contain secrets.
    pub(crate) fn write_private(&self, name: &str, contents: &[u8]) -> Result<(), CommandError> {
        self.write_with(name, contents, 0o600)
    }

    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> Result<(), CommandError> {
        self.write_with(name, contents, 0o666)
    }

    fn write_with(&self, name: &str, contents: &[u8], mode: u32) -> Result<(), CommandError> {
        let path = self.0.join(name);
        let parent = path.parent().unwrap_or(&self.0);
        let made = fs::create_dir_all(parent).into_diagnostic();
        made.wrap_err_with(|| format!("{} cannot be made a folder", parent.display()))
            .map_err(CommandError::Environment)?;
        write_whole(&path, contents, mode)
    }
}
