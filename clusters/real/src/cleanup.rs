//! Removes the resources that killed runs have left, by their journals.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use capsize_clock::Clock;
use capsize_sorted::CollectSorted;
use rustix::process::geteuid;

use crate::docker::{Engine, EngineError};
use crate::journal::Resource;
use crate::leftover::{EndedRunJournal, JournalFolder};
use crate::run_id::RunId;
use crate::{kubeconfig, process};

/// The time limit for Docker to remove resources, and the pause between two looks.
const TIMEOUT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(250);

/// The number of looks without a resource after which no resource is expected.
/// A busy Docker was observed to take over half a second for a network that a killed run had requested.
const LOOKS_IN_VAIN: u32 = 12;

/// The result of a cleanup.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CleanUpReport {
    /// The resources that were removed.
    pub removed: Vec<Resource>,
    /// The resources that could not be removed, with the reasons. They stay in their journals.
    pub failed: Vec<(Resource, String)>,
    /// The reasons why journals, or parts of them, are kept, with file and line.
    pub kept: Vec<String>,
}

/// Removes the resources that the journals in `folder` name for runs that are surely over.
/// All resources in Docker with the identity of these runs are removed too, if the journals of the runs were read
/// completely. Docker may have made such resources after the end of the run that requested them. A resource without the
/// identity of the run whose journal names it is never removed.
///
/// # Errors
/// The folder is not accessible to this user alone, or a journal cannot be read.
pub async fn clean_up(folder: &Path) -> io::Result<CleanUpReport> {
    clean_up_by(folder, &Engine::address(), Clock::real()).await
}

/// As [`clean_up`], with the address of Docker and a clock.
async fn clean_up_by(folder: &Path, docker: &str, clock: Clock) -> io::Result<CleanUpReport> {
    let JournalFolder { left: mut journals, kept } = JournalFolder::look(folder)?;
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
                report.failed.extend(left.into_iter().map(|(_, resource)| (resource, error.to_string())));
            }
        }
    }
    for journal in journals {
        journal.close()?;
    }
    Ok(report)
}

/// The Docker resources of journals, each with its run.
fn dockers(journals: &[EndedRunJournal]) -> Vec<(RunId, Resource)> {
    let is_one = |resource: &&Resource| {
        matches!(resource, Resource::Network(_) | Resource::Volume(_) | Resource::Container(_))
    };
    let of = |journal: &EndedRunJournal| {
        let resources = journal.resources.iter().filter(is_one).cloned().collect::<Vec<_>>();
        resources.into_iter().map(|resource| (journal.run.clone(), resource)).collect::<Vec<_>>()
    };
    journals.iter().flat_map(of).collect()
}

/// Removes a resource outside Docker.
async fn undo(run: &RunId, resource: &Resource) -> Option<Result<(), String>> {
    Some(match resource {
        Resource::Folder(path) => remove_folder(run, path),
        Resource::Programs(label) => process::end(run, label).await,
        Resource::Copies(copies) => kubeconfig::undo(run, copies).await.map_err(|error| error.to_string()),
        Resource::Network(_) | Resource::Volume(_) | Resource::Container(_) => return None,
    })
}

/// Removes a folder whose name carries the identity of the run.
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

/// Removes Docker resources of runs that are over, in repeated looks.
struct Sweep<'a> {
    engine: &'a Engine,
    journals: &'a mut [EndedRunJournal],
    report: &'a mut CleanUpReport,
    /// The runs of which resources are removed that their journals do not name, too.
    /// The journals of these runs were read completely.
    whole: BTreeSet<RunId>,
}

impl<'a> Sweep<'a> {
    fn of(engine: &'a Engine, journals: &'a mut [EndedRunJournal], report: &'a mut CleanUpReport) -> Self {
        let whole = journals.iter().filter(|journal| !journal.stays).map(|journal| journal.run.clone());
        let whole = whole.collect_sorted();
        Self { engine, journals, report, whole }
    }

    async fn run(mut self, clock: Clock) -> io::Result<()> {
        // The last resource that a killed run requested may not exist yet.
        let left = until_nothing_comes(clock, async || self.look().await).await?;
        self.report.failed.extend(left);
        Ok(())
    }

    /// Removes the resources that the journals name, and those that carry the identity of one of the runs.
    async fn look(&mut self) -> io::Result<InspectionResult> {
        let mut resources = dockers(self.journals);
        if let Ok(marked) = self.engine.marked().await {
            let unwritten = marked.into_iter().filter(|(run, _)| self.whole.contains(run));
            let unwritten = unwritten.filter(|one| !resources.contains(one)).collect::<Vec<_>>();
            resources.extend(unwritten);
        }
        let mut look = InspectionResult { found: !resources.is_empty(), left: Vec::new() };
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

    /// Strikes a resource out of the journal of a run; the journal stays if `stays` is set.
    fn strike(&mut self, run: &RunId, resource: &Resource, stays: bool) {
        for journal in self.journals.iter_mut().filter(|journal| journal.run == *run) {
            journal.stays |= stays && journal.resources.contains(resource);
            journal.resources.retain(|one| one != resource);
        }
    }
}

/// The result of one look.
#[derive(Debug, Default)]
struct InspectionResult {
    /// Whether a resource exists or is named by a journal.
    found: bool,
    /// The resources that could not be removed in this look, with the reasons.
    left: Vec<(Resource, String)>,
}

/// Looks until no resource has appeared for a while, or until the time limit.
/// Returns the failures of the last look, because Docker refuses for a moment to remove a resource that it is still
/// working on.
async fn until_nothing_comes(
    clock: Clock,
    mut look: impl AsyncFnMut() -> io::Result<InspectionResult>,
) -> io::Result<Vec<(Resource, String)>> {
    let (since, mut in_vain) = (clock.elapsed(), 0);
    loop {
        let InspectionResult { found, left } = look().await?;
        in_vain = if found { 0 } else { in_vain + 1 };
        if in_vain >= LOOKS_IN_VAIN || clock.elapsed().saturating_sub(since) > TIMEOUT {
            return Ok(left);
        }
        clock.sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests;
