//! The command line.

use std::process::ExitCode;

use capsize::cli::Cli;
use capsize::exit;
use clap::Parser;

/// Objects are made and dropped all the time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    exit::code(Cli::parse().execute())
}
