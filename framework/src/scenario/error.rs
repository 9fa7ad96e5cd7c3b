//! What can be wrong with a scenario, and where: every message names file, line and column.

use std::fmt;
use std::path::PathBuf;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde_saphyr::{Location, MessageFormatter, UserMessageFormatter};

/// A mistake in a scenario file, with its place.
#[derive(Debug, Diagnostic)]
pub struct ScenarioError {
    file: String,
    line: u64,
    column: u64,
    message: String,
    #[source_code]
    source: NamedSource<String>,
    #[label("here")]
    span: Option<SourceSpan>,
}

impl ScenarioError {
    /// A mistake at `location` of the file called `file`, whose text is `text`.
    pub(super) fn at(file: &str, text: &str, location: Location, message: impl Into<String>) -> Self {
        let span = location.span();
        let start = span.byte_offset().unwrap_or_default();
        let len = span.byte_len().unwrap_or_default();
        // Spans come from the same text, so that they fit into memory.
        let narrow = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        Self {
            file: file.into(),
            line: location.line(),
            column: location.column(),
            message: message.into(),
            source: NamedSource::new(file, text.to_owned()).with_language("yaml"),
            span: (location.line() > 0).then(|| SourceSpan::from((narrow(start), narrow(len)))),
        }
    }

    /// What the YAML reader found wrong.
    pub(crate) fn of_yaml(file: &str, text: &str, error: &serde_saphyr::Error) -> Self {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
        Self::at(file, text, location, message)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

impl std::error::Error for ScenarioError {}

/// Why scenarios could not be had from a path.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ReadError {
    /// The file or directory cannot be read.
    #[error("{}: {reason}", path.display())]
    #[diagnostic(help("name a scenario file, or a directory that has some"))]
    Unreadable {
        /// What was asked for.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// There is nothing to run.
    #[error("{}: no scenario in this directory or below it", path.display())]
    #[diagnostic(help("scenarios are files whose names end in .yaml"))]
    NoScenario {
        /// The directory.
        path: PathBuf,
    },
    /// Two files describe the same case.
    #[error("{}: there is a case `{id}` already, in {}", second.display(), first.display())]
    #[diagnostic(help("give one of them another name"))]
    Twice {
        /// Group and name.
        id: String,
        /// Where it was found first.
        first: PathBuf,
        /// Where it was found again.
        second: PathBuf,
    },
    /// A file is not a scenario.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<ScenarioError>),
}
