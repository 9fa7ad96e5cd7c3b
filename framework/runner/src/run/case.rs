//! Runs one case from start to verdicts, in virtual time, or in real time with outside programs.

use std::borrow::Cow;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use capsize_clock::{Seed, Simulation, StopSignal, live, simulate};
use capsize_clusters::Sockets;
use capsize_sorted::CollectSorted;
use serde_json::{Value, json};

use super::controllers::Controllers;
use super::driver::{Driver, FailedStep, StepError, livelock_error};
use super::fault_permission::FaultPermission;
use super::implementation::{BreakdownReport, Environment, Implementation, ImplementationInfo};
use super::log::{Log, Until};
use super::playground::View;
use super::recorder::Recorder;
use super::requirements::missing_requirement;
use super::run_state::RunState;
use super::testbed::start_testbed;
use crate::chaos::Coverage;
use crate::scenario::Case;
use capsize_history::Mark;
use capsize_history::dialect::DialectKind;
use capsize_judge::judge::Judgement;
use capsize_judge::profile::{Feature, Level, Profile, ProfileError, Zones};
use capsize_report::{Failure, Status, TimelineBuilder};

/// The subject of a run: an implementation and the profile with its promises.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The promises of the implementation: features, timings and zones.
    pub profile: &'a Profile,
    /// How the implementation is started.
    pub implementation: &'a dyn Implementation,
}

/// The part of a run that its [`Outcome`] contains besides the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing else.
    Nothing,
    /// The history.
    History,
    /// The history and its time line.
    Timeline,
}

/// The result of one case.
pub struct Outcome {
    /// The part of the result that reports show.
    pub case: capsize_report::Case,
    /// The history, if the caller asked for it.
    pub history: Option<Vec<u8>>,
    /// The time line, if the caller asked for it.
    pub timeline: Option<TimelineBuilder>,
    /// Which faults began in which situations.
    pub coverage: Coverage,
    /// Why the run itself is broken, if it is. The case says nothing about the target then.
    pub broken: Option<String>,
}

/// The time for which the recording goes on after the last step.
/// The effects of that step are recorded in this time.
const AFTERMATH: Duration = Duration::from_secs(1);

/// With this many members and nodes or more, a second thread judges the entries.
const MANY: usize = 500;

/// Runs `case` against `target`.
/// The case uses its own seed, or one derived from `seed` and its id.
#[must_use]
pub fn run_case(case: &Case, target: Target<'_>, seed: Seed, keep: Keep) -> Outcome {
    run_case_until(case, target, seed, (keep, Until::End))
}

/// Runs `case` as [`run_case`] does, but stops at the end that `how` gives.
/// Later events are not judged.
#[must_use]
pub fn run_case_until(case: &Case, target: Target<'_>, seed: Seed, how: (Keep, Until)) -> Outcome {
    if let Some(missing) = missing_requirement(case, target) {
        let status = Status::Skipped(format!("the target lacks {missing}"));
        return outcome_of(case, status, None, None);
    }
    let profile = match with_flags(case, with_settings_of(case, target.profile)) {
        Ok(profile) => profile,
        Err(why) => return broken(case, &why),
    };
    let target = Target { profile: &profile, ..target };
    let own_seed = case.scenario.seed.map_or_else(|| seed.derive(&case.id()), Seed);
    // A panic is a defect of Capsize. It must not end the other cases.
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let info = target.implementation.info();
        if let Some(signal) = info.interrupt.signal() {
            return Err(ended_by(signal));
        }
        let main = |run| run_in(run, case, target, &info, how);
        if info.is_live() {
            live(own_seed, 1.0, main).map_err(|error| error.to_string())
        } else {
            Ok(simulate(own_seed, main))
        }
    }));
    match ran.unwrap_or_else(|_| Err("the run panicked, which is a defect of Capsize".into())) {
        Ok(ran) => finish(case, ran),
        Err(why) => broken(case, &why),
    }
}

/// The outcome of a case whose run is broken.
fn broken(case: &Case, why: &dyn Display) -> Outcome {
    let broken = Some(format!("{}: {why}", case.id()));
    Outcome { broken, ..outcome_of(case, Status::Failed, None, None) }
}

fn ended_by(signal: StopSignal) -> String {
    format!("the run was ended by {}", signal.name())
}

