//! Finds the recordings of real systems, and the guarantees in their verdicts.

use std::path::{Path, PathBuf};

use capsize_judge::guarantee::{Outcome, Verdict};

/// The histories that real systems made, in the order of their paths.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let entries = |path: &Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries(&root).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("karmada-") || name.starts_with("nodes-") || name == "ocm"
    });
    let mut paths: Vec<_> = folders.flat_map(|path| entries(&path).collect::<Vec<_>>()).collect();
    paths.sort();
    paths
}

/// The ids of the guarantees with such an outcome.
pub(crate) fn ids(verdicts: &[Verdict], which: impl Fn(&Outcome) -> bool) -> Vec<&'static str> {
    verdicts.iter().filter(|verdict| which(&verdict.outcome)).map(|verdict| verdict.spec.id).collect()
}

/// The system and the scenario of a recording, as `karmada-1.18.2/user-taint`.
pub(crate) fn name(path: &Path) -> String {
    let folder = path.parent().unwrap().file_name().unwrap();
    format!("{}/{}", folder.display(), path.file_stem().unwrap().display())
}
