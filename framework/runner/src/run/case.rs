//! One case from its start to its verdicts: in virtual time, or in real time where anything of it runs outside.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use capsize_clock::{Asked, Seed, Simulation, live, simulate};
use capsize_clusters::Sockets;
use serde_json::{Map, Value, json};

use super::controllers::Controllers;
use super::driver::{Driver, FailedStep, StepError, livelock_error};
use super::fault_permission::FaultPermission;
use super::implementation::{Environment, Implementation, ImplementationInfo};
use super::log::{Log, Until};
use super::recorder::Recorder;
use super::requirements::missing_requirement;
use super::run_state::RunState;
use super::testbed::{Testbed, start_testbed};
use crate::chaos::Coverage;
use crate::scenario::Case;
use capsize_history::Mark;
use capsize_history::dialect::Speaks;
use capsize_judge::judge::Judgement;
use capsize_judge::profile::{Feature, Profile, ProfileError, Zones};
use capsize_report::{Failure, Status};

/// What is run: an implementation, and what it promises.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// What it promises.
    pub profile: &'a Profile,
    /// How it is started.
    pub implementation: &'a dyn Implementation,
}

/// What came of a case.
pub struct Outcome {
    /// For the report.
    pub case: capsize_report::Case,
    /// The history, if it was asked for.
    pub history: Option<Vec<u8>>,
    /// What was tried.
    pub coverage: Coverage,
    /// What went wrong with the run itself, so that the case says nothing about the target.
    pub broken: Option<String>,
}

/// After the last step, what is under way at that instant is still recorded.
const AFTERMATH: Duration = Duration::from_secs(1);

/// From so many machines on what is recorded takes long to judge: that is done on a thread of its own.
const MANY: usize = 500;

/// Runs `case` against `target` on an embedded fleet, with its own seed, or one that comes from `seed` and its id.
/// With `keep`, the history is handed back.
#[must_use]
pub fn run_case(case: &Case, target: Target<'_>, seed: Seed, keep: bool) -> Outcome {
    run_case_until(case, target, seed, (keep, Until::End))
}

/// As [`run_case`], but no longer than is asked for: what comes after that is not judged.
#[must_use]
pub fn run_case_until(case: &Case, target: Target<'_>, seed: Seed, how: (bool, Until)) -> Outcome {
    if let Some(missing_requirement) = missing_requirement(case, target) {
        return outcome_without_run(
            case,
            Status::Skipped(format!("the target lacks {missing_requirement}")),
            None,
            None,
        );
    }
    let profile = match with_flags(case, with_settings_of(case, target.profile)) {
        Ok(profile) => profile,
        Err(why) => {
            let mut outcome = outcome_without_run(case, Status::Failed, None, None);
            outcome.broken = Some(format!("{}: {why}", case.id()));
            return outcome;
        }
    };
    let target = Target { profile: &profile, ..target };
    let own_seed = case.scenario.seed.map_or_else(|| seed.derive(&case.id()), Seed);
    // A panic is a defect of Capsize: it must not take the other cases along.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let info = target.implementation.info();
        if let Some(asked) = info.interrupt.asked() {
            return Err(ended_by(asked));
        }
        let main = |run| run_in(run, case, target, &info, how);
        if info.is_live() {
            live(own_seed, 1.0, main).map_err(|error| error.to_string())
        } else {
            Ok(simulate(own_seed, main))
        }
    }));
    match ran.unwrap_or_else(|_| Err("the run panicked".into())) {
        Ok(ran) => finish(case, ran),
        Err(why) => {
            let mut outcome = outcome_without_run(case, Status::Failed, None, None);
            outcome.broken = Some(format!("{}: {why}", case.id()));
            outcome
        }
    }
}

fn ended_by(asked: Asked) -> String {
    format!("ended by {}", asked.name())
}

/// The profile with the flags that the case asks for.
fn with_flags<'a>(case: &Case, profile: Cow<'a, Profile>) -> Result<Cow<'a, Profile>, ProfileError> {
    let Some(cluster) = &case.scenario.cluster else { return Ok(profile) };
    let flags = cluster.value.flags.iter().map(|(name, value)| (name.clone(), value.value.into()));
    let flags = Value::Object(flags.collect());
    profile.into_owned().overlaid(&Map::from_iter([("seconds".to_owned(), flags)])).map(Cow::Owned)
}

