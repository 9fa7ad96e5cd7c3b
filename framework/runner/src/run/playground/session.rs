//! Runs a fleet until nobody can send orders any more, and obeys the orders to break and heal.

use std::collections::BTreeMap;
use std::time::Duration;

use capsize_clock::Simulation;
use capsize_clusters::{Builder, Fleet};
use capsize_history::Observer;
use capsize_history::dialect::DialectKind;
use capsize_sorted::CollectSorted;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::forms::{self, RequestedFault};
use super::view::View;
use crate::run::case::{Keep, Target, default_toleration};
use crate::run::controllers::Controllers;
use crate::run::driver::{Driver, StepError};
use crate::run::faults::in_force::{InForce, SharedChanges};
use crate::run::implementation::{BreakdownReport, Environment};
use crate::run::log::{Log, Until};
use crate::run::recorder::Recorder;
use crate::run::run_state::RunState;
use crate::run::testbed::{Testbed, start_testbed_with};
use crate::scenario::Case;

/// A command of a person, and where the answer goes.
#[derive(Debug)]
pub struct Order {
    /// The command: `fault refuse member1`, `heal member1`, `heal` or `faults`.
    pub line: String,
    /// Receives what was done, or why it was not.
    pub answer: oneshot::Sender<Result<String, String>>,
}

/// A fleet for people.
pub struct Playground<'a> {
    /// The clock and the seed.
    pub run: Simulation,
    /// The scenario that describes the fleet. Its steps are performed first.
    pub case: &'a Case,
    /// The implementation.
    pub target: Target<'a>,
    /// Whether the history is kept, so that the view returns it.
    pub keeps_history: bool,
    /// Seconds of the fleet for each second of real time.
    pub speed: f64,
}

/// Why a fleet for people cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlaygroundError<E> {
    /// The caller could not open the fleet to others.
    #[error("{0}")]
    Open(E),
    /// The fleet, the recorder or the implementation did not start.
    #[error("{0}")]
    Start(String),
}

/// The longest time between an event and its recording, in real time.
/// The clock of a fleet advances in such ticks.
const OBSERVED_AFTER: f64 = 0.1;

/// The pause before a fault that cannot be undone yet is undone again, and how often that is tried.
const UNDO_AGAIN_AFTER: Duration = Duration::from_secs(1);
const UNDO_ATTEMPTS: usize = 60;

/// The faults in force.
#[derive(Default)]
struct Faults {
    in_force: BTreeMap<usize, InForce>,
    shared: SharedChanges,
    /// The member and the command of each fault.
    commands: BTreeMap<usize, (Option<String>, String)>,
    next: usize,
}

