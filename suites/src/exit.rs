//! How a command ends.

use std::process::ExitCode;

use capsize_clock::Asked;
use miette::{Report, miette};

/// What a command that did its work says by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It conforms, or there was nothing to judge.
    Conforms,
    /// It does not.
    Violated,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Trouble {
    /// What it was given is wrong.
    Input(Report),
    /// What it runs on failed.
    Environment(Report),
    /// A signal asked it to stop. All that it had done is undone.
    Interrupted(Asked),
}

impl Trouble {
    /// What it was given is wrong.
    pub fn input(error: impl Into<Report>) -> Self {
        Self::Input(error.into())
    }

    /// What it runs on failed.
    pub fn environment(error: impl Into<Report>) -> Self {
        Self::Environment(error.into())
    }
}

/// The exit code of a command; what troubled it goes to stderr.
#[must_use]
pub fn code(result: Result<Verdict, Trouble>) -> ExitCode {
    match result {
        Ok(Verdict::Conforms) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Err(Trouble::Input(report)) => told(&report, 2),
        Err(Trouble::Environment(report)) => told(&report, 3),
        Err(Trouble::Interrupted(asked)) => told(&miette!("ended by {}", asked.name()), asked.exit_code()),
    }
}

fn told(report: &Report, code: u8) -> ExitCode {
    eprintln!("Error: {report:?}");
    ExitCode::from(code)
}
