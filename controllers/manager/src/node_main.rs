//! The command of the node controllers. Exit codes: 0 stopped, 2 bad input, 3 environment.

use std::process::ExitCode;

use capsize_manager::{NodeFlags, exit_code, log_to_stderr, run_nodes};
use clap::Parser;

fn main() -> ExitCode {
    log_to_stderr();
    exit_code(run_nodes(NodeFlags::parse()))
}
