//! The commands and their options.

use clap::{Parser, Subcommand};

use crate::check::Check;
use crate::exit::{Trouble, Verdict};
use crate::explain::Explain;
use crate::list::List;

/// Conformance and chaos for Kubernetes failover
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
    Explain(Explain),
    List(List),
}

impl Cli {
    /// Does what was asked for.
    ///
    /// # Errors
    /// As the command says.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        match self.command {
            Command::Check(check) => check.execute(),
            Command::Explain(explain) => explain.execute(),
            Command::List(list) => list.execute(),
        }
    }
}
