//! Recordings that begin late: what was not seen may leave something untold, and never turns it into a violation.

use std::fs;
use std::path::Path;

use capsize_framework::history::Entry;

use crate::perturbed::{recorded, violated};

/// The recordings of Karmada, and the profile that each is judged by.
fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/recordings");
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> =
            entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let releases = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut releases: Vec<_> = releases.map(|release| release.into_string().unwrap()).collect();
    releases.retain(|release| release.starts_with("karmada-"));
    releases.sort();
    let of = |release: &String| {
        let target = release.rsplit_once('.').unwrap().0.to_owned();
        let named = move |name| (format!("{release}/{name}"), target.clone());
        names(&folder.join(release)).into_iter().map(named).collect::<Vec<_>>()
    };
    releases.iter().flat_map(of).collect()
}

#[test]
fn a_recording_that_begins_late_violates_nothing_that_the_whole_one_does_not() {
    let recordings = recordings();
    assert!(recordings.len() > 10, "the recordings are not where they were");
    for (name, target) in recordings {
        let (entries, profile) = recorded(&name, &target);
        let whole = violated(entries.clone(), &profile);
        for begin in 1..entries.len() {
            let late: Vec<Entry> = entries[..1].iter().chain(&entries[begin..]).cloned().collect();
            let more: Vec<_> =
                violated(late, &profile).into_iter().filter(|id| !whole.contains(id)).collect();
            assert!(more.is_empty(), "{name} from entry {begin} on violates {more:?}");
        }
    }
}
