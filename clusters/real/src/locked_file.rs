//! A file that is locked until this process gives it up.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;

/// A locked file. Dropping it ends the lock.
///
/// Closing a file does not end its lock as long as another process has the same open file. Each program that this process
/// starts has all open files for a moment, until the program's own code is loaded. So the lock is ended explicitly.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl LockedFile {
    /// Waits until no other process locks the file, and locks it.
    ///
    /// # Errors
    /// The file system does not lock files.
    pub(crate) fn lock(file: File) -> io::Result<Self> {
        file.lock().map(|()| Self(file))
    }

    /// Locks a file that no other process locks.
    ///
    /// # Errors
    /// Another process locks it, or the file system does not lock files.
    pub(crate) fn try_lock(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    /// Locks a file that no other process locks for itself alone.
    ///
    /// # Errors
    /// Another process locks it for itself alone, or the file system does not lock files.
    pub(crate) fn try_lock_shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared().map(|()| Self(file))
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // The lock ends with the process anyway.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    /// Locks the file at a path while a starting program shares it, gives it up, and locks the file again.
    fn is_free_again(path: &Path, lock: fn(File) -> Result<LockedFile, TryLockError>) {
        let file = File::open(path).unwrap();
        // A program that is starting has the same open file.
        let of_program = file.try_clone().unwrap();
        let locked = lock(file).unwrap();
        LockedFile::try_lock(File::open(path).unwrap()).unwrap_err();
        drop(locked);
        LockedFile::try_lock(File::open(path).unwrap()).unwrap();
        drop(of_program);
    }

    #[test]
    fn a_lock_ends_although_a_program_that_is_starting_has_the_file_open() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("journal");
        File::create(&path).unwrap();
        is_free_again(&path, LockedFile::try_lock);
        is_free_again(&path, LockedFile::try_lock_shared);
        is_free_again(&path, |file| LockedFile::lock(file).map_err(TryLockError::Error));
    }
}
