//! Writes the history of a fleet to a file while the fleet runs.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capsize_runner::run::View;

use crate::control::pause;
use crate::exit::{CommandError, environment_error, input_error};

/// The longest time for which an entry stays in memory only, in real time.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// A history that is being written.
pub(super) struct Recording {
    path: PathBuf,
    file: File,
}

impl Recording {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// It exists, or cannot be made.
    pub(super) fn create(path: &Path) -> Result<Self, CommandError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| input_error!("--record {}: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes what is new, again and again.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) async fn write_on(&mut self, view: &View) -> Result<Infallible, CommandError> {
        loop {
            self.write(view)?;
            pause(view, WRITE_EVERY).await;
        }
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&mut self, view: &View) -> Result<(), CommandError> {
        let written = self.file.write_all(&view.new_history());
        written.map_err(|error| environment_error!("{}: {error}", self.path.display()))
    }
}
