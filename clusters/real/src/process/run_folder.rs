//! The folders of members that are processes: keys and data of each member, logs of the run.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capsize_clusters::ProviderError;

use crate::journal::{Journal, Resource};

/// A temporary folder that is in the journal. Dropping it removes the folder, unless it is kept.
pub(super) struct RunFolder {
    journal: Arc<Journal>,
    path: PathBuf,
    kept: AtomicBool,
}

impl RunFolder {
    /// Makes a folder whose name begins with `prefix`, and which only this user may read.
    pub(super) fn open(journal: &Arc<Journal>, prefix: &str) -> Result<Self, ProviderError> {
        let failed = |error: io::Error| {
            let place = env::temp_dir();
            ProviderError(format!("a folder in {} cannot be made, or written down: {error}", place.display()))
        };
        let path = journal.folder(&env::temp_dir(), prefix).map_err(failed)?;
        Ok(Self { journal: Arc::clone(journal), path, kept: AtomicBool::new(false) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the files in it, sorted.
    pub(super) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Keeps the folder for people to read.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
        self.journal.undone(&Resource::Folder(self.path.clone()));
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let is_kept = self.kept.load(Ordering::Relaxed);
        if !is_kept && fs::remove_dir_all(&self.path).is_ok() {
            self.journal.undone(&Resource::Folder(self.path.clone()));
        }
    }
}
