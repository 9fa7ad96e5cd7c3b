//! The target's controllers at work, to be killed and started again.

use std::any::Any;

use super::implementation::{Implementation, Site};

/// The controllers of the target. They end with it.
pub(super) struct Controllers<'a> {
    implementation: &'a dyn Implementation,
    site: Site<'a>,
    running: Option<Box<dyn Any>>,
}

impl<'a> Controllers<'a> {
    /// Starts them for the first time.
    pub(super) fn new(implementation: &'a dyn Implementation, site: Site<'a>) -> Self {
        let mut controllers = Self { implementation, site, running: None };
        controllers.start();
        controllers
    }

    /// Starts them.
    pub(super) fn start(&mut self) {
        self.running = Some(self.implementation.start(&self.site));
    }

    /// Stops them where they are.
    pub(super) fn kill(&mut self) {
        self.running = None;
    }
}
