//! The command line of the controllers. Exit codes: 0 it was asked to stop, 2 bad input, 3 environment.

use std::process::ExitCode;

use capsize_manager::{Flags, Trouble, run};
use clap::Parser;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let (report, code) = match run(Flags::parse()) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Trouble::Input(report)) => (report, 2),
        Err(Trouble::Environment(report)) => (report, 3),
    };
    eprintln!("Error: {report:?}");
    ExitCode::from(code)
}
