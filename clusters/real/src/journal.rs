//! The journal of a run: resources are written down before they are made, and struck out at the end.
//!
//! A journal is a file of JSON lines that its run holds locked. The lock ends with the process, however that ends,
//! so a journal that can be locked belongs to a run that is over. The first line has the identity of the run, which
//! every resource of the run carries. `leftover.rs` reads the journals of runs that are over, and `cleanup.rs`
//! removes their resources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use capsize_sorted::CollectSorted;
use serde::{Deserialize, Serialize};

use crate::kubeconfig::Copies;
use crate::locked_file::LockedFile;
use crate::run_id::RunId;
use crate::state_folder;

/// A resource that must not outlast its run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resource {
    /// A network in Docker.
    /// Resources are removed in reverse order, so a network is written down before its containers.
    Network(String),
    /// A volume in Docker.
    /// It is not written down, because it is removed with its container or found by its labels.
    Volume(String),
    /// A container in Docker, by its name.
    Container(String),
    /// The programs of the member that this value of `CAPSIZE_MEMBER` names.
    Programs(String),
    /// A folder with keys or logs in it.
    Folder(PathBuf),
    /// The objects that an implementation places in a cluster of a kubeconfig.
    Copies(Copies),
}

/// A line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Line {
    /// The first line: the run that writes the journal.
    Run(Origin),
    /// The resource is about to be made.
    Will(Resource),
    /// The resource is removed.
    Undone(Resource),
}

/// The run that writes a journal, and its machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Origin {
    pub(crate) id: RunId,
    /// The name of its machine.
    pub(crate) host: String,
    /// The boot id of the kernel of its machine; empty where there is none.
    pub(crate) boot: String,
}

impl Origin {
    fn of(id: RunId) -> Self {
        // Only Linux has these files; elsewhere only the lock of a journal shows whether its run is over.
        let kernel = |name: &str| fs::read_to_string(Path::new("/proc/sys/kernel").join(name));
        let read = |name: &str| kernel(name).unwrap_or_default().trim().to_owned();
        Self { id, host: read("hostname"), boot: read("random/boot_id") }
    }

    /// Whether it ran on this machine, so that the lock of its journal shows whether it is over.
    /// Machines may share a folder without sharing its locks.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        let Self { host, boot, .. } = Self::of(self.id.clone());
        self.host == host || (self.boot == boot && !boot.is_empty())
    }
}

/// The label of every resource in Docker with the name of its run.
pub(crate) const RUN: &str = "capsize.run";

/// The label of every resource in Docker with the identity of its run.
/// A cleanup removes nothing without this label.
pub(crate) const RUN_ID: &str = "capsize.run-id";

/// The label with the folder of the run's journal, as information for people.
pub(crate) const JOURNAL: &str = "capsize.journal";

/// The variable with the identity of the run, in the environment of every program that the run starts.
pub(crate) const RUN_ID_VARIABLE: &str = "CAPSIZE_RUN_ID";

pub(crate) const ENDING: &str = "jsonl";

/// The file name extension of a journal that is not complete yet.
pub(crate) const NEW: &str = "new";

/// The journal of this run. Dropping it removes the file if no resource is left.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    id: RunId,
    kept: Mutex<JournalFile>,
    /// The number of folders that the run has made.
    folders: AtomicU64,
}

#[derive(Debug)]
struct JournalFile {
    file: LockedFile,
    open: BTreeSet<Resource>,
}

