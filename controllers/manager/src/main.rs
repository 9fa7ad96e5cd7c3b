//! The command of the controllers. Exit codes: 0 stopped by a signal, 2 bad input, 3 environment.

use std::process::ExitCode;

use capsize_manager::{Flags, exit_code, log_to_stderr, run};
use clap::Parser;

fn main() -> ExitCode {
    log_to_stderr();
    exit_code(run(Flags::parse()))
}
