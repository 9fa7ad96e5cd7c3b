//! Perturbs the recordings of real systems: the guarantees detect what is wrong, and name it rightly.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

#[expect(dead_code, reason = "this test needs only the paths")]
mod recorded;

use std::num::NonZeroUsize;
use std::path::Path;

use capsize::perturb::perturbed;
use capsize_perturb::{Options, Rates, all};
use capsize_runner::run::side_by_side;

use recorded::recordings;

/// The least share of the perturbed histories that must be detected, in percent.
const DETECTED: f64 = 98.0;

/// The least share that a guarantee of the class must detect, in percent.
const NAMED: f64 = 97.0;

/// The classes that have a place in the recordings, at least. A class that finds no place measures nothing.
const USED: usize = 100;

/// The rates of all classes on the recordings, with one place of each class in each recording.
fn rates() -> Vec<Rates> {
    let options = Options { seed: 1, places: 1, classes: Vec::new() };
    let mut rates: Vec<Rates> = all().iter().map(Rates::new).collect();
    let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    side_by_side(
        jobs,
        &recordings(),
        |path| perturbed(path, None, &options),
        |_, measured| {
            rates.iter_mut().zip(measured?).for_each(|(all, one)| all.add(one));
            Ok::<_, capsize::check::CheckError>(())
        },
    )
    .unwrap();
    rates
}

#[test]
fn perturbed_recordings_are_detected_and_named_rightly() {
    let rates = rates();
    let used: Vec<&Rates> = rates.iter().filter(|rates| rates.applied > 0).collect();
    assert!(used.len() >= USED, "{} classes have a place", used.len());
    let blind: Vec<&str> = used.iter().filter(|rates| rates.named == 0).map(|rates| rates.class).collect();
    assert!(blind.is_empty(), "no guarantee names {blind:?}");
    let sum = |count: fn(&Rates) -> usize| used.iter().map(|rates| count(rates)).sum::<usize>() as f64;
    let applied = sum(|rates| rates.applied);
    let (detected, named) = (sum(|rates| rates.detected), sum(|rates| rates.named));
    assert!(detected * 100.0 >= DETECTED * applied, "{detected} of {applied} are detected");
    assert!(named * 100.0 >= NAMED * applied, "{named} of {applied} are named rightly");
}

#[test]
fn the_page_lists_every_class_with_the_guarantees_that_name_it() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/perturbations.md");
    let page = std::fs::read_to_string(page).unwrap();
    for class in all() {
        let row = format!("| {} | {} | {} |", class.name, class.wrong, class.named.join(", "));
        assert!(page.contains(&row), "docs/perturbations.md lacks the row {row}");
    }
}