/// The profile with the flags that the case sets.
fn with_flags<'a>(case: &Case, profile: Cow<'a, Profile>) -> Result<Cow<'a, Profile>, ProfileError> {
    let Some(cluster) = &case.scenario.cluster else { return Ok(profile) };
    let flags = cluster.value.flags.iter().map(|(name, value)| (name.clone(), value.value.into()));
    let flags = Value::Object(flags.collect_sorted());
    profile.into_owned().overlaid(&[("seconds".to_owned(), flags)].collect_sorted()).map(Cow::Owned)
}

/// The profile with the timings and the features that the scenario sets.
pub(super) fn with_settings_of<'a>(case: &Case, profile: &'a Profile) -> Cow<'a, Profile> {
    let mut profile = Cow::Borrowed(profile);
    for (name, length) in &case.scenario.timings {
        if let Some(length) = length.value.resolve(&profile.timings) {
            profile.to_mut().timings.set(name, length);
        }
    }
    for feature in &case.scenario.off {
        profile.to_mut().features.remove(feature);
    }
    if !case.scenario.promises.is_empty() {
        profile.to_mut().features.extend(&case.scenario.promises);
    }
    profile
}

/// The result of a run.
struct RunResult {
    judgement: Option<Judgement>,
    history: Option<Vec<u8>>,
    timeline: Option<TimelineBuilder>,
    failure: Option<Failure>,
    coverage: Coverage,
    broken: Option<String>,
}

async fn run_in(
    run: Simulation,
    case: &Case,
    target: Target<'_>,
    info: &ImplementationInfo,
    (keep, until): (Keep, Until),
) -> RunResult {
    let members = case.scenario.fleet.names().count();
    let nodes = case.scenario.cluster.as_ref().map_or(0, |shape| shape.value.places().count());
    let state = RunState::new(target.profile.clone(), members, keep, until);
    // Steps read the state after every change. With few machines, waiting for the thread would cost more than it saves.
    let on_thread = until == Until::End && members + nodes >= MANY;
    let log = Log::new(run.clock, state, on_thread);
    log.mark(header(case, target.profile));
    let view = || View { log: log.clone(), clock: run.clock, speed: 1.0 };
    let _in_progress = info.is_live().then(|| info.in_progress.begin(case.id(), view()));
    let (failure, broken) = match drive(run, case, target, info, &log).await {
        Ok(()) => (None, log.state(|state| state.broken.clone())),
        Err(EarlyEnd::Failed(failure)) => (Some(*failure), None),
        Err(EarlyEnd::Broken(why)) => (None, Some(why)),
    };
    let coverage = log.state(|state| state.coverage.clone());
    let timeline = log.state(|state| state.timeline.take());
    let (judgement, history) = log.state(RunState::finish).unzip();
    RunResult { judgement, history: history.flatten(), timeline, failure, coverage, broken }
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
    let testbed = start_testbed(run, case, target, info).await.map_err(at_start)?;
    let fleet = &testbed.fleet;
    let installed = fleet.control_plane().install(implementation.definitions());
    installed.map_err(|error| at_start(StepError::Broken(error.to_string())))?;
    let record = || async {
        let recorder = Recorder::start(fleet, run.clock, &profile.dialect, log.clone()).await;
        recorder.map_err(|why| at_start(StepError::Broken(why)))
    };
    // Nodes are ready from the beginning on. A program that is still starting owes them nothing.
    let begins_late = info.is_outside && testbed.cluster.is_some();
    let mut recorder = if begins_late { None } else { Some(record().await?) };
    let sockets = if info.is_outside { Some(Sockets::open(fleet).await) } else { None };
    let sockets = sockets.transpose().map_err(|error| at_start(StepError::Broken(error.to_string())))?;
    let sockets = sockets.as_ref();
    let (id, breakdown) = (case.id(), BreakdownReport::default());
    let environment = Environment {
        clock: run.clock,
        fleet,
        timings: &profile.timings,
        zones: profile.zones.as_ref(),
        sockets,
        off: &case.scenario.off,
        is_rival: false,
        case: &id,
        breakdown: &breakdown,
    };
    let controllers = Controllers::new(implementation, environment).await;
    let controllers = controllers.map_err(|error| at_start(StepError::Broken(error.to_string())))?;
    if begins_late {
        recorder = Some(record().await?);
    }
    let _recorder = recorder;
    let mut driver = Driver::new((run, case), profile, &testbed, controllers, log.clone());
    driver.permission = FaultPermission::of(info.provider.clone(), log.clone());
    driver.sockets = sockets;
    driver.tolerated = default_toleration(profile);
    let steps = async {
        driver.join_members().await.map_err(at_start)?;
        let steps = driver.run(&case.scenario).await;
        let steps = steps.map_err(|(step, error): FailedStep<'_>| end(log, case.place(Some(step)), error));
        if steps.is_ok() {
            log.mark([("step".to_owned(), Value::from("final"))].collect_sorted());
        }
        run.clock.sleep(AFTERMATH).await;
        if steps.is_err() {
            // This mark moves the judge forward to the present: a deadline that passed by now is a violation.
            log.mark([("step".to_owned(), Value::from("over"))].collect_sorted());
        }
        steps
    };
    tokio::select! {
        biased;
        steps = steps => steps,
        () = log.decided() => Ok(()),
        why = breakdown.wait() => Err(EarlyEnd::Broken(why)),
        // An interrupt counts only from here on: requests that start the fleet cannot be taken back.
        signal = info.interrupt.wait() => Err(EarlyEnd::Broken(ended_by(signal))),
        () = log.livelock() => Err(at_start(livelock_of(log))),
    }
}

/// The error of a case in which controllers write without end.
fn livelock_of(log: &Log) -> StepError {
    livelock_error(log.state(|state| state.livelock_entries()).unwrap_or_default())
}

/// Records the step error and converts it into the end of the case.
fn end(log: &Log, place: String, error: StepError) -> EarlyEnd {
    match error {
        StepError::Broken(why) => EarlyEnd::Broken(why),
        StepError::Unmet { expected, seen } => {
            let failure = failure(log, place, expected, seen);
            let (expected, seen) = (("expected", &*failure.expected), ("seen", &*failure.seen));
            let fields = [("step", "failed"), expected, seen, ("place", &failure.place)];
            log.mark(fields.map(|(key, value)| (key.to_owned(), Value::from(value))).collect_sorted());
            EarlyEnd::Failed(Box::new(failure))
        }
    }
}

pub(super) fn default_toleration(profile: &Profile) -> Duration {
    // With nodes as members, the API server adds default tolerations to pods.
    if profile.has(Feature::DefaultTolerations) || profile.dialect == DialectKind::Nodes {
        profile.timings.not_ready_toleration_seconds.max(profile.timings.unreachable_toleration_seconds)
    } else {
        Duration::ZERO
    }
}

/// The first mark of a history: the scenario, the implementation and its timings.
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
        "evictionEvents": profile.dialect == DialectKind::Karmada,
    });
    let mut header = header.as_object().cloned().unwrap_or_default();
    if !case.scenario.off.is_empty() {
        header.insert("off".to_owned(), json!(case.scenario.off));
    }
    if !case.scenario.promises.is_empty() {
        header.insert("promises".to_owned(), json!(case.scenario.promises));
    }
    header
}

