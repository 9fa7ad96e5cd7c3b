//! The methods of a server for programs: clients, stopping, readiness, installing objects.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::builder::InstallError;
use crate::http::service::ApiService;
use crate::state::{ApiServer, Inner};

impl ApiServer {
    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// A client that calls the server directly, with no network between. Needs a tokio runtime around it.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client that also works while the server is stopped or restored.
    /// Its watches continue when the server is restored.
    /// Such a watch gets a bookmark with the annotation [`RESTORED`](crate::RESTORED), and then the differences as
    /// changes. A recorder can therefore follow the objects of the server through restores.
    #[must_use]
    pub fn restore_observer(&self) -> kube::Client {
        kube::Client::new(self.service().for_restore_observers(), "default")
    }

    /// The server as a service of HTTP requests.
    #[must_use]
    pub fn service(&self) -> ApiService {
        ApiService::new(self.clone())
    }

    /// Answers every request with 503 until the guard is dropped, except the requests of restore observers.
    #[must_use = "the server answers again when the guard is dropped"]
    pub fn stop(&self) -> StopGuard {
        self.inner.stopped.fetch_add(1, Ordering::Relaxed);
        StopGuard(self.inner.clone())
    }

    /// Makes `/readyz`, `/healthz` and `/livez` answer 200 or 500. Other requests are served either way.
    pub fn set_ready(&self, ready: bool) {
        self.inner.state().ready = ready;
    }

    /// Creates objects in order, without a client. The server itself owns their fields.
    ///
    /// # Errors
    /// Names the first object that is refused; those before it have been created.
    pub fn install(&self, objects: Vec<Value>) -> Result<(), InstallError> {
        self.inner.install(&mut self.inner.state(), objects)
    }
}

/// Keeps a server stopped for as long as it exists.
#[derive(Debug)]
pub struct StopGuard(Arc<Inner>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.stopped.fetch_sub(1, Ordering::Relaxed);
    }
}
