//! The command line of the controllers of nodes. Exit codes: 0 it was asked to stop, 2 bad input, 3 environment.

use std::process::ExitCode;

use capsize_manager::{NodeFlags, exit_code, log_to_stderr, run_nodes};
use clap::Parser;

fn main() -> ExitCode {
    log_to_stderr();
    exit_code(run_nodes(NodeFlags::parse()))
}
