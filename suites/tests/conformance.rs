//! The conformance suite against the reference, a trial for each scenario, and again with each release.
//!
//! A trial passes if the scenario's expectations are met and no guarantee is violated. A profile may lack features,
//! but every scenario is run with at least one profile.

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
    let profiles = shipped.iter().filter(|profile| profile.start == Start::Reference);
    // The definitions of an implementation take longer than many a case, so its cases share it.
    let shared =
        |profile| Arc::<dyn Implementation>::from(implementation(profile).expect("the profile is right"));
    let targets: Vec<_> = profiles.map(|profile| (profile, shared(profile))).collect();
    let has = |(profile, implementation): &(&Profile, Arc<dyn Implementation>), case: &Case| {
        missing_requirement(case, Target { profile, implementation: &**implementation }).is_none()
    };
    for case in &cases {
        assert!(targets.iter().any(|target| has(target, case)), "nobody can run {}", case.id());
    }
    let trials = targets.iter().flat_map(|target| {
        let profile = target.0;
        let prefix = profile.behaviour.as_ref().map(|_| format!("{}::", profile.name)).unwrap_or_default();
        let exercised = cases.iter().filter(move |case| has(target, case)).cloned();
        exercised.map(move |case| {
            let name = format!("{prefix}{}", case.id().replace('/', "::"));
            let (profile, implementation) = (profile.clone(), Arc::clone(&target.1));
            Trial::test(name, move || {
                trial(&case, Target { profile: &profile, implementation: &*implementation })
            })
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn trial(case: &Case, target: Target<'_>) -> Result<(), Failed> {
    let outcome = run_case(case, target, Seed(1), false);
    if let Some(broken) = outcome.broken {
        return Err(broken.into());
    }
    // A fault that a correct target never meets has no effect: the control plane sends no requests to members with an agent.
    if outcome.case.status != Status::Failed {
        Ok(())
    } else {
        Err(capsize_report::failure(&outcome.case, capsize_report::COLUMNS).into())
    }
}
