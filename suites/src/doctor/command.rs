//! The command: looks at everything, says a line of each, and heals if it is told to.

use std::fmt::Write;

use capsize_clock::{Seed, live};
use clap::Args;
use miette::miette;

use super::finding::{ALL, Finding};
use super::{docker, kind, machine, process};
use crate::exit::{Trouble, Verdict};
use crate::providers::ProviderName;
use crate::{cleanup, output};

/// Look whether this machine has what is needed; each line says what to do
#[derive(Args, Debug)]
pub struct Doctor {
    /// For runs whose members run there; what others would need is only told
    #[arg(long, value_enum, default_value_t)]
    provider: ProviderName,
    /// The image of nodes, for --provider kind
    #[arg(long, value_name = "IMAGE")]
    kind_image: Option<String>,
    /// Remove what runs have left that were killed
    #[arg(long)]
    heal: bool,
}

impl Doctor {
    /// Looks, and tells.
    ///
    /// # Errors
    /// When something is missing that the runs asked for need.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let mut told = String::new();
        if self.heal {
            let report = cleanup::clean_up_earlier()?;
            told += &cleanup::described(&report);
            if told.is_empty() {
                told += "nothing was left to remove\n";
            }
        }
        let mut findings = machine::look();
        findings.extend(process::look());
        let image = self.kind_image.as_deref();
        let of_docker = live(Seed(0), 1.0, |_| async {
            let mut findings = docker::look().await;
            findings.extend(kind::look(image).await);
            findings
        });
        findings.extend(of_docker.map_err(|error| Trouble::Environment(miette!("cannot start: {error}")))?);
        for finding in &findings {
            // Writing to a string does not fail.
            let _ = write!(told, "{finding}");
        }
        output::say(&told)?;
        let hinders: Vec<&str> = findings
            .iter()
            .filter(|finding| finding.hinders(self.provider))
            .map(|finding| finding.of)
            .collect();
        match hinders.as_slice() {
            [] => Ok(Verdict::Conforms),
            hinders => Err(Trouble::Environment(miette!(
                "runs with --provider {} are not possible here: {}",
                self.provider.name(),
                hinders.join(", ")
            ))),
        }
    }
}

/// What stands in the way of every run.
pub(super) fn wrong(of: &'static str, seen: impl Into<String>, todo: impl Into<String>) -> Finding {
    Finding::wrong(of, seen, ALL, todo)
}
