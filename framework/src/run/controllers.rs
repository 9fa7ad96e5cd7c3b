//! The target's controllers at work, to be killed and started again.

use super::implementation::{Implementation, Site, StartError, Started};

/// The controllers of the target. They end with it.
pub(super) struct Controllers<'a> {
    implementation: &'a dyn Implementation,
    site: Site<'a>,
    running: Option<Started>,
}

impl<'a> Controllers<'a> {
    /// Starts them for the first time.
    pub(super) async fn new(
        implementation: &'a dyn Implementation,
        site: Site<'a>,
    ) -> Result<Self, StartError> {
        let mut controllers = Self { implementation, site, running: None };
        controllers.start().await?;
        Ok(controllers)
    }

    /// Starts them.
    pub(super) async fn start(&mut self) -> Result<(), StartError> {
        self.running = Some(self.implementation.start(&self.site).await?);
        Ok(())
    }

    /// Stops them where they are.
    pub(super) fn kill(&mut self) {
        self.running = None;
    }
}