/// The target as the scenario sets it.
fn with_settings_of<'a>(case: &Case, profile: &'a Profile) -> Cow<'a, Profile> {
    let mut profile = Cow::Borrowed(profile);
    for (name, length) in &case.scenario.timings {
        if let Some(length) = length.value.resolve(&profile.timings) {
            profile.to_mut().timings.set(name, length);
        }
    }
    for feature in &case.scenario.off {
        profile.to_mut().features.remove(feature);
    }
    profile
}

/// What a simulation hands back.
struct RunResult {
    judgement: Option<Judgement>,
    history: Option<Vec<u8>>,
    failure: Option<Failure>,
    coverage: Coverage,
    broken: Option<String>,
}

async fn run_in(
    run: Simulation,
    case: &Case,
    target: Target<'_>,
    info: &ImplementationInfo,
    (keep, until): (bool, Until),
) -> RunResult {
    let members = case.scenario.fleet.names().count();
    let nodes = case.scenario.cluster.as_ref().map_or(0, |shape| shape.value.places().count());
    let state = RunState::new(target.profile.clone(), members, keep, until);
    // Who waits for something that is seen asks at every change: of a few machines that is most of the time.
    let on_thread = until == Until::End && members + nodes >= MANY;
    let log = Log::new(run.clock, state, on_thread);
    log.mark(header(case, target.profile));
    let (failure, broken) = match drive(run, case, target, info, &log).await {
        Ok(()) => (None, log.state().broken.clone()),
        Err(EarlyEnd::Failed(failure)) => (Some(*failure), None),
        Err(EarlyEnd::Broken(why)) => (None, Some(why)),
    };
    let coverage = log.state().coverage.clone();
    let (judgement, history) = log.state().finish().unzip();
    RunResult { judgement, history: history.flatten(), failure, coverage, broken }
}

/// Why a case ended early.
enum EarlyEnd {
    Failed(Box<Failure>),
    Broken(String),
}

