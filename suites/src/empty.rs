//! A command that tested nothing ends with an error, so that nobody takes it for a pass.

use clap::Args;

use crate::exit::{CommandError, ExitStatus, input_error};

/// Whether a command may test nothing.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct EmptyArgs {
    /// Exit with 0 even where nothing was tested
    #[arg(long)]
    allow_empty: bool,
}

impl EmptyArgs {
    /// The verdict of a command; `untested` says why it tested nothing, if it did not.
    ///
    /// # Errors
    /// When nothing was tested, and that is not allowed.
    pub fn verdict(self, conforms: bool, untested: Option<String>) -> Result<ExitStatus, CommandError> {
        match untested.filter(|_| !self.allow_empty) {
            Some(why) => {
                let help = "--allow-empty makes this a success";
                Err(input_error!(help = help, "nothing was tested: {why}"))
            }
            None if conforms => Ok(ExitStatus::Conforms),
            None => Ok(ExitStatus::Violated),
        }
    }
}
