//! The target's controllers at work, to be killed and started again.

use super::implementation::{Environment, Implementation, StartError, Started};

/// The controllers of the target. They end with it.
pub(super) struct Controllers<'a> {
    implementation: &'a dyn Implementation,
    environment: Environment<'a>,
    running: Option<Started>,
    /// Others that work beside them.
    rival: Option<Started>,
}

impl<'a> Controllers<'a> {
    /// Starts them for the first time.
    pub(super) async fn new(
        implementation: &'a dyn Implementation,
        environment: Environment<'a>,
    ) -> Result<Self, StartError> {
        let mut controllers = Self { implementation, environment, running: None, rival: None };
        controllers.start().await?;
        Ok(controllers)
    }

    /// Starts them.
    pub(super) async fn start(&mut self) -> Result<(), StartError> {
        self.running = Some(self.implementation.start(&self.environment).await?);
        Ok(())
    }

    /// Stops them where they are. Answers whether there were any.
    pub(super) fn kill(&mut self) -> bool {
        self.running.take().is_some()
    }

    /// Starts others beside them. Answers whether there were none.
    pub(super) async fn start_rival(&mut self) -> Result<bool, StartError> {
        let first = self.rival.is_none();
        if first {
            let environment = Environment { is_rival: true, ..self.environment };
            self.rival = Some(self.implementation.start(&environment).await?);
        }
        Ok(first)
    }

    /// Stops those beside them. Answers whether there were any.
    pub(super) fn end_rival(&mut self) -> bool {
        self.rival.take().is_some()
    }
}
