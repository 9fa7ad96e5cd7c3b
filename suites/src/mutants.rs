//! `capsize mutants`: one rule of the reference made wrong at a time. Who notices?
//!
//! The guarantees and scenarios that judge a target judge implementations that are known to be wrong. A mutant that
//! no guarantee notices is a hole in the suite.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::thread;

use capsize_clock::Seed;
use capsize_judge::guarantee::{Catalogue, Outcome};
use capsize_judge::responsible_component::Component;
use capsize_mutants::{Mutant, WrongRules};
use capsize_report::Status;
use capsize_runner::run::{Implementation, Keep, Target, missing_requirement, run_case, side_by_side};
use capsize_runner::scenario::Case;
use capsize_sorted::CollectSorted;
use clap::Args;

use crate::chaos::{Seeds, hunt};
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::reference::Reference;
use crate::reference_nodes::NodeReference;
use crate::{conformance, guilty, output, targets};

/// Make one rule of the reference wrong at a time, and report which guarantee notices
#[derive(Args, Debug)]
pub struct Mutants {
    /// The mutants to run; all of them where none is given
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// The random seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1, conflicts_with = "chaos")]
    seed: u64,
    /// How many mutants run at a time; as many as there are cores where none is given
    #[arg(long, value_name = "COUNT")]
    jobs: Option<NonZeroUsize>,
    /// Also run the right rules with this number of seeds, each on the next scenario.
    /// Nothing may be violated
    #[arg(long, value_name = "SEEDS", default_value_t = 0, conflicts_with = "chaos")]
    control: u64,
    /// Print each mutant with the scenario and the guarantee that notice it, without running them
    #[arg(long, conflicts_with_all = ["chaos", "control", "seed", "jobs"])]
    list: bool,
    /// Print for how many mutants the first violation leads to the wrong rule.
    /// The evidence of the violation names the component whose rule is wrong
    #[arg(long, conflicts_with_all = ["chaos", "control", "list"])]
    chain: bool,
    /// Run chaos with these seeds on the mutants, every style in turn, instead of the suite
    #[arg(long, value_name = "A..B")]
    chaos: Option<Seeds>,
}

/// The case and the guarantees that noticed a mutant.
#[derive(Clone, Debug)]
pub struct MutantDetection {
    /// The scenario.
    pub case: String,
    /// The guarantees that are violated; none where a step of the scenario failed.
    pub guarantees: Vec<&'static str>,
    /// The component that the first violation names.
    pub component: Option<Component>,
}

impl Mutants {
    /// Runs the suite on each mutant until a case notices it, and prints the guarantee.
    ///
    /// # Errors
    /// When there is no such mutant, or stdout does not take what it says.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let cases = conformance::cases().map_err(|error| CommandError::input(*error))?;
        let mutants = self.chosen()?;
        if self.list {
            return list(&mutants);
        }
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        if let Some(seeds) = &self.chaos {
            return hunt(&mutants, seeds, jobs);
        }
        let seed = Seed(self.seed);
        if self.chain {
            return guilty::measure(&mutants, &cases, (seed, jobs));
        }
        let mut tally = Tally::default();
        side_by_side(
            jobs,
            &mutants,
            |mutant| noticed(mutant, &cases, seed),
            |mutant, found| tally.report(mutant, found?),
        )?;
        let mut verdict = tally.sum_up(self.ids.is_empty())?;
        if self.control > 0 && !self.all_is_quiet(&cases, jobs)? {
            verdict = ExitStatus::Violated;
        }
        Ok(verdict)
    }

    fn chosen(&self) -> Result<Vec<Mutant>, CommandError> {
        let mut mutants = capsize_mutants::all();
        let known: BTreeSet<String> = mutants.iter().map(|mutant| mutant.id.clone()).collect_sorted();
        if let Some(unknown) = self.ids.iter().find(|id| !known.contains(*id)) {
            let names = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(input_error!("there is no mutant `{unknown}`; there are: {names}"));
        }
        mutants.retain(|mutant| self.ids.is_empty() || self.ids.contains(&mutant.id));
        Ok(mutants)
    }

    /// Whether the right rules violate nothing, whatever the seed.
    /// Cases that the profile skips are left out.
    fn all_is_quiet(&self, cases: &[Case], jobs: NonZeroUsize) -> Result<bool, CommandError> {
        let profile = targets::find("reference").map_err(CommandError::input)?;
        let implementation = Reference::default();
        let target = Target { profile: &profile, implementation: &implementation };
        let cases: Vec<&Case> =
            cases.iter().filter(|case| missing_requirement(case, target).is_none()).collect();
        let runs: Vec<(u64, &Case)> = (0..self.control).zip(cases.iter().copied().cycle()).collect();
        let mut alarms = Vec::new();
        side_by_side(
            jobs,
            &runs,
            |(seed, case)| run_case(case, target, Seed(*seed), Keep::Nothing),
            |(seed, case), outcome| {
                if let Some(why) = outcome.broken {
                    return Err(environment_error!("{why}, with seed {seed}"));
                }
                if outcome.case.status == Status::Failed {
                    alarms.push(format!("capsize run --filter {} --seed {seed}", case.id()));
                }
                Ok(())
            },
        )?;
        let mut page = output::page();
        page.line(&format!("{} seeds of the rules as they should be: {} alarms", runs.len(), alarms.len()));
        for alarm in &alarms {
            page.command("  ", alarm);
        }
        output::show(page)?;
        Ok(alarms.is_empty())
    }
}

