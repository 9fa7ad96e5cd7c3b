//! The command line.

use std::process::ExitCode;

use capsize::cli::Cli;
use capsize::exit;
use clap::Parser;

fn main() -> ExitCode {
    exit::code(Cli::parse().execute())
}
