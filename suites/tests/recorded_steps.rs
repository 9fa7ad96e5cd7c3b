//! Repeats the recorded steps of the real system with the reference, as that release with its settings.
//!
//! The same must happen, at the same times.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use capsize::diff::outline;
use capsize::reference::Reference;
use capsize::{check, targets};
use capsize_clock::Seed;
use capsize_history::Reader;
use capsize_judge::diff::{Outliner, compare};
use capsize_report::{COLUMNS, differences};
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario;

/// The recorded releases, the profiles with their behaviour, and the folders of their steps.
const RELEASES: [(&str, &str, &str); 3] = [
    ("karmada-1.5.0", "reference-1.5", "1.5"),
    ("karmada-1.13.10", "reference-1.13", "1.5"),
    ("karmada-1.18.2", "reference-1.18", "1.18"),
];

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// The differences between the recording at `path` and the same steps with the reference as `profile`.
fn difference(path: &Path, profile: &str, steps: &Path) -> Option<String> {
    let case = scenario::find(&[steps.to_owned()]).unwrap().remove(0);
    let profile = targets::find(profile).unwrap();
    let profile = check::with_settings_of(path, &profile).unwrap();
    let implementation = Reference::of(&profile).unwrap();
    let ran = run_case(
        &case,
        Target { profile: &profile, implementation: &implementation },
        Seed(1),
        Keep::History,
    );
    if let Some(failure) = ran.case.failures.first() {
        return Some(format!("the steps could not be done: {failure:?}"));
    }
    let mut outliner = Outliner::new(profile.clone());
    for entry in Reader::new("the run", &*ran.history.unwrap()) {
        outliner.push(&entry.unwrap());
    }
    let comparison = compare(&outline(path, None).unwrap(), &outliner.finish());
    assert!(comparison.matched > 5, "{}: hardly anything happened", path.display());
    (!comparison.is_alike()).then(|| differences(&comparison, COLUMNS))
}

#[test]
fn the_same_steps_come_to_the_same() {
    let mut printed = String::new();
    for (release, profile, folder) in RELEASES {
        let mut paths: Vec<_> =
            recordings().join(release).read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let steps = recordings().join("steps").join(folder).join(format!("{name}.yaml"));
            if let Some(differences) = difference(&path, profile, &steps) {
                writeln!(printed, "== {release}/{name}\n{differences}").unwrap();
            }
        }
    }
    assert!(printed.is_empty(), "{printed}");
}
