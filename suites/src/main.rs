//! The command line.

use std::process::ExitCode;

use capsize::cli::Cli;
use capsize::exit;

/// The program makes many small allocations, which take a fifth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    exit::lay_out_errors();
    match Cli::read() {
        Ok(cli) => exit::code(cli.execute()),
        Err(error) => exit::of_arguments(&error),
    }
}
