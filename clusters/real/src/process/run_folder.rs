//! What members of processes leave on the disk: a folder with keys and data that goes with its member, and one with logs for
//! those who look for why a run failed.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capsize_clusters::ProviderError;

use crate::journal::{Journal, Resource};

/// A folder of this machine that is written down. It goes when it is dropped, unless it is kept.
pub(super) struct RunFolder {
    journal: Arc<Journal>,
    path: PathBuf,
    kept: AtomicBool,
}

impl RunFolder {
    /// A new one, whose name begins with `prefix`. Nobody else may read it.
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

    /// What is in it, by name.
    pub(super) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Leaves it where it is, for people.
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
