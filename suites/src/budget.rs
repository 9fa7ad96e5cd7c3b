//! `capsize budget`: how long a failover may take, and why.

use std::path::PathBuf;
use std::time::Duration;

use capsize_judge::budget::Budget;
use capsize_judge::profile::Profile;
use clap::Args;

use crate::check::{self, Format};
use crate::exit::{CommandError, ExitStatus, input_error};
use crate::{output, targets};

/// Print how long a failover may take: each transition with its formula, and the sum from end to end
#[derive(Args, Debug)]
#[command(name = "budget")]
pub struct BudgetCommand {
    /// The target profile: the name of one that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    target: String,
    /// Give the target the settings that the header of this history gives
    #[arg(long, value_name = "HISTORY")]
    settings_of: Option<PathBuf>,
    /// Set a timing: failureThreshold=30s
    #[arg(long = "set", value_name = "TIMING=VALUE")]
    settings: Vec<String>,
    /// Compare with the budget of these settings: failureThreshold=1m
    #[arg(long = "compare-set", value_name = "TIMING=VALUE", conflicts_with_all = ["within", "format"])]
    compared: Vec<String>,
    /// End with exit code 1 if the new copy may be applied later than this after a failure: 5m
    #[arg(long, value_name = "TIME", value_parser = length)]
    within: Option<Duration>,
    /// How many workloads are to be evicted from the member that fails
    #[arg(long, default_value_t = 1)]
    workloads: usize,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Reads a length of time.
fn length(text: &str) -> Result<Duration, String> {
    let length = text.parse::<jiff::SignedDuration>().ok().and_then(|length| Duration::try_from(length).ok());
    length.ok_or_else(|| format!("`{text}` is not a length of time: write `30s` or `5m`"))
}

impl BudgetCommand {
    /// Writes the budget to stdout.
    ///
    /// # Errors
    /// A target, history or setting that is wrong.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let profile = targets::find(&self.target).map_err(CommandError::input)?;
        let mut profile = match &self.settings_of {
            None => profile,
            Some(history) => check::with_settings_of(history, &profile).map_err(CommandError::input)?,
        };
        self.set(&mut profile, &self.settings)?;
        let budget = Budget::new(&profile, self.workloads);
        if !self.compared.is_empty() {
            let mut other = profile.clone();
            self.set(&mut other, &self.compared)?;
            let other = Budget::new(&other, self.workloads);
            output::print(&capsize_report::budget_comparison(&budget, &other, output::columns()))?;
            return Ok(ExitStatus::Conforms);
        }
        output::print(&match self.format {
            Format::Text => capsize_report::budget(&budget, &profile, output::columns()),
            Format::Json => capsize_report::budget_json(&budget, &profile),
        })?;
        let Some(limit) = self.within else { return Ok(ExitStatus::Conforms) };
        let (text, is_within) = capsize_report::budget_within(&budget, limit, output::columns());
        match self.format {
            Format::Text => output::print(&text)?,
            Format::Json => output::warn(&text),
        }
        Ok(if is_within { ExitStatus::Conforms } else { ExitStatus::Violated })
    }

    /// Sets timings, each of which must have an effect.
    fn set(&self, profile: &mut Profile, settings: &[String]) -> Result<(), CommandError> {
        for setting in settings {
            profile.timings.set_text(setting).map_err(CommandError::input)?;
        }
        settings.iter().try_for_each(|setting| self.check_effect(setting, profile))
    }

    /// Refuses a setting that changes nothing.
    /// The budget would otherwise be taken for that of another target.
    fn check_effect(&self, setting: &str, profile: &Profile) -> Result<(), CommandError> {
        let name = setting.split('=').next().unwrap_or_default();
        if self.depends_on(name, profile) {
            return Ok(());
        }
        let names = profile.timings.seconds();
        let names: Vec<&str> =
            names.keys().map(String::as_str).filter(|name| self.depends_on(name, profile)).collect();
        let help = format!("it depends on {}", names.join(", "));
        Err(input_error!(
            help = help,
            "--set {setting}: the budget of the target {} does not depend on this timing",
            profile.name
        ))
    }

    /// Whether the budget of `profile` changes with the timing called `name`.
    fn depends_on(&self, name: &str, profile: &Profile) -> bool {
        let budgets = ["0s", "7s", "1h"].map(|value| {
            let mut other = profile.clone();
            other.timings.set_text(&format!("{name}={value}")).ok()?;
            Some(capsize_report::budget_json(&Budget::new(&other, self.workloads), &other))
        });
        budgets[0] != budgets[1] || budgets[1] != budgets[2]
    }
}
