//! The conformance suite against the reference implementation, a trial a scenario, and again as each release behaves. A
//! trial passes if the scenario's expectations are met and no guarantee is violated. A profile may lack features, but there
//! is no scenario for which all do.

use std::process::ExitCode;

use capsize::run::implementation;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_framework::dialect::Speaks;
use capsize_framework::report::{self, Status};
use capsize_framework::run::{Target, run_case};
use capsize_framework::scenario::Case;
use capsize_framework::target::{Profile, Start};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let cases = conformance::cases().expect("the suite has no mistakes");
    let shipped = targets::shipped();
    let profiles: Vec<_> = shipped.iter().filter(|profile| profile.start == Start::Reference).collect();
    let has = |profile: &Profile, case: &Case| {
        let speaks = (profile.dialect == Speaks::Nodes) == case.scenario.cluster.is_some();
        speaks && case.scenario.features.iter().all(|it| profile.has(*it))
    };
    for case in &cases {
        assert!(profiles.iter().any(|profile| has(profile, case)), "nobody can run {}", case.id());
    }
    let trials = profiles.iter().flat_map(|profile| {
        let prefix = profile.behaviour.as_ref().map(|_| format!("{}::", profile.name)).unwrap_or_default();
        let exercised = cases.iter().filter(move |case| has(profile, case)).cloned();
        exercised.map(move |case| {
            let name = format!("{prefix}{}", case.id().replace('/', "::"));
            let profile = (*profile).clone();
            Trial::test(name, move || trial(&case, &profile))
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(case: &Case, profile: &Profile) -> Result<(), Failed> {
    let implementation = implementation(profile).map_err(|_| "the profile is wrong")?;
    let target = Target { profile, implementation: &*implementation };
    let outcome = run_case(case, target, Seed(1), false);
    if let Some(broken) = outcome.broken {
        return Err(broken.into());
    }
    if outcome.case.status == Status::Passed { Ok(()) } else { Err(report::failure(&outcome.case).into()) }
}
