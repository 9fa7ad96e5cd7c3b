//! Stores the results of a campaign.
//! The place is a directory, or a bucket of S3 or Google Cloud Storage.

use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::Builder;

#[cfg(feature = "object-store")]
use super::objects::Objects;
use crate::exit::{CommandError, environment_error, input_error};

/// The schemes of addresses of buckets.
const BUCKETS: [&str; 2] = ["s3://", "gs://"];

/// A place for files with names like `folder/name`. A file appears whole or not at all.
pub(in crate::chaos) enum Store {
    /// A directory.
    Directory(PathBuf),
    /// A bucket.
    #[cfg(feature = "object-store")]
    Objects(Objects),
}

/// Whether a store is a bucket rather than a directory.
pub(super) fn is_bucket(place: &str) -> bool {
    BUCKETS.iter().any(|scheme| place.starts_with(scheme))
}

impl Store {
    /// The store at `place`: a directory, `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// When the place is an address that this program cannot use.
    pub(in crate::chaos) fn open(place: &str) -> Result<Self, CommandError> {
        if is_bucket(place) {
            #[cfg(feature = "object-store")]
            return Objects::open(place).map(Self::Objects);
            #[cfg(not(feature = "object-store"))]
            return Err(input_error!(
                help = "build Capsize with `--features object-store`, or use a directory that all pods mount",
                "{place}: this program was built without buckets"
            ));
        }
        if place.contains("://") {
            let why = "a store is a directory, or an address that begins with s3:// or gs://";
            return Err(input_error!("{place}: {why}"));
        }
        Ok(Self::Directory(place.into()))
    }

    /// The names of the files in `folder`, in order. A folder that does not exist is empty.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, CommandError> {
        let mut names = match self {
            Self::Directory(directory) => {
                files(&directory.join(folder)).map_err(|error| self.failed(folder, &error))?
            }
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.list(folder).map_err(|error| self.failed(folder, &error))?,
        };
        names.sort();
        Ok(names)
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// When it does not exist, or cannot be read.
    pub(super) fn get(&self, name: &str) -> Result<Vec<u8>, CommandError> {
        match self {
            Self::Directory(directory) => {
                fs::read(directory.join(name)).map_err(|error| self.failed(name, &error))
            }
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.get(name).map_err(|error| self.failed(name, &error)),
        }
    }

    /// Writes a file, in the place of any that is there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn put(&self, name: &str, contents: &[u8]) -> Result<(), CommandError> {
        match self {
            Self::Directory(directory) => {
                write(&directory.join(name), contents).map_err(|error| self.failed(name, &error))
            }
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => objects.put(name, contents).map_err(|error| self.failed(name, &error)),
        }
    }

    fn failed(&self, name: &str, error: &dyn fmt::Display) -> CommandError {
        environment_error!("{name} in {self} cannot be read or written: {error}")
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "the store {}", directory.display()),
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => write!(f, "the store {objects}"),
        }
    }
}

/// The names of the files of a folder. Hidden files are not finished.
fn files(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !name.starts_with('.') {
            names.push(name);
        }
    }
    Ok(names)
}

/// Writes a file under a hidden name that no other process uses, and renames it.
fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let permissions = Permissions::from_mode(0o666);
    let mut file = Builder::new().prefix(".partial-").permissions(permissions).tempfile_in(folder)?;
    file.write_all(contents)?;
    // The contents are on the disk before the name is, so a machine that loses power leaves no empty file.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_lists_whole_files_in_order_and_replaces_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap()).unwrap();
        assert_eq!(store.list("results").unwrap(), [""; 0]);
        for (name, contents) in [("b", "1"), ("a", "2"), ("b", "3")] {
            store.put(&format!("results/{name}"), contents.as_bytes()).unwrap();
        }
        store.put("results/below/c", b"4").unwrap();
        fs::write(folder.path().join("results/.partial-x"), "half").unwrap();
        assert_eq!(store.list("results").unwrap(), ["a", "b"]);
        assert_eq!(store.get("results/b").unwrap(), b"3");
        assert!(matches!(store.get("results/c"), Err(CommandError::Environment(_))));
    }

    #[test]
    fn an_address_that_is_no_store_is_refused() {
        for place in ["ftp://host/x", "file:///x"] {
            assert!(matches!(Store::open(place), Err(CommandError::Input(_))), "{place}");
        }
    }
}
