//! Runs every mutant as a trial, and again with forms of workloads.
//! The case must notice the mutant by a violation of its guarantee.

use std::sync::{Arc, OnceLock};

use capsize::guilty::guilty;
use capsize::mutants::{MutantDetection, put_to};
use capsize_clock::Seed;
use capsize_mutants::Mutant;
use capsize_runner::scenario::Case;
use libtest_mimic::{Failed, Trial};

/// One pair of mutant and form in so many is tried, unless all pairs are requested.
const SAMPLED: usize = 4;

/// A test for each mutant, and for a sample of the pairs of mutants and forms, or for all pairs.
pub(crate) fn trials(cases: Vec<Case>, are_all: bool) -> Vec<Trial> {
    let mut pairs = 0;
    let suite = Arc::new(Suite::of(cases));
    let trials = suite.mutants.iter().enumerate().flat_map(|(number, mutant)| {
        let mut of_forms: Vec<_> = mutant.forms().collect();
        of_forms.retain(|_| {
            pairs += 1;
            are_all || pairs % SAMPLED == 0
        });
        let of_suite = Arc::clone(&suite);
        let own =
            Trial::test(format!("mutants::{}", mutant.id), move || of_suite.notices_in_its_case(number));
        let forms = of_forms.into_iter().map(|(id, guarantee)| {
            let of_suite = Arc::clone(&suite);
            let form = id.strip_prefix("forms/").unwrap_or(&id);
            Trial::test(format!("mutants::{}::{form}", suite.mutants[number].id), move || {
                notices(of_suite.run(number, &id), &id, guarantee)
            })
        });
        std::iter::once(own).chain(forms).collect::<Vec<_>>()
    });
    let of_suite = Arc::clone(&suite);
    let name = "mutants::the_evidence_names_the_guilty_component_of_nine_mutants_in_ten";
    // The longest trial begins first.
    let chains = Trial::test(name, move || of_suite.names_the_guilty());
    std::iter::once(chains).chain(trials).collect()
}

/// The percentage of the mutants for which the first violation has to name the guilty component.
const NAMED: usize = 90;

/// The result of a run; `None` if the case passes.
type Run = Result<Option<MutantDetection>, String>;

/// The mutants, the cases, and what each mutant does in its own case, which two trials look at.
struct Suite {
    mutants: Vec<Mutant>,
    cases: Vec<Case>,
    own: Vec<OnceLock<Run>>,
}

impl Suite {
    fn of(cases: Vec<Case>) -> Self {
        let mutants = capsize_mutants::all();
        let own = mutants.iter().map(|_| OnceLock::new()).collect();
        Self { mutants, cases, own }
    }

    fn run(&self, number: usize, id: &str) -> Run {
        let case = self.cases.iter().find(|case| case.id() == id);
        put_to(&self.mutants[number], case.ok_or_else(|| format!("there is no case {id}"))?, Seed(1))
    }

    fn own(&self, number: usize) -> Run {
        self.own[number].get_or_init(|| self.run(number, self.mutants[number].case)).clone()
    }

    fn notices_in_its_case(&self, number: usize) -> Result<(), Failed> {
        notices(self.own(number), self.mutants[number].case, self.mutants[number].guarantee)
    }

    fn names_the_guilty(&self) -> Result<(), Failed> {
        let (mut all, mut wrong) = (0, Vec::new());
        for (number, mutant) in self.mutants.iter().enumerate() {
            let guilty = guilty(mutant);
            let is_rule = |name: &&&str| !["behaviour", "node_behaviour"].contains(*name);
            if guilty.is_empty() && mutant.overridden.iter().any(|name| is_rule(&name)) {
                return Err(format!("no controller is known for the rules of {}", mutant.id).into());
            }
            if guilty.is_empty() {
                continue;
            }
            all += 1;
            let named = self.own(number)?.and_then(|caught| caught.component);
            if !named.is_some_and(|component| guilty.contains(&component)) {
                wrong.push(format!("{}: {named:?}", mutant.id));
            }
        }
        if (all - wrong.len()) * 100 >= all * NAMED {
            return Ok(());
        }
        Err(format!("{} of {all} mutants: {}", wrong.len(), wrong.join("; ")).into())
    }
}

fn notices(run: Run, id: &str, guarantee: &str) -> Result<(), Failed> {
    let caught = run?.ok_or_else(|| format!("{id} does not notice"))?;
    if caught.guarantees.contains(&guarantee) {
        return Ok(());
    }
    Err(format!("{id} violates {:?}, expected {guarantee}", caught.guarantees).into())
}