impl Journal {
    /// Begins a journal in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// It cannot be written, or the folder is not accessible to this user alone.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let folder = state_folder::make(folder)?;
        let (ending, id) = (format!(".{NEW}"), RunId::random()?);
        loop {
            // It is locked before it gets the name of a journal.
            let mut new = tempfile::Builder::new();
            let new = new.prefix("").suffix(&ending).rand_bytes(8);
            let (file, unnamed) = new.tempfile_in(&folder)?.keep().map_err(|error| error.error)?;
            let mut kept = JournalFile { file: LockedFile::lock(file)?, open: BTreeSet::new() };
            kept.write(&Line::Run(Origin::of(id.clone())))?;
            let path = unnamed.with_extension(ENDING);
            match fs::rename(&unnamed, &path) {
                // A concurrent cleanup has removed it before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                renamed => {
                    renamed?;
                    return Ok(Self { path, id, kept: Mutex::new(kept), folders: AtomicU64::new(0) });
                }
            }
        }
    }

    /// The short name of the run, for the names of containers and networks.
    #[must_use]
    pub fn run(&self) -> String {
        run_of(&self.path)
    }

    /// The identity of the run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The labels of everything that the run creates in Docker.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        let folder = self.path.parent().unwrap_or_else(|| Path::new("")).display().to_string();
        let labels = [(RUN, self.run()), (RUN_ID, self.id.to_string()), (JOURNAL, folder)];
        labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect_sorted()
    }

    /// Puts the identity of the run into the environment of a program that is about to be started.
    pub fn mark(&self, program: &mut Command) {
        program.env(RUN_ID_VARIABLE, self.id.as_str());
    }

    /// Writes down a resource that is about to be made. The line is on the disk when this returns.
    ///
    /// # Errors
    /// The line cannot be written. The resource must not be made then.
    pub fn will(&self, resource: Resource) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.write(&Line::Will(resource.clone()))?;
        kept.open.insert(resource);
        Ok(())
    }

    /// Makes a folder in `parent` that only this user may read.
    /// Its name begins with `prefix` and carries the identity of the run. The folder is written down before it is made,
    /// so that none is left when the process is killed in between.
    ///
    /// # Errors
    /// It cannot be written down, or made.
    pub fn folder(&self, parent: &Path, prefix: &str) -> io::Result<PathBuf> {
        let number = self.folders.fetch_add(1, Ordering::Relaxed) + 1;
        let path = parent.join(format!("{prefix}{}-{number}", self.id));
        let resource = Resource::Folder(path.clone());
        self.will(resource.clone())?;
        DirBuilder::new().mode(0o700).create(&path).inspect_err(|_| self.undone(&resource))?;
        Ok(path)
    }

    /// Strikes out a resource that is removed.
    pub fn undone(&self, resource: &Resource) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.open.remove(resource) {
            // A resource that is not struck out is removed again later, which does no harm.
            let _ = kept.write(&Line::Undone(resource.clone()));
        }
    }
}

impl JournalFile {
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        (&*self.file).write_all(text.as_bytes())?;
        self.file.sync_data()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        if kept.open.is_empty() {
            // A journal that cannot be removed is empty for the next cleanup.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The name of the run whose journal is at `path`.
pub(crate) fn run_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_run_that_undid_everything_leaves_no_journal() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        for resource in [Resource::Network("n".into()), Resource::Container("a".into())] {
            journal.will(resource.clone()).unwrap();
            journal.undone(&resource);
        }
        drop(journal);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_written_down_before_it_is_there_and_its_name_carries_the_mark() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        let nowhere = folder.path().join("nowhere");
        journal.folder(&nowhere, "capsize-").unwrap_err();
        let text = fs::read_to_string(&journal.path).unwrap();
        let path = nowhere.join(format!("capsize-{}-1", journal.id()));
        assert!(text.contains(&format!("{{\"will\":{{\"folder\":\"{}\"}}}}", path.display())), "{text}");
        let made = journal.folder(folder.path(), "capsize-").unwrap();
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn runs_differ_in_their_identity_even_where_all_else_is_the_same() {
        let folder = TempDir::new().unwrap();
        let [one, other] = [(); 2].map(|()| Journal::begin(folder.path()).unwrap());
        assert_ne!(one.labels()[RUN_ID], other.labels()[RUN_ID]);
        assert_eq!(one.labels()[JOURNAL], other.labels()[JOURNAL]);
    }
}
