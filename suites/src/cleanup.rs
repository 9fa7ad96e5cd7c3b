//! What runs left that did not end by themselves: undone before the next begins, and by `capsize doctor --heal`.

use std::fmt::Display;
use std::fmt::Write as _;
use std::sync::Arc;

use capsize_clock::{Seed, live};
use capsize_real::{CleanUpReport, Journal, Resource, clean_up, state_folder};
use miette::miette;

use crate::exit::Trouble;

/// Undoes what is left of others, and begins the journal of this run.
///
/// # Errors
/// When the journals cannot be read or written.
pub fn journal() -> Result<Arc<Journal>, Trouble> {
    let healed = healed()?;
    if healed != CleanUpReport::default() {
        eprint!("{}", told(&healed));
    }
    dry_journal()
}

/// Begins the journal of a run that is going to do nothing.
///
/// # Errors
/// When it cannot be written.
pub fn dry_journal() -> Result<Arc<Journal>, Trouble> {
    Journal::begin(&state_folder()).map(Arc::new).map_err(|error| unkept(&error))
}

/// Undoes what is left of runs that are over.
///
/// # Errors
/// When the journals cannot be read.
pub fn healed() -> Result<CleanUpReport, Trouble> {
    let folder = state_folder();
    let healed = live(Seed(0), 1.0, |_| async { clean_up(&folder).await });
    healed.flatten().map_err(|error| unkept(&error))
}

fn unkept(error: &dyn Display) -> Trouble {
    let folder = state_folder();
    Trouble::Environment(miette!(
        help = "CAPSIZE_STATE names another folder",
        "the journal of what is done to this machine, in {}: {error}",
        folder.display()
    ))
}

/// What was undone, a line each.
#[must_use]
pub fn told(healed: &CleanUpReport) -> String {
    let mut text = String::new();
    for resource in &healed.removed {
        // Writing to a string does not fail.
        let _ = writeln!(text, "removed what an earlier run left: {}", name(resource));
    }
    for (resource, why) in &healed.failed {
        let _ = writeln!(text, "cannot remove what an earlier run left: {}: {why}", name(resource));
    }
    for why in &healed.kept {
        let _ = writeln!(text, "{why}");
    }
    text
}

fn name(resource: &Resource) -> String {
    match resource {
        Resource::Network(name) => format!("the network {name}"),
        Resource::Volume(name) => format!("the volume {name}"),
        Resource::Container(name) => format!("the container {name}"),
        Resource::Copies(copies) => format!("what was placed on {}", copies.context),
        Resource::Programs(label) => format!("the processes of {label}"),
        Resource::Folder(path) => format!("the folder {}", path.display()),
    }
}
