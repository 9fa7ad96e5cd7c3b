//! Runs every mutant as a trial, and again with each form of workload: the case notices it by a violation of its guarantee.

use std::process::ExitCode;
use std::sync::Arc;

use capsize::guilty::{guilty, named};
use capsize::mutants::put_to;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_mutants::Mutant;
use capsize_runner::scenario::Case;
use libtest_mimic::{Arguments, Failed, Trial};

/// One pair of mutant and form in so many is tried, unless a filter or `ALL_FORMS` asks for all pairs.
const SAMPLED: usize = 4;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let are_all = arguments.filter.is_some() || std::env::var_os("ALL_FORMS").is_some();
    let mut pairs = 0;
    // Reading all cases takes longer than running one of them.
    let cases = Arc::new(conformance::cases().expect("the suite has no mistakes"));
    let trials = capsize_mutants::all().into_iter().flat_map(|mutant| {
        let mutant = Arc::new(mutant);
        let own = (mutant.case.to_owned(), mutant.guarantee);
        let mut of_forms: Vec<_> = mutant.forms().collect();
        of_forms.retain(|_| {
            pairs += 1;
            are_all || pairs % SAMPLED == 0
        });
        let cases = Arc::clone(&cases);
        std::iter::once(own).chain(of_forms).map(move |(id, guarantee)| {
            let (mutant, cases) = (Arc::clone(&mutant), Arc::clone(&cases));
            let form = id.strip_prefix("forms/").map(|form| format!("::{form}")).unwrap_or_default();
            Trial::test(format!("{}{form}", mutant.id), move || trial(&mutant, &cases, &id, guarantee))
        })
    });
    let all = Arc::clone(&cases);
    let name = "the_evidence_names_the_guilty_component_of_nine_mutants_in_ten";
    // The longest trial begins first.
    let chains = Trial::test(name, move || chains(&all));
    let trials = std::iter::once(chains).chain(trials).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The percentage of the mutants for which the first violation has to name the guilty component.
const NAMED: usize = 90;

fn chains(cases: &[Case]) -> Result<(), Failed> {
    let (mut all, mut wrong) = (0, Vec::new());
    for mutant in capsize_mutants::all() {
        let guilty = guilty(&mutant);
        let is_rule = |name: &&&str| !["behaviour", "node_behaviour"].contains(*name);
        if guilty.is_empty() && mutant.overridden.iter().any(|name| is_rule(&name)) {
            return Err(format!("no controller is known for the rules of {}", mutant.id).into());
        }
        if guilty.is_empty() {
            continue;
        }
        let case = cases.iter().find(|case| case.id() == mutant.case).ok_or("there is no such case")?;
        all += 1;
        let named = named(&mutant, case, Seed(1))?;
        if !named.is_some_and(|component| guilty.contains(&component)) {
            wrong.push(format!("{}: {named:?}", mutant.id));
        }
    }
    if (all - wrong.len()) * 100 >= all * NAMED {
        return Ok(());
    }
    Err(format!("{} of {all} mutants: {}", wrong.len(), wrong.join("; ")).into())
}

fn trial(mutant: &Mutant, cases: &[Case], id: &str, guarantee: &str) -> Result<(), Failed> {
    let case = cases.iter().find(|case| case.id() == id).ok_or_else(|| format!("there is no case {id}"))?;
    let profile = targets::find(mutant.profile)?;
    let caught = put_to(mutant, case, &profile, Seed(1))?;
    let caught = caught.ok_or_else(|| format!("{id} does not notice"))?;
    if caught.guarantees.contains(&guarantee) {
        return Ok(());
    }
    Err(format!("{id} violates {:?}, expected {guarantee}", caught.guarantees).into())
}
