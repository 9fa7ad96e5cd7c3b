//! Starts and kills the controllers of the target.

use std::sync::Arc;

use super::implementation::{Environment, Implementation, RunningImplementation, StartError};

/// The controllers of the target. Dropping this value stops them.
pub(super) struct Controllers<'a> {
    implementation: &'a dyn Implementation,
    /// The implementation after an upgrade, which takes the place of the first one.
    upgraded: Option<Arc<dyn Implementation>>,
    environment: Environment<'a>,
    running: Option<RunningImplementation>,
    /// A second set of controllers, which runs at the same time.
    rival: Option<RunningImplementation>,
    /// The agents in the members, if they are programs of their own.
    agents: Option<RunningImplementation>,
}

impl<'a> Controllers<'a> {
    /// Starts the controllers for the first time.
    pub(super) async fn new(
        implementation: &'a dyn Implementation,
        environment: Environment<'a>,
    ) -> Result<Self, StartError> {
        let mut controllers =
            Self { implementation, upgraded: None, environment, running: None, rival: None, agents: None };
        controllers.start().await?;
        controllers.agents = implementation.start_agents(&controllers.environment).await?;
        Ok(controllers)
    }

    fn current(&self) -> &dyn Implementation {
        self.upgraded.as_deref().unwrap_or(self.implementation)
    }

    /// Uses the implementation as another release from the next start on, and returns that release.
    /// Returns `None` if there is no such release.
    pub(super) fn upgrade(&mut self, from: &str, to: &str) -> Option<Arc<dyn Implementation>> {
        self.upgraded = Some(self.current().upgraded(from, to)?);
        self.upgraded.clone()
    }

    /// Starts the controllers.
    pub(super) async fn start(&mut self) -> Result<(), StartError> {
        self.running = Some(self.current().start(&self.environment).await?);
        Ok(())
    }

    /// Kills the controllers. Returns false if none were running.
    pub(super) fn kill(&mut self) -> bool {
        self.running.take().is_some()
    }

    /// Starts a second set of controllers. Returns false if there was one already.
    pub(super) async fn start_rival(&mut self) -> Result<bool, StartError> {
        let first = self.rival.is_none();
        if first {
            let environment = Environment { is_rival: true, ..self.environment };
            self.rival = Some(self.current().start(&environment).await?);
        }
        Ok(first)
    }

    /// Kills the second set of controllers. Returns false if there was none.
    pub(super) fn end_rival(&mut self) -> bool {
        self.rival.take().is_some()
    }
}
