//! The suite against a small hub that speaks the API of Open Cluster Management.
//!
//! The hub is written for this test, and shares no code with the reference. It keeps all that the profile `ocm` asks for, so each
//! case that the profile has must pass, and those in `cases/hub`: the dialect performs the steps, and the guarantees judge what the
//! dialect reads. With each of its bugs, the hub must violate the guarantee that names the bug.

mod agent;
mod api;
mod bugs;
mod hub;
mod placements;
mod works;

use std::path::Path;

use capsize::targets;
use capsize_clock::Seed;
use capsize_judge::guarantee::Outcome;
use capsize_judge::profile::Profile;
use capsize_report::Status;
use capsize_runner::run::{
    Environment, Implementation, ImplementationInfo, Keep, RunningImplementation, StartFuture, Target,
    missing_requirement, run_case,
};
use capsize_runner::scenario::{self, Case};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use tokio::task::JoinSet;

use agent::Agent;
use api::{DECISIONS, MANAGED_CLUSTERS, PLACEMENTS, REPLICA_SETS, SET_BINDINGS, Server, WORKS};
use bugs::{BUGS, Bug};
use hub::Hub;

/// The hub and its agents, perhaps with a bug.
struct StandInHub(Option<Bug>);

impl Implementation for StandInHub {
    fn definitions(&self) -> Vec<Value> {
        let kinds = [MANAGED_CLUSTERS, PLACEMENTS, DECISIONS, SET_BINDINGS, WORKS, REPLICA_SETS];
        kinds.map(api::Kind::definition).to_vec()
    }

    fn info(&self) -> ImplementationInfo {
        ImplementationInfo { has_agents: true, ..ImplementationInfo::default() }
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        let mut tasks = JoinSet::new();
        let server = Server(environment.fleet.controllers_client());
        tasks.spawn(Hub { server, clock: environment.clock, bug: self.0 }.run());
        let started: RunningImplementation = Box::new(tasks);
        Box::pin(std::future::ready(Ok(started)))
    }

    fn start_agents<'a>(
        &'a self,
        environment: &'a Environment<'_>,
    ) -> StartFuture<'a, Option<RunningImplementation>> {
        let mut tasks = JoinSet::new();
        for member in environment.fleet.members() {
            let agent = Agent {
                cluster: member.name().to_owned(),
                hub: Server(environment.fleet.client_from(member)),
                member: Server(member.client_of_agent()),
                clock: member.clock(),
                bug: self.0,
            };
            tasks.spawn(agent.run_while_allowed(member.agent().clone()));
        }
        let started: RunningImplementation = Box::new(tasks);
        Box::pin(std::future::ready(Ok(Some(started))))
    }
}

/// A test for each case that the hub runs, and for each bug.
pub(crate) fn trials(all: &[Case]) -> Vec<Trial> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trials/stand_in_hub/cases");
    let own = scenario::find(&[own]).expect("the cases of the hub have no mistakes");
    let bugs = BUGS.iter().map(|(bug, guarantee, name)| {
        let case = all.iter().find(|case| case.id() == format!("leases/{name}")).expect("the case exists");
        let case = case.clone();
        Trial::test(format!("stand_in_hub::{} violates {guarantee}", bug.id()), move || {
            violates(&case, *bug, guarantee)
        })
    });
    let profile = profile();
    let target = Target { profile: &profile, implementation: &StandInHub(None) };
    let needs_leases = |case: &&Case| case.group == "leases";
    for case in all.iter().filter(needs_leases) {
        assert_eq!(missing_requirement(case, target), None, "no other test runs {}", case.id());
    }
    let suite = all.iter().filter(|case| missing_requirement(case, target).is_none()).cloned();
    let conforming = suite.chain(own.clone()).map(|case| {
        Trial::test(format!("stand_in_hub::{}", case.id().replace('/', "::")), move || passes(&case))
    });
    conforming.chain(bugs).collect()
}

fn profile() -> Profile {
    targets::find("ocm").expect("the profile comes with Capsize")
}

fn run(case: &Case, bug: Option<Bug>) -> Result<capsize_report::Case, Failed> {
    let target = Target { profile: &profile(), implementation: &StandInHub(bug) };
    let outcome = run_case(case, target, Seed(1), Keep::Nothing);
    outcome.broken.map_or(Ok(outcome.case), |broken| Err(broken.into()))
}

fn passes(case: &Case) -> Result<(), Failed> {
    let case = run(case, None)?;
    let failed = capsize_report::failure(&case, capsize_report::COLUMNS);
    if case.status == Status::Passed { Ok(()) } else { Err(format!("{:?}: {failed}", case.status).into()) }
}

/// The bug violates the guarantee, and the guarantee held without it.
fn violates(case: &Case, bug: Bug, guarantee: &str) -> Result<(), Failed> {
    let violated = |case: &capsize_report::Case| {
        let verdicts = case.judgement.iter().flat_map(|judgement| &judgement.verdicts);
        let violated = verdicts.filter(|verdict| matches!(verdict.outcome, Outcome::Violated { .. }));
        violated.map(|verdict| verdict.spec.id).collect::<Vec<_>>()
    };
    let violated = violated(&run(case, Some(bug))?);
    if violated.contains(&guarantee) { Ok(()) } else { Err(format!("violated are {violated:?}").into()) }
}
