//! `capsize leash`: becomes another program, one that does not outlive whoever started it, however that ends.
//!
//! A process can ask for that only for itself, so that a program which is to have it is started by way of this one.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use clap::Args;
use miette::miette;

use crate::exit::{Trouble, Verdict};

/// Become a program that ends when its parent does
#[derive(Args, Debug)]
pub struct Leash {
    /// The process id of the parent
    parent: u32,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// The command that runs `program`, whose arguments follow, on a leash that is held by this process: `leash` is the path of this
/// program.
#[must_use]
pub fn leashed(leash: &Path, program: &Path) -> Command {
    let mut command = Command::new(leash);
    command.args(["leash", &std::process::id().to_string(), "--"]).arg(program);
    command
}

impl Leash {
    /// Becomes the program: comes back only if that is not possible.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        if !tie(self.parent)? {
            return Ok(Verdict::Conforms);
        }
        let [program, arguments @ ..] = &self.command[..] else { return Ok(Verdict::Conforms) };
        let error = Command::new(program).args(arguments).exec();
        Err(Trouble::Environment(miette!("{program} cannot be started: {error}")))
    }
}

/// Ends this process when its parent ends. Whether the parent is still there.
#[cfg(target_os = "linux")]
fn tie(parent: u32) -> Result<bool, Trouble> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let tied = set_parent_process_death_signal(Some(Signal::KILL));
    tied.map_err(|error| Trouble::Environment(miette!("cannot be tied to a parent: {error}")))?;
    Ok(getppid().is_some_and(|actual| actual.as_raw_nonzero().get().cast_unsigned() == parent))
}

/// There is no way to be tied to it here.
#[cfg(not(target_os = "linux"))]
fn tie(_parent: u32) -> Result<bool, Trouble> {
    Ok(true)
}
