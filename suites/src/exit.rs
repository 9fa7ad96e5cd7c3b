//! How a command ends.

use std::io;
use std::process::ExitCode;

use capsize_clock::StopSignal;
use miette::{MietteHandlerOpts, Report, miette};
use textwrap::{WordSeparator, WordSplitter};

use crate::output;

/// The result of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It conforms, or there was nothing to judge.
    Conforms,
    /// It does not.
    Violated,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum CommandError {
    /// The input is wrong.
    Input(Report),
    /// The environment failed.
    Environment(Report),
    /// A signal asked it to stop. All that it had done is undone.
    Interrupted(StopSignal),
}

impl CommandError {
    /// The input is wrong.
    pub fn input(error: impl Into<Report>) -> Self {
        Self::Input(error.into())
    }

    /// The environment failed.
    pub fn environment(error: impl Into<Report>) -> Self {
        Self::Environment(error.into())
    }
}

/// The error of a wrong input, with a message as `miette!` takes it.
macro_rules! input_error {
    ($($message:tt)*) => { $crate::exit::CommandError::Input(miette::miette!($($message)*)) };
}

/// The error of an environment that failed, with a message as `miette!` takes it.
macro_rules! environment_error {
    ($($message:tt)*) => { $crate::exit::CommandError::Environment(miette::miette!($($message)*)) };
}

pub(crate) use {environment_error, input_error};

/// The beginning of an error.
const ERROR: &str = "Error: ";

/// Makes errors fit the width of stderr, without dividing ids, paths and flags.
pub fn lay_out_errors() {
    // The first line begins with this.
    let columns = output::columns_of(io::stderr()).saturating_sub(ERROR.len());
    // The hook is only refused where another one is there already.
    let _ = miette::set_hook(Box::new(move |_| {
        let options = MietteHandlerOpts::new().width(columns).break_words(false);
        let options = options.word_separator(WordSeparator::AsciiSpace);
        Box::new(options.word_splitter(WordSplitter::NoHyphenation).build())
    }));
}

/// The words of the parsers of numbers, and words for people.
const LIBRARY_WORDS: [(&str, &str); 5] = [
    ("invalid digit found in string", "expected a whole number"),
    ("number would be zero for non-zero type", "expected a whole number from 1 on"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("invalid float literal", "expected a number"),
];

/// The exit code of a command. An error is printed to stderr.
#[must_use]
pub fn code(result: Result<ExitStatus, CommandError>) -> ExitCode {
    let (report, code) = match result {
        Ok(ExitStatus::Conforms) => return ExitCode::SUCCESS,
        Ok(ExitStatus::Violated) => return ExitCode::from(1),
        Err(CommandError::Input(report)) => (report, 2),
        Err(CommandError::Environment(report)) => (report, 3),
        Err(CommandError::Interrupted(asked)) => (miette!("ended by {}", asked.name()), asked.exit_code()),
    };
    output::warn(&format!("{ERROR}{report:?}\n"));
    ExitCode::from(code)
}

/// The exit code where the arguments ask for help, or are wrong.
/// The text is printed to stdout or stderr.
#[must_use]
pub fn of_arguments(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let plain = LIBRARY_WORDS.iter().find(|(words, _)| text.contains(words));
    if let Some((words, plain)) = plain.filter(|_| error.use_stderr()) {
        output::warn(&text.replace(words, plain));
        return ExitCode::from(2);
    }
    let printed = error.print();
    if error.use_stderr() {
        return ExitCode::from(2);
    }
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            code(Err(environment_error!("stdout cannot be written: {error}")))
        }
        _ => ExitCode::SUCCESS,
    }
}