fn failure(log: &Log, place: String, expected: String, seen: String) -> Failure {
    let (at, faults) = log.look(|world, _| (log.now().max(world.now), world.faults.clone()));
    Failure { expected, place, seen, at, timeline: log.state(|state| state.recent()), faults }
}

fn finish(case: &Case, ran: RunResult) -> Outcome {
    let conforms = ran.judgement.as_ref().is_some_and(Judgement::conforms);
    let passed = conforms && ran.failure.is_none() && ran.broken.is_none();
    let status = Status::of(passed, ran.judgement.as_ref());
    let mut outcome = outcome_of(case, status, ran.judgement, ran.failure);
    outcome.history = ran.history;
    outcome.timeline = ran.timeline;
    outcome.coverage = ran.coverage;
    outcome.broken = ran.broken.map(|why| format!("{}: {why}", case.id()));
    outcome
}

fn outcome_of(
    case: &Case,
    status: Status,
    judgement: Option<Judgement>,
    failure: Option<Failure>,
) -> Outcome {
    let dialect = match &case.scenario.cluster {
        Some(_) => DialectKind::Nodes,
        None => judgement.as_ref().map(|judgement| judgement.dialect.clone()).unwrap_or_default(),
    };
    let level = Level::of(&case.scenario.features, &dialect);
    let case = capsize_report::Case {
        group: case.group.clone(),
        name: case.scenario.scenario.value.clone(),
        level: Some(level),
        status,
        span: judgement.as_ref().map(|judgement| judgement.span).unwrap_or_default(),
        judgement,
        failures: failure.into_iter().collect(),
        replay: String::new(),
        wall: None,
    };
    Outcome { case, history: None, timeline: None, coverage: Coverage::default(), broken: None }
}
