//! Runs every mutant as a trial: its case notices it by a violation of its guarantee.

use std::process::ExitCode;

use capsize::mutants::put_to;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_mutants::Mutant;
use capsize_runner::scenario::Case;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let cases = conformance::cases().expect("the suite has no mistakes");
    let trials = capsize_mutants::all().into_iter().map(|mutant| {
        let case = cases.iter().find(|case| case.id() == mutant.case).cloned();
        Trial::test(mutant.id.clone(), move || trial(&mutant, case))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(mutant: &Mutant, case: Option<Case>) -> Result<(), Failed> {
    let case = case.ok_or_else(|| format!("there is no case {}", mutant.case))?;
    let profile = targets::find(mutant.profile)?;
    let caught = put_to(mutant, &case, &profile, Seed(1))?;
    let caught = caught.ok_or_else(|| format!("{} does not notice", mutant.case))?;
    let guarantee = mutant.guarantee;
    if caught.guarantees.contains(&guarantee) {
        return Ok(());
    }
    Err(format!("{} violates {:?}, expected {guarantee}", mutant.case, caught.guarantees).into())
}
