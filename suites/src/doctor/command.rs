//! Implements the command `capsize doctor`.
//! The command prints a line for each requirement. The command removes what killed runs have left, if `--heal` is
//! given.

use capsize_clock::{Seed, live};
use clap::Args;

use super::finding::{ALL, Finding};
use super::{docker, kind, machine, process};
use crate::exit::{CommandError, ExitStatus, environment_error};
use crate::providers::ProviderName;
use crate::{cleanup, output};

/// Check whether this machine has all that runs need; each line says what to do
#[derive(Args, Debug)]
pub struct Doctor {
    /// The provider of members that must work. Requirements of other providers are only reported
    #[arg(long, value_enum, default_value_t)]
    provider: ProviderName,
    /// The image of nodes, for --provider kind
    #[arg(long, value_name = "IMAGE")]
    kind_image: Option<String>,
    /// Remove containers, networks, folders and processes that killed runs have left
    #[arg(long)]
    heal: bool,
}

impl Doctor {
    /// Looks at the machine, and prints the findings.
    ///
    /// # Errors
    /// When something is missing that the runs asked for need.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let mut page = output::page();
        if self.heal {
            let removed = cleanup::described(&cleanup::clean_up_earlier()?);
            page.lines(if removed.is_empty() { "nothing was left to remove\n" } else { &removed });
        }
        let mut findings = machine::look();
        findings.extend(process::look());
        let image = self.kind_image.as_deref();
        let of_docker = live(Seed(0), 1.0, |_| async {
            let mut findings = docker::look().await;
            findings.extend(kind::look(image).await);
            findings
        });
        findings.extend(of_docker.map_err(|error| environment_error!("cannot start: {error}"))?);
        for finding in &findings {
            finding.add_to(&mut page);
        }
        output::show(page)?;
        let hinders: Vec<&str> = findings
            .iter()
            .filter(|finding| finding.hinders(self.provider))
            .map(|finding| finding.of)
            .collect();
        match hinders.as_slice() {
            [] => Ok(ExitStatus::Conforms),
            hinders => Err(environment_error!(
                "runs with --provider {} are not possible here: {}",
                self.provider.name(),
                hinders.join(", ")
            )),
        }
    }
}

/// A finding that prevents every run.
pub(super) fn wrong(of: &'static str, seen: impl Into<String>, todo: impl Into<String>) -> Finding {
    Finding::wrong(of, seen, ALL, todo)
}
