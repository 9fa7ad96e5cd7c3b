//! The command line of the controllers.

use std::process::ExitCode;

use capsize_manager::{Flags, run};
use clap::Parser;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run(Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            eprintln!("Error: {report:?}");
            ExitCode::from(3)
        }
    }
}
