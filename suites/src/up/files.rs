//! The kubeconfigs of a fleet that is up: where they are, and what becomes of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use capsize_apiserver::RunningServer;
use tempfile::TempDir;

use crate::exit::{CommandError, environment_error};
use crate::output;

/// A folder of kubeconfigs.
pub(super) enum Files {
    /// One that the user named: its files stay.
    Kept(PathBuf),
    /// One of our own, which goes when we go.
    Fleeting(TempDir),
}

impl Files {
    /// The folder at `path`, made if it is not there; one that will be removed where there is no path.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn create(path: Option<&Path>) -> Result<Self, CommandError> {
        let made = match path {
            Some(path) => fs::create_dir_all(path).and_then(|()| path.canonicalize()).map(Self::Kept),
            None => TempDir::with_prefix("capsize-").map(Self::Fleeting),
        };
        let shown = path.map_or_else(std::env::temp_dir, Path::to_owned);
        made.map_err(|error| trouble(&shown, "cannot be made a folder", &error))
    }

    /// Where they are.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Fleeting(folder) => folder.path(),
        }
    }

    /// The kubeconfig with all clusters in it.
    pub(super) fn of_all(&self) -> PathBuf {
        self.folder().join("all.yaml")
    }

    /// Writes one file a server, and one with all of them.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn write(&self, servers: &[RunningServer]) -> Result<(), CommandError> {
        for server in servers {
            let path = self.folder().join(format!("{}.yaml", server.name()));
            output::write_secret(&path, &server.kubeconfig())?;
        }
        output::write_secret(&self.of_all(), &RunningServer::kubeconfig_of(servers))
    }
}

fn trouble(path: &Path, what: &str, error: &io::Error) -> CommandError {
    environment_error!("{} {what}: {error}", path.display())
}