impl Playground<'_> {
    /// Starts the fleet, whose API servers `set_up` has configured.
    /// Calls `open` when the fleet is there and recorded, and obeys the orders from the channel that `open` returns,
    /// until all its senders are dropped.
    ///
    /// # Errors
    /// The fleet cannot be started, or `open` fails.
    pub async fn run<E>(
        self,
        set_up: impl Fn(Builder) -> Builder,
        open: impl AsyncFnOnce(&Fleet, View) -> Result<mpsc::Receiver<Order>, E>,
    ) -> Result<(), PlaygroundError<E>> {
        let log = self.log();
        let (testbed, _recorder) = self.start(&log, &set_up).await.map_err(PlaygroundError::Start)?;
        let view = View { log: log.clone(), clock: self.run.clock, speed: self.speed };
        let orders = open(&testbed.fleet, view).await.map_err(PlaygroundError::Open)?;
        self.conduct(&testbed, log, orders).await.map_err(PlaygroundError::Start)
    }

    /// Starts the fleet and its recorder.
    ///
    /// The type of the future is erased in this function and the next, because the code of a future is compiled
    /// again in each crate that polls a future of the original type.
    fn start<'s>(
        &'s self,
        log: &'s Log,
        set_up: &'s dyn Fn(Builder) -> Builder,
    ) -> LocalBoxFuture<'s, Result<(Testbed, Recorder), String>> {
        Box::pin(async move {
            let Self { run, case, target, .. } = *self;
            let Target { profile, implementation } = target;
            let testbed = start_testbed_with(run, case, target, (None, true), set_up).await;
            let testbed = testbed.map_err(sentence)?;
            let fleet = &testbed.fleet;
            let installed = fleet.control_plane().install(implementation.definitions());
            installed.map_err(|error| error.to_string())?;
            let recorder = Recorder::start(fleet, run.clock, &profile.dialect, log.clone()).await?;
            for on in ["control-plane"].into_iter().chain(fleet.members().map(capsize_clusters::Member::name))
            {
                let latency = Duration::from_secs_f64(OBSERVED_AFTER * self.speed);
                log.mark(Observer { latency, ..Observer::exact(on) }.mark());
            }
            Ok((testbed, recorder))
        })
    }

    /// Starts the implementation, performs the steps of the scenario, and obeys `orders`.
    fn conduct<'s>(
        &'s self,
        testbed: &'s Testbed,
        log: Log,
        orders: mpsc::Receiver<Order>,
    ) -> LocalBoxFuture<'s, Result<(), String>> {
        Box::pin(async move {
            let Self { run, case, target, .. } = *self;
            let Target { profile, implementation } = target;
            let (breakdown, id) = (BreakdownReport::default(), case.id());
            let environment = Environment {
                clock: run.clock,
                fleet: &testbed.fleet,
                timings: &profile.timings,
                zones: profile.zones.as_ref(),
                sockets: None,
                off: &case.scenario.off,
                is_rival: false,
                case: &id,
                breakdown: &breakdown,
            };
            let controllers = Controllers::new(implementation, environment).await;
            let controllers = controllers.map_err(|error| error.to_string())?;
            let mut driver = Driver::new((run, case), profile, testbed, controllers, log);
            driver.tolerated = default_toleration(profile);
            // Without an implementation there is no kind of object that registers a member.
            if testbed.cluster.is_none()
                && profile.dialect == DialectKind::Karmada
                && !implementation.definitions().is_empty()
            {
                for name in case.scenario.members().iter().filter(|name| !case.scenario.joins_later(name)) {
                    driver.join(name).await.map_err(sentence)?;
                }
            }
            obey(&mut driver, orders).await;
            Ok(())
        })
    }

    /// The log, which begins with the header of the history.
    fn log(&self) -> Log {
        let Self { run, case, target, .. } = self;
        let profile = target.profile;
        let members = case.scenario.members().len();
        let keep = if self.keeps_history { Keep::History } else { Keep::Nothing };
        let mut state = RunState::new(profile.clone(), members, keep, Until::End);
        state.keep_timeline();
        let log = Log::new(run.clock, state, false);
        let header = json!({
            "history": "v1",
            "implementation": profile.implementation,
            "version": profile.version,
            "seconds": profile.timings.seconds(),
            "start": run.clock.now().to_string(),
        });
        log.mark(header.as_object().cloned().unwrap_or_default());
        log
    }
}

/// Performs the steps of the scenario, and obeys all orders after them.
/// Orders that arrive before are refused.
async fn obey(driver: &mut Driver<'_>, mut orders: mpsc::Receiver<Order>) {
    let scenario = driver.scenario;
    let mut steps = Box::pin(async {
        let result = driver.run(scenario).await;
        result.map_err(|(_, error)| sentence(error))
    });
    let result = loop {
        tokio::select! {
            biased;
            result = &mut steps => break result,
            order = orders.recv() => match order {
                Some(order) => drop(order.answer.send(Err("the steps of the scenario are not over yet".to_owned()))),
                None => return,
            },
        }
    };
    drop(steps);
    if let Err(why) = result {
        driver.log.mark(
            [("step".to_owned(), Value::from("failed")), ("seen".to_owned(), Value::from(why))]
                .collect_sorted(),
        );
    }
    let mut faults = Faults::default();
    loop {
        tokio::select! {
            biased;
            () = driver.fleet.api_faults().crashed() => {
                driver.crash_controllers(&mut faults.in_force, &mut faults.shared);
            }
            order = orders.recv() => {
                let Some(Order { line, answer }) = order else { return };
                // A person who has gone away needs no answer.
                let _gone = answer.send(faults.obey(driver, line.trim()).await);
            }
        }
    }
}

