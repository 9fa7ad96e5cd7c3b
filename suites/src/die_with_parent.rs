//! `capsize die-with-parent`: executes a program that is killed when its parent process ends.
//!
//! A process can request this only for itself, so other programs are started through this hidden command.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::exit::{CommandError, ExitStatus, environment_error};

/// Execute a program that is killed when its parent ends
#[derive(Args, Debug)]
pub struct DieWithParent {
    /// The process id of the parent
    parent: u32,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// A command for `program`, to which arguments are added, that is killed when this process ends.
/// `capsize` is the path of this program.
#[must_use]
pub fn dying_with_parent(capsize: &Path, program: &Path) -> Command {
    let mut command = Command::new(capsize);
    command.args(["die-with-parent", &std::process::id().to_string(), "--"]).arg(program);
    command
}

impl DieWithParent {
    /// Executes the program in place of this one. Returns only if that fails.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        if !ask_kernel(self.parent)? {
            return Ok(ExitStatus::Conforms);
        }
        let [program, arguments @ ..] = &self.command[..] else { return Ok(ExitStatus::Conforms) };
        let error = Command::new(program).args(arguments).exec();
        Err(environment_error!("{program} cannot be started: {error}"))
    }
}

/// Asks the kernel to kill this process when its parent ends.
/// Returns whether the parent is still alive.
#[cfg(target_os = "linux")]
fn ask_kernel(parent: u32) -> Result<bool, CommandError> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    asked
        .map_err(|error| environment_error!("the kernel cannot end this program with its parent: {error}"))?;
    Ok(getppid().is_some_and(|actual| actual.as_raw_nonzero().get().cast_unsigned() == parent))
}

/// Only Linux has this request.
#[cfg(not(target_os = "linux"))]
fn ask_kernel(_parent: u32) -> Result<bool, CommandError> {
    Ok(true)
}
