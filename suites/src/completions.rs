//! `capsize completions` and `capsize man`: files for shells and for the manual.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{CommandError, ExitStatus, environment_error};
use crate::output;

/// Print the completions for a shell
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages of all commands into a folder
#[derive(Args, Debug)]
pub struct Man {
    /// The folder, for example ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Completions {
    /// Writes the completions to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "capsize", &mut script);
        output::print_raw(&script)?;
        Ok(ExitStatus::Conforms)
    }
}

impl Man {
    /// Writes the pages.
    ///
    /// # Errors
    /// When the folder cannot be made, or a page cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &self.folder));
        written.map_err(|error| environment_error!("{}: {error}", self.folder.display()))?;
        Ok(ExitStatus::Conforms)
    }
}
