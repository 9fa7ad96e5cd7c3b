//! What a run needs of the implementation under test. The framework knows none; whoever joins the two says how.

use std::any::Any;

use capsize_clock::Clock;
use capsize_clusters::{Admission, Fleet, Provider, Sockets};
use futures::future::LocalBoxFuture;
use serde_json::Value;
use thiserror::Error;

use crate::target::{Feature, Timings, Zones};

/// An implementation that can be started on a fleet.
pub trait Implementation: Send + Sync {
    /// What the control plane must hold before anything else: the implementation's resource definitions.
    fn definitions(&self) -> Vec<Value>;

    /// What the implementation has a say in when objects are written to the control plane.
    fn admission(&self, timings: &Timings) -> Admission;

    /// Whether it runs outside of this process: in real time then, on a fleet with sockets.
    fn is_outside(&self) -> bool {
        false
    }

    /// What can be switched off in it.
    fn switches(&self) -> &'static [Feature] {
        &[]
    }

    /// Who provides the members of the fleets that it is started on, where they are to run outside of this process: in real
    /// time then.
    fn provider(&self) -> Option<&dyn Provider> {
        None
    }

    /// Starts it, and waits until it is ready to work.
    ///
    /// # Errors
    /// When it does not start.
    fn start<'a>(&'a self, site: &'a Site<'_>) -> LocalBoxFuture<'a, Result<Started, StartError>>;
}

/// An implementation at work. Dropping it stops it at once, as a crash does.
pub type Started = Box<dyn Any>;

/// Why an implementation did not start.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// Where an implementation is started, and with which settings.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The clock of the run.
    pub clock: Clock,
    /// The control plane and its members; a cluster with nodes is a control plane without members.
    pub fleet: &'a Fleet,
    /// The times that it shall keep.
    pub timings: &'a Timings,
    /// What is switched off, of its [`switches`](Implementation::switches).
    pub off: &'a [Feature],
    /// How fast it shall taint the members of a zone, if it does so zone by zone.
    pub zones: Option<&'a Zones>,
    /// How the fleet is reached from outside of this process, where that is needed.
    pub sockets: Option<&'a Sockets>,
}