/// Starts the fleet and the target, runs the steps, and stops everything.
async fn drive(
    run: Simulation,
    case: &Case,
    target: Target<'_>,
    info: &ImplementationInfo,
    log: &Log,
) -> Result<(), EarlyEnd> {
    let Target { profile, implementation } = target;
    let at_start = |error| end(log, case.place(None), error);
    let Testbed { fleet, cluster, start_up } =
        start_testbed(run, case, target, info).await.map_err(at_start)?;
    let installed = fleet.control_plane().install(implementation.definitions());
    installed.map_err(|error| at_start(StepError::Broken(error.to_string())))?;
    let recorder = Recorder::start(&fleet, run.clock, profile.dialect, log.clone()).await;
    let _recorder = recorder.map_err(|why| at_start(StepError::Broken(why)))?;
    let sockets = if info.is_outside { Some(Sockets::open(&fleet).await) } else { None };
    let sockets = sockets.transpose().map_err(|error| at_start(StepError::Broken(error.to_string())))?;
    let sockets = sockets.as_ref();
    let (timings, zones) = (&profile.timings, profile.zones.as_ref());
    let off = &case.scenario.off;
    let environment =
        Environment { clock: run.clock, fleet: &fleet, timings, zones, sockets, off, is_rival: false };
    let controllers = Controllers::new(implementation, environment).await;
    let mut driver = Driver {
        fleet: &fleet,
        cluster: cluster.as_ref(),
        scenario: &case.scenario,
        clock: run.clock,
        client: fleet.control_plane().client(),
        log: log.clone(),
        profile,
        controllers: controllers.map_err(|error| at_start(StepError::Broken(error.to_string())))?,
        permission: FaultPermission::of(info.provider.clone(), log.clone()),
        sockets,
        tolerated: default_toleration(profile),
        start_up,
        aliases: BTreeMap::new(),
        wanted_pods: BTreeMap::new(),
        faults: Vec::new(),
        broken_machines: Vec::new(),
        flapping: BTreeMap::new(),
        powered_off: Vec::new(),
        leftovers_allowed: BTreeSet::new(),
        phase: run.seed.stream("phase"),
    };
    let steps = async {
        driver.join_members().await.map_err(at_start)?;
        let steps = driver.run(&case.scenario).await;
        let steps = steps.map_err(|(step, error): FailedStep<'_>| end(log, case.place(Some(step)), error));
        if steps.is_ok() {
            log.mark(Map::from_iter([("step".to_owned(), Value::from("final"))]));
        }
        run.clock.sleep(AFTERMATH).await;
        if steps.is_err() {
            // What was due meanwhile has not come.
            log.mark(Map::from_iter([("step".to_owned(), Value::from("over"))]));
        }
        steps
    };
    tokio::select! {
        biased;
        steps = steps => steps,
        () = log.decided() => Ok(()),
        // Not sooner: what is asked of others while a fleet starts cannot be called back.
        asked = info.interrupt.heard() => Err(EarlyEnd::Broken(ended_by(asked))),
        () = log.livelock() => Err(at_start(livelock_error(log.state().livelock_entries().unwrap_or_default()))),
    }
}

/// What a step that was missed makes of the case.
fn end(log: &Log, place: String, error: StepError) -> EarlyEnd {
    match error {
        StepError::Broken(why) => EarlyEnd::Broken(why),
        StepError::Unmet { expected, seen } => {
            let failure = failure(log, place, expected, seen);
            let said = [("step", "failed"), ("expected", &failure.expected), ("seen", &failure.seen)];
            log.mark(said.map(|(key, value)| (key.to_owned(), Value::from(value))).into_iter().collect());
            EarlyEnd::Failed(Box::new(failure))
        }
    }
}

fn default_toleration(profile: &Profile) -> Duration {
    // Where nodes are the members, the API server adds them to pods.
    if profile.has(Feature::DefaultTolerations) || profile.dialect == Speaks::Nodes {
        profile.timings.not_ready_toleration_seconds.max(profile.timings.unreachable_toleration_seconds)
    } else {
        Duration::ZERO
    }
}

/// The first mark: who is under test, by which times.
fn header(case: &Case, profile: &Profile) -> Mark {
    let mut seconds = profile.timings.seconds();
    seconds.extend(profile.zones.iter().flat_map(Zones::flags));
    let header = json!({
        "history": "v1",
        "scenario": case.scenario.scenario.value,
        "implementation": profile.implementation,
        "version": profile.version,
        "seconds": seconds,
        "automaticNoExecute": profile.has(Feature::AutomaticNoExecute),
        "clusterTaintPolicies": profile.has(Feature::ClusterTaintPolicies),
        "schedulers": ["default-scheduler"],
    });
    let mut header = header.as_object().cloned().unwrap_or_default();
    if !case.scenario.off.is_empty() {
        header.insert("off".to_owned(), json!(case.scenario.off));
    }
    header
}

fn failure(log: &Log, place: String, expected: String, seen: String) -> Failure {
    let (at, faults) = log.look(|world, _| (log.now().max(world.now), world.faults.clone()));
    Failure { expected, place, seen, at, timeline: log.state().recent(), faults }
}

fn finish(case: &Case, ran: RunResult) -> Outcome {
    let conforms = ran.judgement.as_ref().is_some_and(Judgement::conforms);
    let passed = conforms && ran.failure.is_none() && ran.broken.is_none();
    let status = if passed { Status::Passed } else { Status::Failed };
    let mut outcome = outcome_without_run(case, status, ran.judgement, ran.failure);
    outcome.history = ran.history;
    outcome.coverage = ran.coverage;
    outcome.broken = ran.broken.map(|why| format!("{}: {why}", case.id()));
    outcome
}

fn outcome_without_run(
    case: &Case,
    status: Status,
    judgement: Option<Judgement>,
    failure: Option<Failure>,
) -> Outcome {
    let case = capsize_report::Case {
        group: case.group.clone(),
        name: case.scenario.scenario.value.clone(),
        status,
        span: judgement.as_ref().map(|judgement| judgement.span).unwrap_or_default(),
        judgement,
        failures: failure.into_iter().collect(),
        replay: String::new(),
        wall: None,
    };
    Outcome { case, history: None, coverage: Coverage::default(), broken: None }
}
