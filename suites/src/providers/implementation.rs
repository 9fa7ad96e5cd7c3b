//! An implementation on fleets of the selected provider, with the signal that ends runs early.

use std::sync::Arc;

use capsize_clock::{Interrupt, Seed};
use capsize_clusters::{Admission, Provider};
use capsize_judge::profile::Timings;
use capsize_runner::run::{
    CasesInProgress, Environment, Implementation, ImplementationInfo, RunningImplementation, StartFuture,
};
use serde_json::Value;

/// An implementation on fleets of a provider.
pub struct ImplementationOnProvider {
    /// The implementation.
    pub implementation: Box<dyn Implementation>,
    /// The provider of members; `None` if they run in this process.
    pub provider: Option<Arc<dyn Provider>>,
    /// The signals that end runs early.
    pub interrupt: Interrupt,
    /// The cases in progress.
    pub in_progress: CasesInProgress,
}

impl Implementation for ImplementationOnProvider {
    fn definitions(&self) -> Vec<Value> {
        self.implementation.definitions()
    }

    fn admission(&self, timings: &Timings, seed: Seed) -> Option<Admission> {
        self.implementation.admission(timings, seed)
    }

    fn info(&self) -> ImplementationInfo {
        let (provider, interrupt) = (self.provider.clone(), self.interrupt.clone());
        let in_progress = self.in_progress.clone();
        ImplementationInfo { provider, interrupt, in_progress, ..self.implementation.info() }
    }

    fn upgraded(&self, from: &str, to: &str) -> Option<Arc<dyn Implementation>> {
        // Members outside of this process belong to this run.
        self.implementation.upgraded(from, to).filter(|_| self.provider.is_none())
    }

    fn start<'a>(&'a self, environment: &'a Environment<'_>) -> StartFuture<'a> {
        self.implementation.start(environment)
    }

    fn start_agents<'a>(
        &'a self,
        environment: &'a Environment<'_>,
    ) -> StartFuture<'a, Option<RunningImplementation>> {
        self.implementation.start_agents(environment)
    }
}
