//! Perturbs histories by all classes, judges the copies, and counts what is detected and named rightly.

use std::collections::BTreeSet;

use capsize_history::Entry;
use capsize_history::digest::{OFFSET, digest};
use capsize_judge::judge::judge;
use capsize_judge::profile::Profile;
use capsize_sorted::CollectSorted;

use crate::class::{Class, ViolationKind};
use crate::classes::all;
use crate::edit::{Edit, apply};
use crate::recording::Recording;

/// Which perturbations are made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of the choice of places.
    pub seed: u64,
    /// The greatest number of places of each class in one history.
    pub places: usize,
    /// The names of the classes; empty means all of them.
    pub classes: Vec<String>,
}

/// The counts of one class.
#[derive(Clone, Debug)]
pub struct Rates {
    /// The name of the class.
    pub class: &'static str,
    /// The way in which its behaviour is wrong.
    pub wrong: ViolationKind,
    /// The guarantees that name it.
    pub named_by: &'static [&'static str],
    /// How many perturbed histories were judged.
    pub applied: usize,
    /// In how many of them a guarantee is violated that holds in the original history.
    pub detected: usize,
    /// In how many of them such a guarantee names the class.
    pub named: usize,
    /// The perturbed histories that were not detected or not named rightly.
    pub missed: Vec<MissedPerturbation>,
}

/// A perturbed history that was not detected or not named rightly.
#[derive(Clone, Debug)]
pub struct MissedPerturbation {
    /// The name of the original history.
    pub history: String,
    /// The guarantees that are violated, and hold in the original history.
    pub violated: Vec<&'static str>,
    /// The perturbed history.
    pub entries: Vec<Entry>,
}

impl Rates {
    /// The counts of `class` before the first history.
    #[must_use]
    pub fn new(class: &Class) -> Self {
        Self {
            class: class.name,
            wrong: class.wrong,
            named_by: class.named,
            applied: 0,
            detected: 0,
            named: 0,
            missed: Vec::new(),
        }
    }

    /// Adds the counts of the same class on other histories.
    pub fn add(&mut self, other: Self) {
        self.applied += other.applied;
        self.detected += other.detected;
        self.named += other.named;
        self.missed.extend(other.missed);
    }
}

fn violated(entries: &[Entry], profile: &Profile) -> BTreeSet<&'static str> {
    let entries = entries.iter().map(|entry| Ok::<_, std::convert::Infallible>(entry.clone()));
    let Ok(judgement) = judge(entries, profile.clone());
    let verdicts = judgement.verdicts.into_iter();
    verdicts.filter(|verdict| verdict.outcome.is_violated()).map(|verdict| verdict.spec.id).collect_sorted()
}

/// Chooses at most `most` of the edits, by the seed and the names of the class and the history.
fn chosen(mut edits: Vec<Edit>, most: usize, seed: u64, names: [&str; 2]) -> Vec<Edit> {
    edits.retain(|edit| !edit.is_empty());
    let seed =
        names.iter().fold(digest(OFFSET, &seed.to_le_bytes()), |seed, name| digest(seed, name.as_bytes()));
    let mut random = fastrand::Rng::with_seed(seed);
    random.shuffle(&mut edits);
    edits.truncate(most);
    edits
}

/// Perturbs the history `name` with these `entries` by every class, and counts what is detected.
/// The classes come in their own order.
#[must_use]
pub fn measure(name: &str, entries: &[Entry], profile: &Profile, options: &Options) -> Vec<Rates> {
    let control = violated(entries, profile);
    let recording = Recording::new(entries, profile);
    let is_chosen =
        |class: &&Class| options.classes.is_empty() || options.classes.iter().any(|name| name == class.name);
    // A class whose guarantees are all violated in the original history would show nothing.
    let shows = |class: &&Class| class.named.iter().any(|id| !control.contains(id));
    let mut all_rates = Vec::new();
    for class in all().iter().filter(is_chosen) {
        let mut rates = Rates::new(class);
        let edits = if shows(&class) { (class.places)(&recording) } else { Vec::new() };
        for edit in chosen(edits, options.places, options.seed, [class.name, name]) {
            let entries = apply(entries, &edit);
            let violated = violated(&entries, profile);
            let new: Vec<&str> = violated.difference(&control).copied().collect();
            let is_named = new.iter().any(|id| class.named.contains(id));
            rates.applied += 1;
            rates.detected += usize::from(!new.is_empty());
            rates.named += usize::from(is_named);
            if !is_named {
                rates.missed.push(MissedPerturbation { history: name.to_owned(), violated: new, entries });
            }
        }
        all_rates.push(rates);
    }
    all_rates
}
