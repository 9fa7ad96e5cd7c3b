//! The interface of the implementation under test. The program that knows both provides it.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use capsize_clock::{Clock, Interrupt, Seed};
use capsize_clusters::{Admission, Fleet, Provider, Sockets};
use futures::future::LocalBoxFuture;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Notify;

use super::in_progress::CasesInProgress;
use capsize_judge::profile::{Feature, Timings, Zones};

/// An implementation that can be started on a fleet.
pub trait Implementation: Send + Sync {
    /// The resource definitions of the implementation. The control plane gets them before anything else.
    fn definitions(&self) -> Vec<Value>;

    /// The admission webhooks of the implementation, if it has any. Their random numbers come from `seed`.
    fn admission(&self, timings: &Timings, seed: Seed) -> Option<Admission> {
        let _ = (timings, seed);
        None
    }

    /// The facts about the implementation that a run needs before the start.
    fn info(&self) -> ImplementationInfo {
        ImplementationInfo::default()
    }

    /// Returns the implementation as the release `to`, if it can be upgraded.
    /// The implementation must behave as the release `from` now.
    fn upgraded(&self, from: &str, to: &str) -> Option<Arc<dyn Implementation>> {
        let _ = (from, to);
        None
    }

    /// Starts the implementation, and waits until it is ready.
    ///
    /// # Errors
    /// If the implementation does not start.
    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a>;

    /// Starts the agents in the members, if they are programs of their own, and waits until they are ready.
    /// They go on while the controllers are killed.
    ///
    /// # Errors
    /// If an agent does not start.
    fn start_agents<'a>(
        &'a self,
        environment: &'a Environment<'_>,
    ) -> StartFuture<'a, Option<RunningImplementation>> {
        let _ = environment;
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The facts about an implementation and about the fleet that it needs.
/// By default, all of it runs in this process.
#[derive(Clone, Default)]
pub struct ImplementationInfo {
    /// The implementation runs outside of this process, and needs a fleet with sockets.
    pub is_outside: bool,
    /// Its agents obey the switches of their members, and reach their members over links of their own.
    pub has_agents: bool,
    /// The features that can be switched off in it.
    pub switches: &'static [Feature],
    /// The provider of the members, if they run outside of this process.
    pub provider: Option<Arc<dyn Provider>>,
    /// Ends a run in real time early. The run undoes its changes then. Simulations ignore the interrupt.
    pub interrupt: Interrupt,
    /// The cases of a run in real time that are in progress.
    pub in_progress: CasesInProgress,
}

impl ImplementationInfo {
    /// Returns true if a run takes real time.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.is_outside || self.provider.is_some()
    }
}

/// A running implementation. Dropping it stops the implementation at once, as a crash does.
pub type RunningImplementation = Box<dyn Any>;

/// The result of a start, which comes when the implementation is ready.
pub type StartFuture<'a, T = RunningImplementation> = LocalBoxFuture<'a, Result<T, StartError>>;

/// Why an implementation did not start.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// The fleet and the settings with which an implementation is started.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The clock of the control plane, which is also the clock of its controllers.
    pub clock: Clock,
    /// The control plane and its members. A cluster with nodes is a control plane without members.
    pub fleet: &'a Fleet,
    /// The timings that the implementation must use.
    pub timings: &'a Timings,
    /// The features that are switched off, out of [`switches`](ImplementationInfo::switches).
    pub off: &'a [Feature],
    /// The limits for tainting the members of a zone, if the implementation works zone by zone.
    pub zones: Option<&'a Zones>,
    /// The sockets through which programs outside of this process reach the fleet, if there are any.
    pub sockets: Option<&'a Sockets>,
    /// Whether another instance of the implementation is already running.
    pub is_rival: bool,
    /// The case, as `group/name`.
    pub case: &'a str,
    /// Takes the report of an implementation that breaks down while the case runs.
    pub breakdown: &'a BreakdownReport,
}

/// The report of an implementation that breaks down by itself.
/// It ends the case, which then says nothing about the target.
#[derive(Clone, Debug, Default)]
pub struct BreakdownReport(Arc<BreakdownReportState>);

#[derive(Debug, Default)]
struct BreakdownReportState {
    why: Mutex<Option<String>>,
    reported: Notify,
}

impl BreakdownReport {
    /// Reports why the implementation broke down. Only the first report counts.
    pub fn report(&self, why: String) {
        self.0.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.0.reported.notify_one();
    }

    /// Waits for a report.
    pub(crate) async fn wait(&self) -> String {
        loop {
            self.0.reported.notified().await;
            let why = self.0.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(why) = why {
                return why;
            }
        }
    }
}
