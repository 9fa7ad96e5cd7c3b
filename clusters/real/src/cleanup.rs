//! The reaper: undoes what runs left that did not end by themselves.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use capsize_clock::Clock;
use rustix::process::geteuid;

use crate::docker::{Engine, EngineError};
use crate::journal::Resource;
use crate::leftover::{Found, Leftover};
use crate::run_id::RunId;
use crate::{kubeconfig, process};

/// What Docker has may take so long to be gone, and is looked for so often.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(250);

/// After so many looks at which nothing was there, nothing comes any more: a busy Docker was seen to take over half a second
/// for a network that a killed run had asked for.
const LOOKS_IN_VAIN: u32 = 12;

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CleanUpReport {
    /// What was undone.
    pub removed: Vec<Resource>,
    /// What could not be, and why. It stays in its journal.
    pub failed: Vec<(Resource, String)>,
    /// Why journals stay, or parts of them, with their files and lines.
    pub kept: Vec<String>,
}

/// Undoes what the journals in `folder` say of runs that are surely over, and removes what Docker has with the marks of these
/// runs: it may have been made after the end of a run that had asked for it. Nothing is removed that does not carry the mark
/// of the run whose journal names it.
///
/// # Errors
/// When the folder is not this user's alone, or the journals cannot be read.
pub async fn clean_up(folder: &Path) -> io::Result<CleanUpReport> {
    clean_up_by(folder, &Engine::address(), Clock::real()).await
}

/// As [`heal`], by the Docker at an address.
async fn clean_up_by(folder: &Path, docker: &str, clock: Clock) -> io::Result<CleanUpReport> {
    let Found { left: mut journals, kept } = Found::look(folder)?;
    let mut report = CleanUpReport { kept, ..CleanUpReport::default() };
    for journal in &mut journals {
        for resource in journal.resources.clone() {
            match undo(&journal.run, &resource).await {
                Some(Ok(())) => {
                    journal.resources.retain(|one| *one != resource);
                    report.removed.push(resource);
                }
                Some(Err(why)) => report.failed.push((resource, why)),
                None => {}
            }
        }
    }
    let left = dockers(&journals);
    if !left.is_empty() {
        match Engine::at(docker).await {
            Ok(engine) => {
                let sweep = Sweep::of(&engine, &mut journals, &mut report);
                sweep.run(clock).await?;
            }
            Err(error) => {
                report.failed.extend(left.into_iter().map(|(_, resource)| (resource, error.to_string())))
            }
        }
    }
    for journal in journals {
        journal.close()?;
    }
    Ok(report)
}

/// What journals say of Docker, with the run.
fn dockers(journals: &[Leftover]) -> Vec<(RunId, Resource)> {
    let is_one = |resource: &&Resource| {
        matches!(resource, Resource::Network(_) | Resource::Volume(_) | Resource::Container(_))
    };
    let of = |journal: &Leftover| {
        let resources = journal.resources.iter().filter(is_one).cloned().collect::<Vec<_>>();
        resources.into_iter().map(|resource| (journal.run.clone(), resource)).collect::<Vec<_>>()
    };
    journals.iter().flat_map(of).collect()
}

/// Undoes what is not Docker's.
async fn undo(run: &RunId, resource: &Resource) -> Option<Result<(), String>> {
    Some(match resource {
        Resource::Folder(path) => remove_folder(run, path),
        Resource::Programs(label) => process::end(run, label).await,
        Resource::Copies(copies) => kubeconfig::undo(run, copies).await.map_err(|error| error.to_string()),
        Resource::Network(_) | Resource::Volume(_) | Resource::Container(_) => return None,
    })
}

/// Removes a folder whose name carries the mark of the run.
fn remove_folder(run: &RunId, path: &Path) -> Result<(), String> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(|error| error.to_string())?,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_marked = name.split('-').any(|part| part == run.as_str());
    if !is_marked || !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return Err("it does not carry the mark of the run, so it is left alone".into());
    }
    fs::remove_dir_all(path).map_err(|error| error.to_string())
}

/// Removes what Docker has of runs that are over, look after look.
struct Sweep<'a> {
    engine: &'a Engine,
    journals: &'a mut [Leftover],
    report: &'a mut CleanUpReport,
    /// The runs all of whose things go, also those that no journal names: their journals are understood to the end.
    whole: BTreeSet<RunId>,
}

impl<'a> Sweep<'a> {
    fn of(engine: &'a Engine, journals: &'a mut [Leftover], report: &'a mut CleanUpReport) -> Self {
        let whole = journals.iter().filter(|journal| !journal.stays).map(|journal| journal.run.clone());
        let whole = whole.collect();
        Self { engine, journals, report, whole }
    }

    async fn run(mut self, clock: Clock) -> io::Result<()> {
        // What a killed run asked for last may be under way, and cannot be removed before it is there.
        let left = until_nothing_comes(clock, async || self.look().await).await?;
        self.report.failed.extend(left);
        Ok(())
    }

    /// Removes what the journals say, which is struck out there, and what carries the mark of one of the runs.
    async fn look(&mut self) -> io::Result<Look> {
        let mut resources = dockers(self.journals);
        if let Ok(marked) = self.engine.marked().await {
            let unwritten = marked.into_iter().filter(|(run, _)| self.whole.contains(run));
            let unwritten = unwritten.filter(|one| !resources.contains(one)).collect::<Vec<_>>();
            resources.extend(unwritten);
        }
        let mut look = Look { found: !resources.is_empty(), left: Vec::new() };
        for (run, resource) in resources {
            match self.engine.remove(&run, &resource).await {
                Ok(()) => {
                    self.strike(&run, &resource, false);
                    if !self.report.removed.contains(&resource) {
                        self.report.removed.push(resource);
                    }
                }
                Err(error @ EngineError::Unmarked { .. }) => {
                    self.strike(&run, &resource, true);
                    self.report.failed.push((resource, error.to_string()));
                }
                Err(error) => look.left.push((resource, error.to_string())),
            }
        }
        Ok(look)
    }

    /// Strikes a line out of the journal of a run, which may have to stay for it.
    fn strike(&mut self, run: &RunId, resource: &Resource, stays: bool) {
        for journal in self.journals.iter_mut().filter(|journal| journal.run == *run) {
            journal.stays |= stays && journal.resources.contains(resource);
            journal.resources.retain(|one| one != resource);
        }
    }
}

/// What came of a look at what Docker has.
#[derive(Debug, Default)]
struct Look {
    /// Whether anything was there, or said to be.
    found: bool,
    /// What could not be removed now, and why.
    left: Vec<(Resource, String)>,
}

/// Looks until nothing has come for a while, or for as long as anybody may wait. Answers what was left at the last look: Docker
/// refuses for a moment what it is still about.
async fn until_nothing_comes(
    clock: Clock,
    mut look: impl AsyncFnMut() -> io::Result<Look>,
) -> io::Result<Vec<(Resource, String)>> {
    let (since, mut in_vain) = (clock.elapsed(), 0);
    loop {
        let Look { found, left } = look().await?;
        in_vain = if found { 0 } else { in_vain + 1 };
        if in_vain >= LOOKS_IN_VAIN || clock.elapsed().saturating_sub(since) > PATIENCE {
            return Ok(left);
        }
        clock.sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests;
