//! Why scenarios could not be read from a path.

use std::path::PathBuf;

use capsize_judge::YamlError;
use miette::Diagnostic;

/// Why scenarios could not be read from a path.
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
    Invalid(#[from] Box<YamlError>),
}
