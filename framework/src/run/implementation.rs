//! What a run needs of the implementation under test. The framework knows none; whoever joins the two says how.

use std::any::Any;

use capsize_clock::Clock;
use capsize_clusters::{Admission, Fleet};
use serde_json::Value;

use crate::target::{Timings, Zones};

/// An implementation that can be started on a fleet.
pub trait Implementation: Send + Sync {
    /// What the control plane must hold before anything else: the implementation's resource definitions.
    fn definitions(&self) -> Vec<Value>;

    /// What the implementation has a say in when objects are written to the control plane.
    fn admission(&self, timings: &Timings) -> Admission;

    /// Starts it. Dropping what is returned stops it at once, as a crash does.
    fn start(&self, site: &Site<'_>) -> Box<dyn Any>;
}

/// Where an implementation is started, and with which settings.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The clock of the run.
    pub clock: Clock,
    /// The control plane and its members; a cluster with nodes is a control plane without members.
    pub fleet: &'a Fleet,
    /// The times that it shall keep.
    pub timings: &'a Timings,
    /// How fast it shall taint the members of a zone, if it does so zone by zone.
    pub zones: Option<&'a Zones>,
}
