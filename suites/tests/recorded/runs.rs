//! Finds the histories that the suite recorded of real programs.

use std::path::{Path, PathBuf};

/// The histories below `suites/recordings/runs`, in the order of their paths.
pub(crate) fn runs() -> Vec<PathBuf> {
    let entries = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries(Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/runs"));
    let mut paths: Vec<_> = folders.flat_map(entries).collect();
    paths.sort();
    paths
}