/// Prints the mutants with the scenarios and guarantees that notice them, in every form.
fn list(mutants: &[Mutant]) -> Result<ExitStatus, CommandError> {
    for mutant in mutants {
        let forms = mutant.forms().map(|(case, guarantee)| format!(", {guarantee} in {case}"));
        let forms: String = forms.collect();
        show(&mutant.id, &format!("{} in {}{forms}", mutant.guarantee, mutant.case))?;
    }
    Ok(ExitStatus::Conforms)
}

/// Runs the case that `mutant` names, and then all others until a guarantee is violated.
fn noticed(mutant: &Mutant, cases: &[Case], seed: Seed) -> Result<Option<MutantDetection>, CommandError> {
    let (first, rest): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.id() == mutant.case);
    let mut by_a_step = None;
    for case in first.into_iter().chain(rest) {
        match put_to(mutant, case, seed).map_err(|why| environment_error!("{why}"))? {
            Some(caught) if !caught.guarantees.is_empty() => return Ok(Some(caught)),
            Some(caught) => drop(by_a_step.get_or_insert(caught)),
            None => {}
        }
    }
    Ok(by_a_step)
}

/// The reference with `mutant` in the place of its rules.
pub(crate) fn spoiled(mutant: &Mutant) -> Box<dyn Implementation> {
    match mutant.rules() {
        WrongRules::Clusters(rules) => Box::new(Reference::deciding_by(rules)),
        WrongRules::Nodes(rules) => Box::new(NodeReference::deciding_by(rules)),
    }
}

/// Runs `case` with `mutant` in the place of the reference; `None` if the case passes.
///
/// # Errors
/// What went wrong with the run itself, so that it says nothing about the mutant.
pub fn put_to(mutant: &Mutant, case: &Case, seed: Seed) -> Result<Option<MutantDetection>, String> {
    let profile = targets::find(mutant.profile).map_err(|error| error.to_string())?;
    let implementation = spoiled(mutant);
    let target = Target { profile: &profile, implementation: &*implementation };
    let outcome = run_case(case, target, seed, Keep::Nothing);
    if let Some(why) = outcome.broken {
        return Err(format!("{}: {why}", mutant.id));
    }
    if outcome.case.status != Status::Failed {
        return Ok(None);
    }
    let component = outcome.case.judgement.as_ref().and_then(guilty::first_component);
    let verdicts = outcome.case.judgement.map(|judgement| judgement.verdicts).unwrap_or_default();
    let violated = verdicts.iter().filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
    let guarantees = violated.map(|verdict| verdict.spec.id).collect();
    Ok(Some(MutantDetection { case: case.id(), guarantees, component }))
}

/// Prints a title, and what belongs to it below.
pub(crate) fn show(title: &str, text: &str) -> Result<(), CommandError> {
    let mut page = output::page();
    page.line(title);
    page.wrapped("    ", text);
    output::show(page)
}

/// The results so far.
#[derive(Default)]
struct Tally {
    mutants: usize,
    caught: usize,
    by_a_guarantee: usize,
    guarantees: BTreeSet<&'static str>,
}

impl Tally {
    /// Prints which guarantee noticed a mutant.
    fn report(&mut self, mutant: &Mutant, found: Option<MutantDetection>) -> Result<(), CommandError> {
        self.mutants += 1;
        let Some(MutantDetection { case, guarantees, .. }) = found else {
            return show(&format!("✗ {}", mutant.id), "nobody notices");
        };
        self.caught += 1;
        self.by_a_guarantee += usize::from(!guarantees.is_empty());
        let by = if guarantees.is_empty() { "a step".to_owned() } else { guarantees.join(", ") };
        self.guarantees.extend(guarantees);
        show(&format!("✓ {}", mutant.id), &format!("{by} in {case}"))
    }

    /// Prints the totals; for `all` mutants, also the guarantees that noticed none.
    fn sum_up(&self, all: bool) -> Result<ExitStatus, CommandError> {
        let Self { mutants, caught, by_a_guarantee, guarantees } = self;
        let mut page = output::page();
        page.line(&format!(
            "{mutants} mutants: {by_a_guarantee} caught by a guarantee, {} by a step only, {} by nobody",
            caught - by_a_guarantee,
            mutants - caught
        ));
        if all {
            let idle = Catalogue::specs().into_iter().map(|spec| spec.id);
            let idle: Vec<&str> = idle.filter(|id| !guarantees.contains(id)).collect();
            page.line(&format!("guarantees that noticed none: {}", idle.join(", ")));
        }
        output::show(page)?;
        Ok(if caught == mutants { ExitStatus::Conforms } else { ExitStatus::Violated })
    }
}
