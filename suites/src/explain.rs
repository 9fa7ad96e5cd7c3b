//! `capsize explain`: the guarantees, in words.

use capsize_judge::guarantee::Catalogue;
use clap::Args;

use crate::exit::{CommandError, ExitStatus, input_error};
use crate::traces::traces;
use crate::{output, targets};

/// Explain a guarantee.
/// The text says what must hold, by which bound, where it is written, and what exercises and breaks it
#[derive(Args, Debug)]
pub struct Explain {
    /// The id of a guarantee, or the beginning of several ids: TAINT-01, TAINT.
    /// All guarantees where none is given
    id: Option<String>,
    /// Print the values of the bounds for this target profile.
    /// The profile is the name of one that comes with Capsize, or a file
    #[arg(long)]
    target: Option<String>,
}

impl Explain {
    /// Writes the explanations to stdout.
    ///
    /// # Errors
    /// When there is no such guarantee.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let id = self.id.unwrap_or_default().to_uppercase();
        let all = Catalogue::specs();
        let specs: Vec<_> = all.iter().copied().filter(|spec| spec.id.starts_with(&id)).collect();
        if specs.is_empty() {
            let ids: Vec<_> = all.iter().map(|spec| spec.id).collect();
            let help = format!("there are {}", ids.join(", "));
            return Err(input_error!(help = help, "there is no guarantee `{id}`"));
        }
        let profile = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        output::print(&capsize_report::specs(&specs, profile.as_ref(), &traces(), output::columns()))?;
        Ok(ExitStatus::Conforms)
    }
}
