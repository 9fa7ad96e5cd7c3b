//! `capsize check`: judges histories, wherever they were recorded.

use std::path::Path;

use capsize_framework::history::{self, HistoryError, Kind};
use capsize_framework::judge::{Judge, Judgement};
use capsize_framework::report::Case;
use capsize_framework::target::{Profile, ProfileError};
use miette::Diagnostic;
use thiserror::Error;

use crate::targets;

/// A history that cannot be judged.
#[derive(Debug, Error, Diagnostic)]
pub enum CheckError {
    /// It cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    History(#[from] HistoryError),
    /// Nobody knows by which promises to judge it.
    #[error("{path}:1:1: {source}")]
    Profile {
        /// The file.
        path: String,
        /// Why.
        source: ProfileError,
    },
}

/// Judges the history at `path` by `target`, or else by the profile of the implementation and release that its header
/// names. The settings that the header gives are taken in either case.
///
/// # Errors
/// When it cannot be read, or nobody knows by which promises to judge it.
pub fn check(path: &Path, target: Option<&Profile>) -> Result<Judgement, CheckError> {
    let mut entries = history::read(path)?;
    let mut judge = None;
    for entry in entries.by_ref() {
        let entry = entry?;
        if judge.is_none() {
            let Kind::Mark(header) = &entry.kind else {
                unreachable!("the reader refuses a history without header")
            };
            let of_header = || targets::shipped().of(header).cloned();
            let profile =
                target.cloned().map_or_else(of_header, Ok).and_then(|profile| profile.overlaid(header));
            let profile =
                profile.map_err(|source| CheckError::Profile { path: path.display().to_string(), source })?;
            judge = Some(Judge::new(profile));
        }
        if let Some(judge) = &mut judge {
            judge.push(&entry);
        }
    }
    Ok(judge.expect("the reader refuses an empty history").finish())
}

/// The history at `path` as a case of a report, called by its folder and file.
#[must_use]
pub fn case(path: &Path, judgement: Judgement) -> Case {
    let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let group = name(path.parent().and_then(Path::file_name));
    let case = Case::judged(group, name(path.file_stem()), judgement);
    Case { replay: format!("capsize check {}", path.display()), ..case }
}
