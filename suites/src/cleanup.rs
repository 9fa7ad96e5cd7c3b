//! Removes the resources of killed runs, before the next run and by `capsize doctor --heal`.

use std::fmt::Display;
use std::sync::Arc;

use capsize_clock::{Seed, live};
use capsize_real::{CleanUpReport, Journal, Resource, clean_up, state_folder};

use crate::control::remove_dead_sockets;
use crate::exit::{CommandError, environment_error};
use crate::output;

/// Removes the resources of killed runs, and begins the journal of this run.
///
/// # Errors
/// The journals cannot be read or written.
pub fn journal() -> Result<Arc<Journal>, CommandError> {
    let report = clean_up_earlier()?;
    if report != CleanUpReport::default() {
        output::warn(&described(&report));
    }
    dry_journal()
}

/// Begins the journal of a run without a cleanup before it.
///
/// # Errors
/// It cannot be written.
pub fn dry_journal() -> Result<Arc<Journal>, CommandError> {
    Journal::begin(&state_folder()).map(Arc::new).map_err(|error| unkept(&error))
}

/// Removes the resources and the control sockets of runs that are over.
///
/// # Errors
/// The journals cannot be read.
pub fn clean_up_earlier() -> Result<CleanUpReport, CommandError> {
    remove_dead_sockets().map_err(|error| unkept(&error))?;
    let folder = state_folder();
    let report = live(Seed(0), 1.0, |_| async { clean_up(&folder).await });
    report.flatten().map_err(|error| unkept(&error))
}

fn unkept(error: &dyn Display) -> CommandError {
    let folder = state_folder();
    environment_error!(
        help = "CAPSIZE_STATE names another folder",
        "the journal of the run, in {}: {error}",
        folder.display()
    )
}

/// The report of a cleanup as text, with one line for each resource.
#[must_use]
pub fn described(report: &CleanUpReport) -> String {
    let mut page = output::page();
    for resource in &report.removed {
        page.line(&format!("removed what an earlier run left: {}", name(resource)));
    }
    for (resource, why) in &report.failed {
        page.line(&format!("cannot remove what an earlier run left: {}: {why}", name(resource)));
    }
    for why in &report.kept {
        page.line(why);
    }
    page.finish()
}

fn name(resource: &Resource) -> String {
    match resource {
        Resource::Network(name) => format!("the network {name}"),
        Resource::Volume(name) => format!("the volume {name}"),
        Resource::Container(name) => format!("the container {name}"),
        Resource::Copies(copies) => format!("the workloads on {}", copies.context),
        Resource::Programs(label) => format!("the processes of {label}"),
        Resource::Folder(path) => format!("the folder {}", path.display()),
    }
}
