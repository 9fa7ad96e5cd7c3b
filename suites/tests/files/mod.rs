//! Finds the files of the repository, for tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the files with one of these extensions at or below `path`, with their text.
/// The files are in the order of their paths.
pub(crate) fn texts(path: &Path, extensions: &[&str]) -> Vec<(PathBuf, String)> {
    fn find(path: &Path, extensions: &[&str], files: &mut Vec<(PathBuf, String)>) {
        if path.is_dir() {
            fs::read_dir(path).unwrap().for_each(|entry| find(&entry.unwrap().path(), extensions, files));
        } else if extensions.iter().any(|wanted| path.extension().is_some_and(|has| has == *wanted)) {
            files.push((path.to_owned(), fs::read_to_string(path).unwrap()));
        }
    }
    let mut files = Vec::new();
    find(path, extensions, &mut files);
    files.sort();
    files
}
