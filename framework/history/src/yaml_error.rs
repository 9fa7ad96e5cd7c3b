//! An error in a YAML file of a user, with file, line and column.

use std::fmt;

use crate::plain_words::plain_words;
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
        let start = span.byte_offset().filter(|start| *start > 0);
        let start = start.unwrap_or_else(|| offset(text, location.line(), location.column()));
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

    /// Creates an error within the text at `location`.
    /// `place` is the line and the column in that text, from one.
    #[must_use]
    pub fn within(
        file: &str,
        text: &str,
        location: Location,
        (line, column): (u64, u64),
        message: impl Into<String>,
    ) -> Self {
        let mut error = Self::at(file, text, location, message);
        let start = location.span().byte_offset().and_then(|start| usize::try_from(start).ok());
        let rest = start.and_then(|start| text.get(start..)).unwrap_or_default();
        let is_quoted = rest.starts_with(['"', '\'']);
        let is_block = rest.starts_with(['|', '>']);
        let ahead = usize::try_from(line - 1 + u64::from(is_block)).unwrap_or_default();
        let before = rest.split_inclusive('\n').take(ahead).map(str::len).sum::<usize>();
        let indented = rest.get(before..).unwrap_or_default();
        let indent = if ahead > 0 { indented.len() - indented.trim_start_matches(' ').len() } else { 0 };
        let inner = usize::try_from(column - 1).unwrap_or_default() + usize::from(is_quoted && line == 1);
        let own = if ahead > 0 { 1 } else { error.column };
        error.line += u64::try_from(ahead).unwrap_or_default();
        error.column = own + u64::try_from(indent + inner).unwrap_or_default();
        error.span = start.map(|start| SourceSpan::from((start + before + indent + inner, 1)));
        error
    }

    /// Creates the error that the YAML reader reports.
    #[must_use]
    pub fn of_yaml(file: &str, text: &str, error: &serde_saphyr::Error) -> Self {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
        Self::at(file, text, location, plain_words(&message))
    }
}

/// The offset in bytes of a line and a column, both from one. The scanner reports errors without it.
fn offset(text: &str, line: u64, column: u64) -> u64 {
    let count = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
    let before: usize = text.split_inclusive('\n').take(count(line)).map(str::len).sum();
    let within: usize = text[before..].chars().take(count(column)).map(char::len_utf8).sum();
    u64::try_from(before + within).unwrap_or(u64::MAX)
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        match line {
            // The file as a whole is wrong.
            0 => write!(f, "{file}: {message}"),
            _ => write!(f, "{file}:{line}:{column}: {message}"),
        }
    }
}

impl std::error::Error for YamlError {}
