//! `capsize check`: judges histories, wherever they were recorded.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use capsize_history::{HistoryError, Kind, Mark, Reader};
use capsize_judge::judge::{Judge, Judgement};
use capsize_judge::profile::{Profile, ProfileError};
use capsize_report::{Case, Report};
use miette::Diagnostic;
use thiserror::Error;

use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::{output, targets};

/// Judge recorded histories: which guarantees held, how often and by which margin, and which did not
#[derive(Debug, clap::Args)]
pub struct Check {
    /// Histories, as JSON Lines; `-` is stdin
    #[arg(required = true, value_name = "HISTORY")]
    histories: Vec<PathBuf>,
    /// The target profile: the name of one that comes with Capsize, or a file. By default the profile of the implementation
    /// and release that each history names
    #[arg(long)]
    target: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    empty: EmptyArgs,
}

/// The format of results.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Check {
    /// Judges all of the histories, and writes the verdicts to stdout.
    ///
    /// # Errors
    /// When one of them, or the target, cannot be read: then nothing is reported of the others. When nothing was tested.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let own = self.target.as_deref().is_some_and(targets::is_file);
        let mut about = Vec::new();
        let mut judged = |path: &PathBuf| {
            let (judgement, notes) = check_by(path, target.as_ref(), own)?;
            about.extend(notes);
            Ok::<_, CheckError>(case(path, judgement))
        };
        let cases =
            self.histories.iter().map(&mut judged).collect::<Result<_, _>>().map_err(CommandError::input)?;
        let target = self.target.clone().unwrap_or_default();
        let report = Report { command: "check".to_owned(), about, target, cases, wall: None };
        let text = match self.format {
            Format::Text => capsize_report::checked(&report, output::columns()),
            Format::Json => capsize_report::json(&report) + "\n",
        };
        output::print(&text)?;
        self.empty.verdict(report.conforms(), report.untested())
    }
}

/// A history that cannot be judged.
#[derive(Debug, Error, Diagnostic)]
pub enum CheckError {
    /// It cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    History(#[from] HistoryError),
    /// No profile is known for it.
    #[error("{path}:1:1: {reason}")]
    Profile {
        /// The file.
        path: String,
        /// Why.
        reason: Box<ProfileError>,
    },
}

/// Judges the history at `path`, or that of stdin where it is `-`, by `target`, or else by the profile of the implementation and release that its header
/// names. The settings that the header gives are taken in either case.
///
/// # Errors
/// When it cannot be read, or no profile is known for it.
pub fn check(path: &Path, target: Option<&Profile>) -> Result<Judgement, CheckError> {
    check_by(path, target, false).map(|(judgement, _)| judgement)
}

/// The same; where the target is the user's `own`, its timings count, and the notes say which of the header do not.
fn check_by(
    path: &Path,
    target: Option<&Profile>,
    own: bool,
) -> Result<(Judgement, Option<String>), CheckError> {
    if path == Path::new("-") {
        return judged(Path::new("stdin"), Reader::new("stdin", io::stdin().lock()), target, own);
    }
    judged(path, capsize_history::read(path)?, target, own)
}

fn judged<R: BufRead>(
    path: &Path,
    mut entries: Reader<R>,
    target: Option<&Profile>,
    own: bool,
) -> Result<(Judgement, Option<String>), CheckError> {
    let (mut judge, mut note) = (None, None);
    for entry in entries.by_ref() {
        let entry = entry?;
        if let (None, Kind::Mark(header)) = (&judge, &entry.kind) {
            let mut by = profile(path, header, target)?;
            if let Some(target) = target.filter(|_| own) {
                note = overruled(path, target, &by);
                (by.timings, by.zones) = (target.timings.clone(), target.zones.clone());
            }
            judge = Some(Judge::new(by));
        }
        if let Some(judge) = &mut judge {
            judge.push(&entry);
        }
    }
    Ok((judge.expect("the reader refuses a history without header").finish(), note))
}

/// Says which timings of `target` count, and not those that the header of the history at `path` gives.
fn overruled(path: &Path, target: &Profile, by_header: &Profile) -> Option<String> {
    let seconds = |profile: &Profile| {
        let flags = profile.zones.iter().flat_map(capsize_judge::profile::Zones::flags).collect::<Mark>();
        profile.timings.seconds().into_iter().chain(flags).collect::<Mark>()
    };
    let (ours, theirs) = (seconds(target), seconds(by_header));
    let differs = theirs.iter().filter(|(name, value)| ours.get(*name) != Some(*value));
    let differs: Vec<String> = differs
        .map(|(name, value)| {
            let own = ours.get(name).map_or("none".to_owned(), ToString::to_string);
            format!("{name} {own}, not {value}")
        })
        .collect();
    let path = path.display();
    (!differs.is_empty()).then(|| {
        format!("the timings of the target count, not those in the header of {path}: {}", differs.join("; "))
    })
}

/// The header of the history at `path`.
///
/// # Errors
/// When it cannot be read.
pub fn header(path: &Path) -> Result<Mark, CheckError> {
    let header = capsize_history::read(path)?.next().transpose()?;
    match header.map(|entry| entry.kind) {
        Some(Kind::Mark(header)) => Ok(header),
        _ => unreachable!("the reader refuses a history without header"),
    }
}

/// The profile that the history at `path` with this header goes by: `target`, or else that of the implementation and
/// release that it names; in either case with the settings that the header gives.
///
/// # Errors
/// When nobody knows.
pub fn profile(path: &Path, header: &Mark, target: Option<&Profile>) -> Result<Profile, CheckError> {
    let of_header = || targets::shipped().of(header).cloned();
    let profile = target.cloned().map_or_else(of_header, Ok).and_then(|profile| profile.overlaid(header));
    profile
        .map_err(|reason| CheckError::Profile { path: path.display().to_string(), reason: Box::new(reason) })
}

/// `target` with the settings that the header of the history at `path` gives.
///
/// # Errors
/// When that cannot be read.
pub fn with_settings_of(path: &Path, target: &Profile) -> Result<Profile, CheckError> {
    profile(path, &header(path)?, Some(target))
}

/// The history at `path` as a case of a report, called by its folder and file.
#[must_use]
pub fn case(path: &Path, judgement: Judgement) -> Case {
    let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let group = name(path.parent().and_then(Path::file_name));
    let case = Case::judged(group, name(path.file_stem()), judgement);
    Case { replay: format!("capsize check {}", path.display()), ..case }
}
