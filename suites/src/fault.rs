//! `capsize fault` and `capsize heal`: break a running fleet of `capsize up`, and repair it.

use capsize_report::Page;
use capsize_runner::run::{FORMS, FaultTarget};
use clap::Args;

use crate::control::FleetArg;
use crate::exit::{CommandError, ExitStatus};
use crate::output;

/// Begin a fault in a running fleet: `capsize fault refuse member1`
#[derive(Args, Debug)]
pub struct FaultCommand {
    /// The fault, the member, and parameters: `delay member1 by=5s`.
    /// Faults of the control plane have no member
    #[arg(value_name = "FAULT", required_unless_present_any = ["list", "in_force"])]
    words: Vec<String>,
    /// List all faults with their parameters
    #[arg(long, conflicts_with = "words")]
    list: bool,
    /// List the faults in force
    #[arg(long, conflicts_with_all = ["words", "list"])]
    in_force: bool,
    #[command(flatten)]
    fleet: FleetArg,
}

/// End the faults of a member in a running fleet
#[derive(Args, Debug)]
pub struct HealCommand {
    /// The member, or `control-plane`; all faults end if it is left out
    #[arg(value_name = "MEMBER")]
    member: Option<String>,
    #[command(flatten)]
    fleet: FleetArg,
}

impl FaultCommand {
    /// Begins the fault, or lists faults.
    ///
    /// # Errors
    /// No fleet is running, or it refuses the fault.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        if self.list {
            output::show(forms(output::page()))?;
            return Ok(ExitStatus::Conforms);
        }
        let order =
            if self.in_force { "faults".to_owned() } else { format!("fault {}", self.words.join(" ")) };
        report(&self.fleet.order(&order)?)
    }
}

impl HealCommand {
    /// Ends the faults, and prints what they did.
    ///
    /// # Errors
    /// No fleet is running, or it has no such fault.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        report(&self.fleet.order(&format!("heal {}", self.member.unwrap_or_default()))?)
    }
}

fn report(text: &str) -> Result<ExitStatus, CommandError> {
    let mut page = output::page();
    text.lines().for_each(|line| page.line(line));
    output::show(page)?;
    Ok(ExitStatus::Conforms)
}

/// All faults with their parameters.
#[must_use]
pub fn forms(mut page: Page) -> Page {
    for (hits, title) in [
        (FaultTarget::Member, "Faults of a member:"),
        (FaultTarget::ControlPlane, "Faults of the control plane:"),
    ] {
        page.line(title);
        for form in FORMS.iter().filter(|form| form.hits == hits) {
            page.line(&format!("  {}", form.usage()));
            page.wrapped("      ", form.about);
        }
    }
    page.line("`heal MEMBER` ends the faults of a member, `heal` all faults.");
    page
}
