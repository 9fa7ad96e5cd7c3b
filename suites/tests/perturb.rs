//! Perturbs recordings of real systems and small scenarios.
//! The guarantees must detect what is wrong, and name it rightly.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod parallel;
mod profiles;
#[expect(dead_code, reason = "this test needs only the paths")]
mod recorded;

use std::fs;
use std::path::{Path, PathBuf};

use capsize::perturb::perturbed;
use capsize::run::implementation;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_judge::profile::Profile;
use capsize_perturb::{Options, Rates, all};
use capsize_report::Status;
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario::{self, Case};
use tempfile::TempDir;

use parallel::on_all_cores;
use profiles::profile_of;
use recorded::recordings;

/// The least share of the perturbed histories that must be detected, in percent.
const DETECTED: f64 = 98.0;

/// The least share that a guarantee of the class must detect, in percent.
const NAMED: f64 = 97.0;

/// Cases of the suite that show behaviour of which there is no recording, each with its profile.
const CASES: [(&str, &str); 17] = [
    ("dependencies/move-with-the-workload", "reference"),
    ("dependencies/stay-as-long-as-the-workload", "reference"),
    ("delivery/suspended", "reference"),
    ("eviction/directly-with-its-state", "reference"),
    ("eviction/two-members-at-once", "reference"),
    ("forms/spread", "reference"),
    ("membership/remedy", "reference-1.18"),
    ("namespaces/everywhere", "reference"),
    ("nodes/daemons-stay", "reference-nodes"),
    ("nodes/drained-after-a-timeout", "reference-nodes-1.16-drains"),
    ("nodes/zones-come-back-in-turn", "reference-nodes"),
    ("placement/rebalanced", "reference"),
    ("placement/spread-over-regions", "reference"),
    ("placement/two-members-in-turn", "reference"),
    ("services/addresses-are-withdrawn", "reference"),
    ("tainting/silent-agent", "reference"),
    ("toleration/taint-removed-in-time", "reference"),
];

/// Runs a case, and writes its history to a file in `folder`.
fn history(case: &Case, profile: &Profile, folder: &Path) -> PathBuf {
    let implementation = implementation(profile).unwrap();
    let target = Target { profile, implementation: &*implementation };
    let outcome = run_case(case, target, Seed(1), Keep::History);
    assert_eq!((outcome.case.status, outcome.broken), (Status::Passed, None), "{}", case.id());
    let path = folder.join(case.id().replace('/', "-")).with_extension("jsonl");
    fs::write(&path, outcome.history.unwrap()).unwrap();
    path
}

/// Returns the histories of the chosen cases of the suite, and of the scenarios for the classes.
/// These scenarios were written for the classes.
fn histories(folder: &Path) -> Vec<PathBuf> {
    let suite = conformance::cases().unwrap();
    let chosen = CASES.iter().map(|(id, profile)| {
        let case = suite.iter().find(|case| case.id() == *id);
        (case.unwrap_or_else(|| panic!("there is no case {id}")), targets::find(profile).unwrap())
    });
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("perturb/scenarios");
    let scenarios = scenario::find(&[scenarios]).unwrap();
    let cases: Vec<_> = chosen.chain(scenarios.iter().map(|case| (case, profile_of(case)))).collect();
    on_all_cores(&cases, |(case, profile)| history(case, profile, folder))
}

/// Returns the rates of all classes on the recordings and the scenarios.
/// Each history is perturbed at one place for each class.
fn rates() -> Vec<Rates> {
    let folder = TempDir::new().unwrap();
    let options = Options { seed: 1, places: 1, classes: Vec::new() };
    let mut rates: Vec<Rates> = all().iter().map(Rates::new).collect();
    let histories = [recordings(), histories(folder.path())].concat();
    for measured in on_all_cores(&histories, |path| perturbed(path, None, &options)) {
        rates.iter_mut().zip(measured.unwrap()).for_each(|(all, one)| all.add(one));
    }
    rates
}

#[test]
fn perturbed_recordings_are_detected_and_named_rightly() {
    let rates = rates();
    let unused: Vec<&str> =
        rates.iter().filter(|rates| rates.applied == 0).map(|rates| rates.class).collect();
    assert!(unused.is_empty(), "no history has a place for {unused:?}");
    let blind: Vec<&str> = rates.iter().filter(|rates| rates.named == 0).map(|rates| rates.class).collect();
    assert!(blind.is_empty(), "no guarantee names {blind:?}");
    let sum = |count: fn(&Rates) -> usize| rates.iter().map(count).sum::<usize>() as f64;
    let applied = sum(|rates| rates.applied);
    let (detected, named) = (sum(|rates| rates.detected), sum(|rates| rates.named));
    assert!(detected * 100.0 >= DETECTED * applied, "{detected} of {applied} are detected");
    assert!(named * 100.0 >= NAMED * applied, "{named} of {applied} are named rightly");
}

#[test]
fn the_page_lists_every_class_with_the_guarantees_that_name_it() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/perturbations.md");
    let page = fs::read_to_string(page).unwrap();
    for class in all() {
        let row = format!("| {} | {} | {} |", class.name, class.wrong, class.named.join(", "));
        assert!(page.contains(&row), "docs/perturbations.md lacks the row {row}");
    }
}
