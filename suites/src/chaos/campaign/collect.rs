//! Joins the results of all slices of a campaign.

use std::path::Path;

use super::plan::batches;
use super::slice::{FOUND, RESULTS, campaign_of, file, read_batch};
use super::store::Store;
use crate::chaos::tally::Tally;
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::output;

/// Prints one summary of all results in `store`, and copies the failures into the folder `save`.
///
/// # Errors
/// When the store cannot be read or has results of different campaigns, or when no seed failed and results are missing.
pub(super) fn collect(
    store: &Store,
    save: Option<&Path>,
    empty: EmptyArgs,
) -> Result<ExitStatus, CommandError> {
    let (header, campaign) = campaign_of(store)?;
    let mut names = store.list(RESULTS)?;
    let mut tally = Tally::default();
    let mut lacking = Vec::new();
    for (index, slice) in campaign.slices() {
        let mut lacks = 0;
        for batch in batches(slice.clone()) {
            match names.binary_search(&file(&batch)) {
                Ok(place) => {
                    names.remove(place);
                    read_batch(store, &batch, &header, |done| tally.recount(done))?;
                }
                Err(_) => lacks += batch.end - batch.start,
            }
        }
        if lacks > 0 {
            let seeds = slice.end - slice.start;
            lacking.push(format!("slice {index} has {} of {seeds} seeds", seeds - lacks));
        }
    }
    if let Some(name) = names.first() {
        let why = format!("{RESULTS}/{name} in {store} is not a result of the campaign {campaign}");
        return Err(input_error!("{why}: it may be of another campaign"));
    }
    let failures = failures(store, save)?;
    let mut page = output::page();
    page.line("capsize campaign");
    let options =
        [("seeds", campaign.to_string()), ("style", header.style.clone()), ("target", header.target.clone())];
    for (name, value) in options {
        page.wrapped(&format!("  {name:<8}"), &value);
    }
    output::show(page)?;
    output::show(tally.text(None))?;
    let mut page = output::page();
    for failure in &failures {
        page.line(&format!("failure: {failure}"));
    }
    output::show(page)?;
    if lacking.is_empty() || !tally.is_quiet() {
        for lack in &lacking {
            output::warn(&format!("not complete: {lack}\n"));
        }
        return empty.verdict(tally.is_quiet(), None);
    }
    let help = "run the pods of these slices again, or wait for them";
    Err(environment_error!(help = help, "the campaign is not complete: {}", lacking.join(", ")))
}

/// Where the smallest scenario of each failure is.
/// All files of failures are copied into `save`, if it is given.
fn failures(store: &Store, save: Option<&Path>) -> Result<Vec<String>, CommandError> {
    let folder = save.map(output::Folder::create).transpose()?;
    let mut scenarios = Vec::new();
    for below in ["", "drawn/", "histories/"] {
        for name in store.list(&format!("{FOUND}/{below}"))? {
            let name = format!("{below}{name}");
            if let Some(folder) = &folder {
                folder.write(&name, &store.get(&format!("{FOUND}/{name}"))?)?;
            }
            if below.is_empty() {
                let place = save.map_or_else(
                    || format!("{FOUND}/{name} in {store}"),
                    |save| save.join(&name).display().to_string(),
                );
                scenarios.push(place);
            }
        }
    }
    Ok(scenarios)
}
