//! Faults of the control plane: failing API requests, controllers that crash at a write, two leaders.

use capsize_clusters::{ApiFaultGuard, ServerFault};
use capsize_history::FaultKind;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;

use crate::nemesis::{FaultGuard, fault_mark, trouble};
use crate::run::driver::{Driver, StepError};
use crate::scenario::{Crash, Disturbance};

impl Driver<'_> {
    /// Begins the API fault that `fault` describes. Returns `None` if `fault` is of another kind.
    pub(in crate::run) async fn begin_api_fault(
        &mut self,
        fault: &Disturbance,
    ) -> Result<Option<FaultGuard>, StepError> {
        let (kind, strikes) = match fault {
            Disturbance::Fail(it) => {
                (FaultKind::Fail, ServerFault::Fail { status: it.with, every: it.every.value, verb: it.verb })
            }
            Disturbance::Conflict(it) => {
                (FaultKind::Conflict, ServerFault::Conflict { every: it.every.value })
            }
            Disturbance::Slow(it) => {
                (FaultKind::Slow, ServerFault::Slow { by: self.length(&it.by)?, verb: it.verb })
            }
            Disturbance::Lag(it) => (FaultKind::Lag, ServerFault::Lag(self.length(&it.by)?)),
            Disturbance::Cut(it) => (FaultKind::Cut, ServerFault::Cut { every: it.every.value }),
            Disturbance::Repeat(it) => (FaultKind::Repeat, ServerFault::Repeat { every: it.every.value }),
            Disturbance::Stale(_) => {
                (FaultKind::Stale, ServerFault::Stale { revision: self.revision().await? })
            }
            _ => return Ok(None),
        };
        if let ServerFault::Stale { .. } = strikes {
            // A controller with a stale list may re-create a copy whose Work is deleted; nothing cleans that up.
            self.leftovers_allowed.extend(self.scenario.members());
        }
        let log = self.log.clone();
        let begun = trouble(self.fleet.api_faults(), kind, strikes, move |mark| log.mark(mark));
        Ok(Some(begun))
    }

    /// The resource version of the latest change in the control plane.
    async fn revision(&self) -> Result<u64, StepError> {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let all = namespaces.list_metadata(&ListParams::default()).await;
        let all = all.map_err(|error| {
            StepError::Broken(format!("the namespaces of the control plane cannot be listed: {error}"))
        })?;
        let revision = all.metadata.resource_version.unwrap_or_default();
        revision
            .parse()
            .map_err(|_| StepError::Broken(format!("the resource version `{revision}` is not a number")))
    }

    /// Lets the controllers crash at a later write. Nothing is recorded until then.
    pub(in crate::run) fn arm_crash(&self, crash: &Crash) -> ApiFaultGuard {
        let crash = ServerFault::Crash { write: crash.write.value, done: crash.done };
        self.fleet.api_faults().apply(crash)
    }

    /// Starts a second set of controllers beside the first.
    pub(in crate::run) async fn start_rival(&mut self) -> Result<(), StepError> {
        let started = self.controllers.start_rival().await;
        if started.map_err(|error| StepError::Broken(error.to_string()))? {
            self.log.mark(fault_mark(FaultKind::Rival, None, "begin"));
            self.leftovers_allowed.extend(self.scenario.members());
        }
        Ok(())
    }

    pub(in crate::run) fn end_rival(&mut self) {
        if self.controllers.end_rival() {
            self.log.mark(fault_mark(FaultKind::Rival, None, "end"));
        }
    }
}
