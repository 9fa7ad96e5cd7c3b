//! What a run needs of the implementation under test. The framework knows none; whoever joins the two says how.

use std::any::Any;
use std::sync::Arc;

use capsize_clock::{Clock, Interrupt, Seed};
use capsize_clusters::{Admission, Fleet, Provider, Sockets};
use futures::future::LocalBoxFuture;
use serde_json::Value;
use thiserror::Error;

use capsize_judge::profile::{Feature, Timings, Zones};

/// An implementation that can be started on a fleet.
pub trait Implementation: Send + Sync {
    /// What the control plane must hold before anything else: the implementation's resource definitions.
    fn definitions(&self) -> Vec<Value>;

    /// What the implementation has a say in when objects are written to the control plane, if it has. What chance it needs
    /// for that comes from `seed`.
    fn admission(&self, timings: &Timings, seed: Seed) -> Option<Admission>;

    /// What has to be known of it before it is started.
    fn info(&self) -> ImplementationInfo {
        ImplementationInfo::default()
    }

    /// Starts it, and waits until it is ready to work.
    ///
    /// # Errors
    /// When it does not start.
    fn start<'a>(
        &'a self,
        environment: &'a Environment<'_>,
    ) -> LocalBoxFuture<'a, Result<Started, StartError>>;
}

/// What has to be known of an implementation, and of the ground that it is to be started on. By default, all is in this process.
#[derive(Clone, Default)]
pub struct ImplementationInfo {
    /// It runs outside of this process, and needs a fleet with sockets.
    pub is_outside: bool,
    /// What can be switched off in it.
    pub switches: &'static [Feature],
    /// Who provides the members of its fleets, where they are to run outside of this process.
    pub provider: Option<Arc<dyn Provider>>,
    /// What ends a run early; what the run has done is undone then. Simulations are not ended by it.
    pub interrupt: Interrupt,
}

impl ImplementationInfo {
    /// Whether it takes real time.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.is_outside || self.provider.is_some()
    }
}

/// An implementation at work. Dropping it stops it at once, as a crash does.
pub type Started = Box<dyn Any>;

/// Why an implementation did not start.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// Where an implementation is started, and with which settings.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The clock of the control plane, and so of controllers that run beside it.
    pub clock: Clock,
    /// The control plane and its members; a cluster with nodes is a control plane without members.
    pub fleet: &'a Fleet,
    /// The times that it shall keep.
    pub timings: &'a Timings,
    /// What is switched off, of its [`switches`](Nature::switches).
    pub off: &'a [Feature],
    /// How fast it shall taint the members of a zone, if it does so zone by zone.
    pub zones: Option<&'a Zones>,
    /// How the fleet is reached from outside of this process, where that is needed.
    pub sockets: Option<&'a Sockets>,
    /// Whether others of its kind work there already.
    pub is_rival: bool,
}
