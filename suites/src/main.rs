//! The command line.

use std::process::ExitCode;

use capsize::cli::Cli;
use capsize::exit;

/// Objects are made and dropped all the time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    exit::lay_out_errors();
    match Cli::read() {
        Ok(cli) => exit::code(cli.execute()),
        Err(error) => exit::of_arguments(&error),
    }
}
