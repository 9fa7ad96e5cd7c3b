//! `capsize controllers` and `capsize node-controllers`: the reference implementation as programs.
//!
//! They are the programs of `controllers/manager`, and are here so that one binary is enough for a run that starts them.

use capsize_manager::{Flags, NodeFlags, log_to_stderr, run, run_nodes};

use crate::exit::{CommandError, ExitStatus};

/// The programs that this binary contains.
/// Each entry has the name that a profile has for the program, and the command that runs the program.
const INCLUDED: [(&str, &str); 2] =
    [("capsize-controllers", "controllers"), ("capsize-node-controllers", "node-controllers")];

/// The command of this binary that runs the program called `name`, if this binary contains it.
#[must_use]
pub fn command_of(name: &str) -> Option<&'static str> {
    INCLUDED.iter().find(|(included, _)| *included == name).map(|(_, command)| *command)
}

/// Runs the controllers of clusters until a signal asks them to stop.
///
/// # Errors
/// Wrong flags, a control plane that cannot be reached, a lost lead.
pub fn execute(flags: Flags) -> Result<ExitStatus, CommandError> {
    log_to_stderr();
    ended(run(flags))
}

/// Runs the controllers of nodes until a signal asks them to stop.
///
/// # Errors
/// As [`execute`].
pub fn execute_nodes(flags: NodeFlags) -> Result<ExitStatus, CommandError> {
    log_to_stderr();
    ended(run_nodes(flags))
}

fn ended(outcome: Result<(), capsize_manager::ProcessError>) -> Result<ExitStatus, CommandError> {
    outcome.map(|()| ExitStatus::Conforms).map_err(|trouble| match trouble {
        capsize_manager::ProcessError::Input(report) => CommandError::Input(report),
        capsize_manager::ProcessError::Environment(report) => CommandError::Environment(report),
    })
}

#[cfg(test)]
mod tests {
    use capsize_judge::profile::Start;

    use super::*;
    use crate::targets;

    #[test]
    fn every_program_of_ours_that_a_profile_starts_is_included() {
        let mut found = 0;
        for profile in targets::shipped().iter() {
            let Start::Processes(programs) = &profile.start else { continue };
            for name in programs.iter().filter_map(|program| program.command.first()) {
                if name.starts_with("capsize") {
                    assert!(command_of(name).is_some(), "{name}");
                    found += 1;
                }
            }
        }
        assert!(found > 0);
    }
}
