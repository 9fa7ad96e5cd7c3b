//! The conformance suite against the reference: a trial for each scenario, with the first profile that can run it.
//!
//! A trial passes if the scenario's expectations are met and no guarantee is violated. The test `reports` runs the suite
//! with each profile of the reference. The test `hub` runs the cases for members with leases, which the reference does not have.

use std::process::ExitCode;
use std::sync::Arc;

use capsize::run::implementation;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_judge::profile::{Profile, Start};
use capsize_report::Status;
use capsize_runner::run::{Implementation, Target, missing_requirement, run_case};
use capsize_runner::scenario::Case;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let cases = conformance::cases().expect("the suite has no mistakes");
    let shipped = targets::shipped();
    let mut profiles: Vec<_> =
        shipped.iter().filter(|profile| profile.start == Start::Reference).cloned().collect();
    // The profile of the newest behaviour comes first, and the releases after it.
    profiles.sort_by_key(|profile| profile.behaviour.is_some());
    // The definitions of an implementation take longer than many a case, so its cases share it.
    let shared = |profile: &Profile| {
        Arc::<dyn Implementation>::from(implementation(profile).expect("the profile is right"))
    };
    let targets: Vec<_> = profiles.into_iter().map(|profile| (shared(&profile), Arc::new(profile))).collect();
    let cases = cases.into_iter().filter(|case| case.group != "leases");
    let trials = cases.map(|case| {
        let able = targets.iter().find(|(implementation, profile)| {
            missing_requirement(&case, Target { profile, implementation: &**implementation }).is_none()
        });
        let (implementation, profile) =
            able.unwrap_or_else(|| panic!("no profile can run {}", case.id())).clone();
        Trial::test(case.id().replace('/', "::"), move || {
            trial(&case, Target { profile: &profile, implementation: &*implementation })
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(case: &Case, target: Target<'_>) -> Result<(), Failed> {
    let outcome = run_case(case, target, Seed(1), false);
    if let Some(broken) = outcome.broken {
        return Err(broken.into());
    }
    match outcome.case.status {
        Status::Passed => Ok(()),
        Status::NotExercised => Err("none of the faults had an effect".into()),
        _ => Err(capsize_report::failure(&outcome.case, capsize_report::COLUMNS).into()),
    }
}
