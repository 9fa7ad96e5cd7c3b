//! `capsize mutants`: one rule of the reference made wrong at a time. Who notices?
//!
//! The same guarantees and scenarios that a target is put to are put to implementations that are known to be wrong. What
//! nobody notices there is a hole in the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use capsize_clock::Seed;
use capsize_framework::guarantee::{Catalogue, Outcome};
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};
use capsize_framework::scenario::Case;
use capsize_framework::target::Profile;
use capsize_mutants::Mutant;
use clap::Args;
use miette::miette;

use crate::exit::{Trouble, Verdict};
use crate::reference::Reference;
use crate::{conformance, output, targets};

/// Make one rule of the reference wrong at a time, and see who notices
#[derive(Args, Debug)]
pub struct Mutants {
    /// Only these; all where none is named
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Everything that is drawn comes from this number
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// So many at a time; as many as there are processors where nothing is said
    #[arg(long, value_name = "COUNT")]
    jobs: Option<NonZeroUsize>,
    /// Also run the rules as they should be under so many seeds, a scenario each in turn: nothing may be violated
    #[arg(long, value_name = "SEEDS", default_value_t = 0)]
    control: u64,
}

/// Who noticed a mutant.
#[derive(Debug)]
pub struct Caught {
    /// The scenario.
    pub case: String,
    /// The guarantees that are violated; none where a step of the scenario failed.
    pub guarantees: Vec<&'static str>,
}

impl Mutants {
    /// Runs the suite on each mutant until it is noticed, and prints by whom.
    ///
    /// # Errors
    /// When there is no such mutant, or stdout does not take what it says.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let cases = conformance::cases().map_err(|error| Trouble::input(*error))?;
        let mutants = self.chosen()?;
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let seed = Seed(self.seed);
        let mut tally = Tally::default();
        each(
            jobs,
            &mutants,
            |mutant| noticed(mutant, &cases, seed),
            |mutant, found| tally.tell(mutant, found?),
        )?;
        let mut verdict = tally.sum_up(self.ids.is_empty())?;
        if self.control > 0 && !self.all_is_quiet(&cases, jobs)? {
            verdict = Verdict::Violated;
        }
        Ok(verdict)
    }

    fn chosen(&self) -> Result<Vec<Mutant>, Trouble> {
        let mut mutants = capsize_mutants::all();
        let known: BTreeSet<String> = mutants.iter().map(|mutant| mutant.id.clone()).collect();
        if let Some(unknown) = self.ids.iter().find(|id| !known.contains(*id)) {
            let names = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Trouble::Input(miette!("there is no mutant `{unknown}`; there are: {names}")));
        }
        mutants.retain(|mutant| self.ids.is_empty() || self.ids.contains(&mutant.id));
        Ok(mutants)
    }

    /// Whether the rules as they should be violate nothing, whatever the seed.
    fn all_is_quiet(&self, cases: &[Case], jobs: usize) -> Result<bool, Trouble> {
        let profile = targets::find("reference").map_err(Trouble::input)?;
        let implementation = Reference::default();
        let seeds: Vec<u64> = (0..self.control).collect();
        let mut alarms = Vec::new();
        let run = |seed: &u64| {
            let case = &cases[usize::try_from(*seed).unwrap_or(0) % cases.len()];
            let target = Target { profile: &profile, implementation: &implementation };
            let outcome = run_case(case, target, Seed(*seed), false).case;
            (outcome.status == Status::Failed).then(|| format!("{} --seed {seed}", case.id()))
        };
        each(jobs, &seeds, run, |_, alarm| {
            alarms.extend(alarm);
            Ok(())
        })?;
        output::say(&format!(
            "{} seeds of the rules as they should be: {} alarms\n",
            self.control,
            alarms.len()
        ))?;
        for alarm in &alarms {
            output::say(&format!("  capsize run --filter {alarm}\n"))?;
        }
        Ok(alarms.is_empty())
    }
}

/// Who notices `mutant`: the case that it names first, and then all others until one has a guarantee that is violated.
fn noticed(mutant: &Mutant, cases: &[Case], seed: Seed) -> Result<Option<Caught>, Trouble> {
    let profile = targets::find(mutant.profile).map_err(Trouble::input)?;
    let (first, rest): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.id() == mutant.case);
    let mut by_a_step = None;
    for case in first.into_iter().chain(rest) {
        match put_to(mutant, case, &profile, seed) {
            Some(caught) if !caught.guarantees.is_empty() || mutant.guarantee.is_none() => {
                return Ok(Some(caught));
            }
            Some(caught) => drop(by_a_step.get_or_insert(caught)),
            None => {}
        }
    }
    Ok(by_a_step)
}

/// Whether `case` fails with `mutant` in the place of the reference, and why.
#[must_use]
pub fn put_to(mutant: &Mutant, case: &Case, profile: &Profile, seed: Seed) -> Option<Caught> {
    let implementation = Reference::deciding_by(mutant.rules());
    let outcome = run_case(case, Target { profile, implementation: &implementation }, seed, false).case;
    if outcome.status != Status::Failed {
        return None;
    }
    let verdicts = outcome.judgement.map(|judgement| judgement.verdicts).unwrap_or_default();
    let violated = verdicts.iter().filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
    Some(Caught { case: case.id(), guarantees: violated.map(|verdict| verdict.rule.id).collect() })
}

/// Tells `done` what `of` says of each item, so many at a time, in the order of the items.
fn each<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    of: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(&T, R) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let (sender, receiver) = mpsc::channel();
    let queue = Mutex::new(items.iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let (sender, next, of) = (sender.clone(), &next, &of);
            scope.spawn(move || {
                while let Some((index, item)) = next() {
                    if sender.send((index, of(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut waiting) = (BTreeMap::new(), 0);
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&waiting) {
                done(&items[waiting], result)?;
                waiting += 1;
            }
        }
        Ok(())
    })
}

/// What has been found so far.
#[derive(Default)]
struct Tally {
    mutants: usize,
    caught: usize,
    by_a_guarantee: usize,
    guarantees: BTreeSet<&'static str>,
}

impl Tally {
    /// Prints who noticed a mutant.
    fn tell(&mut self, mutant: &Mutant, found: Option<Caught>) -> Result<(), Trouble> {
        self.mutants += 1;
        let Some(Caught { case, guarantees }) = found else {
            return output::say(&format!("✗ {}\n    nobody notices\n", mutant.id));
        };
        self.caught += 1;
        self.by_a_guarantee += usize::from(!guarantees.is_empty());
        let by = if guarantees.is_empty() { "a step".to_owned() } else { guarantees.join(", ") };
        self.guarantees.extend(guarantees);
        output::say(&format!("✓ {}\n    {by} in {case}\n", mutant.id))
    }

    /// Prints what it comes to; of `all` mutants, also which guarantees noticed none.
    fn sum_up(&self, all: bool) -> Result<Verdict, Trouble> {
        let Self { mutants, caught, by_a_guarantee, guarantees } = self;
        output::say(&format!(
            "{mutants} mutants: {caught} caught, {by_a_guarantee} of them by a guarantee\n"
        ))?;
        if all {
            let idle = Catalogue::rules().into_iter().map(|rule| rule.id);
            let idle: Vec<&str> = idle.filter(|id| !guarantees.contains(id)).collect();
            output::say(&format!("guarantees that noticed none: {}\n", idle.join(", ")))?;
        }
        Ok(if caught == mutants { Verdict::Conforms } else { Verdict::Violated })
    }
}
