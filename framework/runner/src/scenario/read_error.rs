//! The errors of finding and reading scenario files.

use std::path::PathBuf;

use capsize_judge::YamlError;
use miette::Diagnostic;

/// Why scenarios could not be read from a path.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ReadError {
    /// The file or directory cannot be read.
    #[error("{}: {reason}", path.display())]
    #[diagnostic(help("give the path of a scenario file, or of a directory that contains some"))]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        reason: std::io::Error,
    },
    /// The directory contains no scenario.
    #[error("{}: neither this directory nor its subdirectories contain a scenario", path.display())]
    #[diagnostic(help("the names of scenario files end in .yaml or .yml"))]
    NoScenario {
        /// The directory.
        path: PathBuf,
    },
    /// Two files contain the same case.
    #[error("{}: the case `{id}` exists already, in {}", second.display(), first.display())]
    #[diagnostic(help("change the name of one of them"))]
    Twice {
        /// Group and name.
        id: String,
        /// The first file.
        first: PathBuf,
        /// The second file.
        second: PathBuf,
    },
    /// A file is not a valid scenario.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<YamlError>),
}