impl Faults {
    async fn obey(&mut self, driver: &mut Driver<'_>, line: &str) -> Result<String, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["faults"] => Ok(self.list()),
            ["fault", ref fault @ ..] => self.begin(driver, fault).await,
            ["heal"] => self.heal(driver, None).await,
            ["heal", member] => self.heal(driver, Some(member)).await,
            _ => Err(format!("there is no command `{line}`: there are fault, heal and faults")),
        }
    }

    fn list(&self) -> String {
        let commands: Vec<&str> = self.commands.values().map(|(_, command)| command.as_str()).collect();
        if commands.is_empty() { "no fault is in force".to_owned() } else { commands.join("\n") }
    }

    async fn begin(&mut self, driver: &mut Driver<'_>, words: &[&str]) -> Result<String, String> {
        let members = driver.scenario.members();
        let (member, asked) = forms::read(words, &members)?;
        let command = words.join(" ");
        let place = self.next;
        match asked {
            RequestedFault::Flap(flap) => driver.flap(&flap).await.map_err(sentence)?,
            RequestedFault::Fault(fault) => {
                let begun = driver.begin(&fault, &mut self.shared).await.map_err(sentence)?;
                let begun =
                    begun.ok_or_else(|| format!("`{command}`: there is nothing that it could hit now"))?;
                self.in_force.insert(place, begun);
            }
        }
        self.next += 1;
        self.commands.insert(place, (member, command.clone()));
        Ok(format!("{command} is in force"))
    }

    /// Ends the faults of a member; all faults if no member is given.
    async fn heal(&mut self, driver: &mut Driver<'_>, member: Option<&str>) -> Result<String, String> {
        let target = member.filter(|name| *name != forms::CONTROL_PLANE);
        let is_meant = |of: &Option<String>| member.is_none() || of.as_deref() == target;
        let meant = self.commands.extract_if(.., |_, (of, _)| is_meant(of));
        let meant: Vec<(usize, (Option<String>, String))> = meant.collect();
        if meant.is_empty() {
            return Err(match member {
                Some(member) => format!("no fault of {member} is in force"),
                None => "no fault is in force".to_owned(),
            });
        }
        let known = driver.log.state(|state| state.fault_evidence());
        let mut undone = Vec::new();
        for (place, (of, command)) in meant {
            if command.starts_with("flap ")
                && let Some(mut flapping) = of.and_then(|of| driver.flapping.remove(&of))
            {
                flapping.shutdown().await;
            }
            let in_force = self.in_force.remove(&place);
            self.undo(driver, in_force).await?;
            undone.push(format!("{command} has ended"));
        }
        let ended = driver.log.state(|state| state.fault_evidence());
        let was_open = |place: usize| known.get(place).is_none_or(|before| before.ended.is_none());
        let ended = ended.iter().enumerate().filter(|(place, each)| each.ended.is_some() && was_open(*place));
        undone.extend(ended.map(|(_, each)| capsize_report::fault_line(each)));
        Ok(undone.join("\n"))
    }

    /// Ends a fault. An object that is still being deleted cannot be created again at once.
    async fn undo(&mut self, driver: &mut Driver<'_>, mut in_force: Option<InForce>) -> Result<(), String> {
        for _ in 0..UNDO_ATTEMPTS {
            match driver.end(in_force, &mut self.shared).await.map_err(sentence)? {
                None => return Ok(()),
                left => in_force = left,
            }
            driver.clock.sleep(UNDO_AGAIN_AFTER).await;
        }
        Err("the fault cannot be undone, because an object is still being deleted".to_owned())
    }
}

/// The error of a step as a sentence.
fn sentence(error: StepError) -> String {
    match error {
        StepError::Broken(why) => why,
        StepError::Unmet { expected, seen } => format!("expected {expected}, observed: {seen}"),
    }
}
