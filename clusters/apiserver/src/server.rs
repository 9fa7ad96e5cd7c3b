//! What a program can do with a server that it has: make clients, stop it, put objects into it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::builder::InstallError;
use crate::http::service::ApiService;
use crate::state::{ApiServer, Inner};

impl ApiServer {
    /// What the server calls itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// A client that calls the server directly, with no network between. Needs a tokio runtime around it.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client as [`Self::client`], whose watches do not end when the server is restored: they are told what is other than
    /// before as changes, behind a bookmark with the annotation [`RESTORED`](crate::RESTORED). So one can follow what the
    /// server holds through all that becomes of it.
    #[must_use]
    pub fn onlooker(&self) -> kube::Client {
        kube::Client::new(self.service().for_onlookers(), "default")
    }

    /// The server as a service of HTTP requests.
    #[must_use]
    pub fn service(&self) -> ApiService {
        ApiService::new(self.clone())
    }

    /// Answers every request with 503 until the guard is dropped, but for those of onlookers.
    #[must_use = "the server answers again when the guard is dropped"]
    pub fn stop(&self) -> Stopped {
        self.inner.stopped.fetch_add(1, Ordering::Relaxed);
        Stopped(self.inner.clone())
    }

    /// Makes `/readyz`, `/healthz` and `/livez` answer 200 or 500. Other requests are served either way.
    pub fn set_ready(&self, ready: bool) {
        self.inner.state().ready = ready;
    }

    /// Creates objects without a client, in order, as the server itself would: it owns their fields.
    ///
    /// # Errors
    /// Names the first object that is refused; those before it have been created.
    pub fn install(&self, objects: Vec<Value>) -> Result<(), InstallError> {
        self.inner.install(&mut self.inner.state(), objects)
    }
}

/// A server that is stopped.
#[derive(Debug)]
pub struct Stopped(Arc<Inner>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stopped.fetch_sub(1, Ordering::Relaxed);
    }
}
