//! `capsize budget`: how long a failover may take, and why.

use std::path::PathBuf;

use capsize_judge::budget::Budget;
use clap::Args;

use crate::check::{self, Format};
use crate::exit::{Trouble, Verdict};
use crate::{output, targets};

/// Tell how long a failover may take: each transition with its formula, and the sum from end to end
#[derive(Args, Debug)]
#[command(name = "budget")]
pub struct BudgetCommand {
    /// Whose promises count: a profile that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    target: String,
    /// Give the target the settings that the header of this history gives
    #[arg(long, value_name = "HISTORY")]
    settings_of: Option<PathBuf>,
    /// Set a timing: failureThreshold=30s
    #[arg(long = "set", value_name = "TIMING=VALUE")]
    settings: Vec<String>,
    /// How many workloads are to be evicted from the member that fails
    #[arg(long, default_value_t = 1)]
    workloads: usize,
    /// How to tell it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl BudgetCommand {
    /// Writes the budget to stdout.
    ///
    /// # Errors
    /// A target, history or setting that is wrong.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let profile = targets::find(&self.target).map_err(Trouble::input)?;
        let mut profile = match &self.settings_of {
            None => profile,
            Some(history) => check::with_settings_of(history, &profile).map_err(Trouble::input)?,
        };
        for setting in &self.settings {
            profile.timings.set_text(setting).map_err(Trouble::input)?;
        }
        let budget = Budget::new(&profile, self.workloads);
        output::say(&match self.format {
            Format::Text => capsize_report::budget(&budget, &profile),
            Format::Json => capsize_report::budget_json(&budget, &profile),
        })?;
        Ok(Verdict::Conforms)
    }
}
