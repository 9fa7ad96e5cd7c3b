//! The command line of the controllers. Exit codes: 0 it was asked to stop, 2 bad input, 3 environment.

use std::process::ExitCode;

use capsize_manager::{Flags, exit_code, run};
use clap::Parser;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    exit_code(run(Flags::parse()))
}
