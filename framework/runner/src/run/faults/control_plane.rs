//! Disturbances of the control plane itself: its API server in trouble, controllers that die of a write, two leaders.

use capsize_clusters::{GateGuard, ServerFault};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;

use crate::nemesis::{FaultGuard, fault_mark, trouble};
use crate::run::driver::{Driver, StepError};
use crate::scenario::{Crash, Disturbance};

impl Driver<'_> {
    /// Lets the API server be in trouble, if that is what `fault` asks for.
    pub(in crate::run) async fn begin_api_fault(
        &mut self,
        fault: &Disturbance,
    ) -> Result<Option<FaultGuard>, StepError> {
        let strikes = match fault {
            Disturbance::Fail(it) => ServerFault::Fail { status: it.with, every: it.every.value },
            Disturbance::Conflict(it) => ServerFault::Conflict { every: it.every.value },
            Disturbance::Slow(it) => ServerFault::Slow { by: self.length(&it.by)?, verb: it.verb },
            Disturbance::Lag(it) => ServerFault::Lag(self.length(&it.by)?),
            Disturbance::Cut(it) => ServerFault::Cut { every: it.every.value },
            Disturbance::Repeat(it) => ServerFault::Repeat { every: it.every.value },
            Disturbance::Stale(_) => ServerFault::Stale { revision: self.revision().await? },
            _ => return Ok(None),
        };
        self.is_inside(fault)?;
        if let ServerFault::Stale { .. } = strikes {
            // Who is shown a manifest that is gone makes a copy of it, which is nobody's to take away.
            self.leftovers_allowed.extend(self.scenario.members());
        }
        let log = self.log.clone();
        let begun = trouble(self.fleet.gate(), fault.kind(), strikes, move |mark| log.mark(mark));
        Ok(Some(begun))
    }

    /// The sequence number of the control plane's latest change.
    async fn revision(&self) -> Result<u64, StepError> {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let all = namespaces.list_metadata(&ListParams::default()).await;
        let all = all.map_err(|error| StepError::Broken(format!("namespaces cannot be listed: {error}")))?;
        let revision = all.metadata.resource_version.unwrap_or_default();
        revision.parse().map_err(|_| StepError::Broken(format!("`{revision}` is no number of a change")))
    }

    /// Lets the controllers die of a write to come. Nothing is recorded until they do.
    pub(in crate::run) fn arm_crash(
        &self,
        fault: &Disturbance,
        crash: &Crash,
    ) -> Result<GateGuard, StepError> {
        self.is_inside(fault)?;
        let crash = ServerFault::Crash { write: crash.write.value, done: crash.done };
        Ok(self.fleet.gate().apply(crash))
    }

    /// Starts controllers beside those that there are.
    pub(in crate::run) async fn start_rival(&mut self, fault: &Disturbance) -> Result<(), StepError> {
        self.is_inside(fault)?;
        let started = self.controllers.start_rival().await;
        if started.map_err(|error| StepError::Broken(error.to_string()))? {
            self.log.mark(fault_mark("rival", None, "begin"));
            self.leftovers_allowed.extend(self.scenario.members());
        }
        Ok(())
    }

    pub(in crate::run) fn end_rival(&mut self) {
        if self.controllers.end_rival() {
            self.log.mark(fault_mark("rival", None, "end"));
        }
    }

    /// What programs of their own reach is not in reach here.
    fn is_inside(&self, fault: &Disturbance) -> Result<(), StepError> {
        match self.sockets {
            None => Ok(()),
            Some(_) => Err(StepError::Unmet {
                expected: format!("a target in this process, for `{}`", fault.kind()),
                seen: format!("{} runs as programs of their own", self.profile.name),
            }),
        }
    }
}
