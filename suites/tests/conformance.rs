//! The conformance suite against the reference implementation, a trial a scenario. A trial passes if the scenario's
//! expectations are met and no guarantee is violated.

use std::process::ExitCode;

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_framework::report::{self, Status};
use capsize_framework::run::{Target, run_case};
use capsize_framework::scenario::Case;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let cases = conformance::cases().expect("the suite has no mistakes");
    let trials =
        cases.into_iter().map(|case| Trial::test(case.id().replace('/', "::"), move || trial(&case)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(case: &Case) -> Result<(), Failed> {
    let profile = targets::find("reference")?;
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let outcome = run_case(case, target, Seed(1), false);
    if let Some(broken) = outcome.broken {
        return Err(broken.into());
    }
    if outcome.case.status == Status::Passed { Ok(()) } else { Err(report::failure(&outcome.case).into()) }
}
