//! An error in a YAML file of a user, with file, line and column.

use std::fmt;

use miette::{Diagnostic, NamedSource, SourceSpan};
use serde_saphyr::{Location, MessageFormatter, UserMessageFormatter};

/// An error in a YAML file, with its place.
#[derive(Debug, Diagnostic)]
pub struct YamlError {
    file: String,
    line: u64,
    column: u64,
    message: String,
    #[source_code]
    source: NamedSource<String>,
    #[label("here")]
    span: Option<SourceSpan>,
}

impl YamlError {
    /// Creates an error at `location` of the file called `file`, whose text is `text`.
    #[must_use]
    pub fn at(file: &str, text: &str, location: Location, message: impl Into<String>) -> Self {
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

    /// Creates the error that the YAML reader reports.
    #[must_use]
    pub fn of_yaml(file: &str, text: &str, error: &serde_saphyr::Error) -> Self {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
        Self::at(file, text, location, message)
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: {message}")
    }
}

impl std::error::Error for YamlError {}
